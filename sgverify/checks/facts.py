"""The facts about a subject that claims' hypotheses and predictions ask for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sgverify.checks.biased_gradient import unbiased
from sgverify.checks.composite_subject import CompositeSubject
from sgverify.checks.known_law import why_no_law
from sgverify.checks.subject import Subject
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.composites.exchange import ReplicaExchange


def facts_of(subject: Subject, schedule: str, alpha: Fraction | None) -> dict[str, Any]:
    """The facts under a kind of schedule; `schedule.alpha` is among them where it is known."""
    word = subject.scheme.word
    kind = subject.configuration.gradient.kind
    facts = {
        "K": subject.predicted_order,
        "scheme.order": subject.predicted_order,
        "scheme.name": subject.scheme.name,
        "scheme.word": word is not None,
        "scheme.alphabet": word.alphabet.name if word else None,
        "scheme.palindromic": word.palindromic if word else False,
        "scheme.consistent": _shares_sum_to_one(subject),
        "scheme.alphabet_proved": subject.alphabet is not None and subject.alphabet.proved,
        "scheme.positive_shares": word is not None and all(share > 0 for share in word.shares),
        "scheme.dynamics": subject.scheme.dynamics.name,
        "scheme.ergodic": _not_known_to_wander(subject),
        "gradient.kind": kind,
        "gradient.unbiased": unbiased(subject),
        "gradient.noisy": subject.noise.noisy,
        "law.moments": why_no_law(subject) is None,
        "schedule.kind": schedule,
        "composite.kind": subject.composite.kind if isinstance(subject, CompositeSubject) else "none",
        "composite.cumulates": isinstance(subject, CompositeSubject)
        and getattr(subject.composite, "contour", None) is False,
        "composite.reduced": isinstance(subject, CompositeSubject) and _fixed_control(subject.composite),
        "energies.noise": _energy_noise(subject),
        "target.dim": subject.target.dim,
    }
    if alpha is not None:
        facts["schedule.alpha"] = alpha
    return facts


def _fixed_control(composite: Composite) -> bool:
    """Whether its energies have a control variate of the coefficient -1."""
    return isinstance(composite, ReplicaExchange) and composite.reduced and not composite.adaptive


def _energy_noise(subject: Subject) -> str:
    """`none` where energies are exact, `linear` where their noise is linear in theta, `other` elsewhere."""
    exchange = subject.configuration.exchange
    exact = exchange is not None and exchange.energies == "exact"
    if exact or subject.configuration.gradient.kind in ("full", "additive"):
        return "none"
    return "linear" if subject.target.common_curvature else "other"


def _shares_sum_to_one(subject: Subject) -> bool:
    """Whether every letter of a word flows for the whole step; of a scheme that is no word there is nothing to ask."""
    word = subject.scheme.word
    if word is None:
        return True
    shares: dict[str, Fraction] = {}
    for letter, share in zip(word.text, word.shares, strict=True):
        shares[letter] = shares.get(letter, Fraction(0)) + share
    return all(total == 1 for total in shares.values())


def _not_known_to_wander(subject: Subject) -> bool:
    """Whether some step size contracts, where that is computed; what no computation reaches refutes nothing."""
    return not subject.affine or subject.step_sizes.limit > 0
