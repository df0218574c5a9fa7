"""What is proved of a definition with floats that stand for no simple number is proved up to their rounding, and says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sgverify.checks.remembered import remembered
from sgverify.checks.subject import Subject
from sgverify.evidence import Evidence, Point
from sgverify.exact.interval_floats import intervals_of, intervals_of_dynamics
from sgverify.schemes import Scheme
from sgverify.schemes.literals import rounding_of

DYNAMICS_READ = frozenset({"stationarity"})
"""Quantities for which the dynamics is read, and no step."""

DEFINITION_READ = DYNAMICS_READ | {
    "local-order",
    "invariant-order",
    "order-equivalence",
    "constant-equivalence",
    "stationary-bias",
    "covariance",
    "wasserstein-2",
    "bias",
    "gradient-bias",
    "mse",
    "consistency",
}
"""Quantities for which a definition is read in exact numbers; the other checks run it in the floats that it has."""

SHOWN = 3

LOST = 1e-9
"""Of the size of what is compared: roundings of 1e-15 that are larger at the end were amplified, and no longer small."""


def up_to_rounding(subject: Subject, evidence: Evidence) -> Evidence:
    """`evidence`, with the floats up to whose rounding it holds, where it conforms by a proof or an exact answer."""
    read = evidence.check in DEFINITION_READ and evidence.method in ("proof", "exact")
    if not read or evidence.verdict != "conforms" or not isinstance(subject.scheme, Scheme):
        return evidence
    floats = _floats(subject, evidence.check in DYNAMICS_READ)
    if not floats:
        return evidence
    shown = ", ".join(map(repr, floats[:SHOWN])) + (", ..." if len(floats) > SHOWN else "")
    size = f"{max(rounding_of(number) / abs(number) for number in floats):.1g}"
    reason = (
        f"{evidence.reason}; all of it up to the rounding of the definition's floats ({shown}), up to {size} of each, which are "
        "read as intervals: what is wrong by no more is not seen, and fractions, sqrt() and exp() of the ingredients are read "
        "exactly"
    )
    certificate = {**evidence.certificate, "floats_read_as_intervals": list(floats)}
    return replace(evidence, reason=reason, certificate=certificate)


def with_zeros(
    subject: Subject, points: Sequence[Point], size: Callable[[], float] = lambda: 1.0
) -> list[Point]:
    """`points`, with 0 for a value that may be 0 by the intervals of the definition's floats: differences of what has this `size`.

    The bound of such a value is what the roundings of the floats make of it. One that is no small part of `size` says nothing.
    """
    if not isinstance(subject.scheme, Scheme) or not _floats(subject, False):
        return list(points)
    least = LOST * (abs(size()) or 1.0)
    return [
        replace(point, value=0.0, error_bound=abs(point.value) + point.error_bound)
        if point.value is not None
        and point.error_bound is not None
        and abs(point.value) <= point.error_bound <= least
        else point
        for point in points
    ]


@remembered
def _floats(subject: Subject, of_dynamics: bool) -> tuple[float, ...]:
    if of_dynamics:
        return intervals_of_dynamics(subject.scheme.dynamics, subject.target.dim)
    return intervals_of(subject.scheme, subject.target.dim)
