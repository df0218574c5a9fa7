"""The facts about a subject that claims' hypotheses and predictions ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from fractions import Fraction
from typing import Any

from sgverify.checks.biased_gradient import unbiased
from sgverify.checks.composite_subject import CompositeSubject
from sgverify.checks.known_law import why_no_law
from sgverify.checks.subject import Subject
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.composites.exchange import ReplicaExchange
from sgverify.schemes.torch_step import TorchStep


class Facts(MutableMapping[str, Any]):
    """Facts by name, each derived when a claim asks for it: one that cannot be derived takes no other claim with it."""

    def __init__(self, derivations: dict[str, Callable[[], Any]]) -> None:
        self._derivations = derivations
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._derivations[name]()
        return self._known[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._derivations[name] = lambda: value
        self._known[name] = value

    def __delitem__(self, name: str) -> None:
        del self._derivations[name]
        self._known.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._derivations

    def __iter__(self) -> Iterator[str]:
        return iter(self._derivations)

    def __len__(self) -> int:
        return len(self._derivations)


def facts_of(subject: Subject, schedule: str, alpha: Fraction | None) -> Facts:
    """The facts under a kind of schedule; `schedule.alpha` is among them where it is known."""
    word = subject.scheme.word
    composite = subject.composite if isinstance(subject, CompositeSubject) else None
    facts = Facts(
        {
            "K": lambda: subject.predicted_order,
            "scheme.order": lambda: subject.predicted_order,
            "scheme.name": lambda: subject.scheme.name,
            "scheme.torch": lambda: isinstance(subject.scheme, TorchStep),
            "scheme.word": lambda: word is not None,
            "scheme.alphabet": lambda: word.alphabet.name if word else None,
            "scheme.palindromic": lambda: word.palindromic if word else False,
            "scheme.consistent": lambda: _shares_sum_to_one(subject),
            "scheme.alphabet_proved": lambda: subject.alphabet is not None and subject.alphabet.proved,
            "scheme.positive_shares": lambda: word is not None and all(share > 0 for share in word.shares),
            "scheme.invariant_order": lambda: subject.scheme.invariant_order,
            "scheme.follows": lambda: (
                subject.scheme.order is not None or subject.scheme.invariant_order is None
            ),
            "scheme.dynamics": lambda: subject.scheme.dynamics.name,
            "scheme.ergodic": lambda: _not_known_to_wander(subject) and subject.escape is None,
            "scheme.escapes": lambda: subject.escape is not None,
            "gradient.kind": lambda: subject.configuration.gradient.kind,
            "gradient.unbiased": lambda: unbiased(subject),
            "gradient.noisy": lambda: subject.noise.noisy,
            "law.moments": lambda: why_no_law(subject) is None,
            "schedule.kind": lambda: schedule,
            "composite.kind": lambda: composite.kind if composite else "none",
            "composite.cumulates": lambda: (
                composite is not None and getattr(composite, "contour", None) is False
            ),
            "composite.reduced": lambda: composite is not None and _fixed_control(composite),
            "energies.noise": lambda: _energy_noise(subject),
            "target.dim": lambda: subject.target.dim,
        }
    )
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
    if exact or not subject.configuration.gradient.estimator.draws_data:
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
