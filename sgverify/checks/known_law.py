"""Whether the moments of a subject's invariant law, and those that it should have, are known exactly."""

from __future__ import annotations

from sgverify.checks.subject import Subject
from sgverify.exact.invariant import InvariantLaw

KNOWN = ("theta", "p")
"""The variables whose law under exp(-(U + p.p/2)/T) is Gaussian on a Gaussian target."""


def why_no_law(subject: Subject) -> str | None:
    """Why the moments of this subject's invariant law are not computed; None where they are."""
    if not subject.affine:
        return "one step is not affine in the state on this target, so the moments of its invariant law are no closed system"
    others = [name for name in subject.scheme.dynamics.state if name not in KNOWN]
    if others:
        return f"the posterior's law of `{others[0]}` is not known; it is known for {' and '.join(KNOWN)}"
    if not subject.scheme.dynamics.usual:
        return (
            f"`{subject.scheme.dynamics.name}` states a density of its own; the moments are known of exp(-U/T) and "
            "exp(-(U + p.p/2)/T)"
        )
    return InvariantLaw(subject.model).unreached
