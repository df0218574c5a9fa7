"""Which facts about a subject do the hypotheses and predictions of claims refer to, and how is each derived?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from sgverify.checks.readings import escape_of, predicted_order, unbiased, why_no_law
from sgverify.schemes.composites.composite import Composite, ReplicaExchange
from sgverify.schemes.splittings import Word
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject
from sgverify.targets.own.function import OwnPotential


class Facts(Mapping[str, Any]):
    """The facts about a subject by name, each derived once, when a claim first asks for it.

    A fact that cannot be derived raises when it is read; claims that do not read the fact are unaffected.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = DERIVATIONS[name](self._subject)
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in DERIVATIONS

    def __iter__(self) -> Iterator[str]:
        return iter(DERIVATIONS)

    def __len__(self) -> int:
        return len(DERIVATIONS)


facts_of = cached_per_subject(Facts)
"""The facts about a subject: its own object."""

DERIVATIONS: Mapping[str, Callable[[Subject], Any]] = {
    "K": predicted_order,
    "scheme.order": predicted_order,
    "scheme.name": lambda subject: subject.scheme.name,
    "scheme.torch": lambda subject: subject.black_box,
    "scheme.own_loss": lambda subject: subject.black_box and subject.scheme.own_loss is not None,  # type: ignore[attr-defined]
    "scheme.word": lambda subject: subject.scheme.word is not None,
    "scheme.alphabet": lambda subject: _of_word(subject, lambda word: word.alphabet.name, None),
    "scheme.palindromic": lambda subject: _of_word(subject, lambda word: word.palindromic, False),
    "scheme.consistent": lambda subject: _of_word(subject, _shares_sum_to_one, True),
    "scheme.alphabet_proved": lambda subject: subject.alphabet is not None and subject.alphabet.proved,
    "scheme.positive_shares": lambda subject: _of_word(subject, _positive_shares, False),
    "scheme.invariant_order": lambda subject: subject.scheme.invariant_order,
    "scheme.invariant_gain": lambda subject: (subject.scheme.invariant_order or 0) - predicted_order(subject),
    "scheme.follows": lambda subject: (
        subject.scheme.order is not None or subject.scheme.invariant_order is None
    ),
    "scheme.dynamics": lambda subject: subject.scheme.dynamics.name,
    "scheme.ergodic": lambda subject: _not_known_to_wander(subject) and escape_of(subject) is None,
    "scheme.escapes": lambda subject: escape_of(subject) is not None,
    "gradient.kind": lambda subject: subject.configuration.gradient.kind,
    "gradient.unbiased": unbiased,
    "gradient.noisy": lambda subject: subject.noise.noisy,
    "law.moments": lambda subject: why_no_law(subject) is None,
    "composite.kind": lambda subject: _kind(subject),
    "composite.cumulates": lambda subject: getattr(subject.composite, "contour", None) is False,
    "composite.controlled": lambda subject: bool(getattr(subject.composite, "reduced", False)),
    "composite.reduced": lambda subject: _fixed_control(subject.composite),
    "energies.noise": lambda subject: _energy_noise(subject),
    "target.dim": lambda subject: subject.target.dim,
    "target.own": lambda subject: isinstance(subject.target.prior, OwnPotential),
}
"""Facts that hold on every schedule; a question adds those of its own."""

OF_THE_SCHEME = frozenset(
    name for name in DERIVATIONS if name.partition(".")[0] in ("scheme", "composite")
) - {"scheme.order", "scheme.invariant_gain", "scheme.ergodic", "scheme.escapes"}
"""Facts that a configuration does not change. Orders are proved in a configured dimension, and what a chain does in the long run
depends on the target."""


def _kind(subject: Subject) -> str:
    """The kind of the composite; torch code with a rule of swaps exchanges replicas."""
    if subject.composite:
        return subject.composite.kind
    return ReplicaExchange.kind if subject.swaps else "none"


def _fixed_control(composite: Composite | None) -> bool:
    """Do the energies of the replicas use a control variate with the fixed coefficient -1?"""
    return isinstance(composite, ReplicaExchange) and composite.reduced and not composite.adaptive


def _energy_noise(subject: Subject) -> str:
    """`none` where energies are exact, `linear` where their noise is linear in theta, `other` elsewhere."""
    exchange = subject.configuration.exchange
    exact = exchange is not None and exchange.energies == "exact"
    if exact or not subject.configuration.gradient.estimator.draws_data:
        return "none"
    return "linear" if subject.target.common_curvature else "other"


def _of_word(subject: Subject, ask: Callable[[Word], Any], otherwise: Any) -> Any:
    """`ask` of the scheme's splitting word; `otherwise` for a scheme that is not a splitting."""
    word = subject.scheme.word
    return otherwise if word is None else ask(word)


def _positive_shares(word: Word) -> bool:
    return all(share > 0 for share in word.shares)


def _shares_sum_to_one(word: Word) -> bool:
    """Do the durations of each letter of the splitting word add up to the whole step h?"""
    shares: dict[str, Fraction] = {}
    for letter, share in zip(word.text, word.shares, strict=True):
        shares[letter] = shares.get(letter, Fraction(0)) + share
    return all(total == 1 for total in shares.values())


def _not_known_to_wander(subject: Subject) -> bool:
    """False if the affine step contracts at no step size. A step that is not affine is not computed, so not refuted."""
    return not subject.affine or subject.step_sizes.limit > 0
