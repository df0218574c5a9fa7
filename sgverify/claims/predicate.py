"""Hypotheses as data: predicates on named facts about a scheme and a configuration."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.errors import DefinitionError

FACTS: dict[str, str] = {
    "K": "the proved local order given the minibatch, at least the 1 of an integrator",
    "scheme.name": "the scheme",
    "scheme.torch": "being torch code",
    "scheme.own_loss": "bringing its own loss",
    "scheme.word": "being a splitting word",
    "scheme.alphabet": "the alphabet of the word",
    "scheme.alphabet_proved": "the letters being the exact flows of generators that sum to the dynamics",
    "scheme.palindromic": "the word reading the same backwards",
    "scheme.consistent": "the shares of every letter summing to 1",
    "scheme.positive_shares": "every share of every letter being positive",
    "scheme.order": "the proved local order given the minibatch, at least the 1 of an integrator",
    "scheme.invariant_order": "the order that the definition states of its invariant law",
    "scheme.follows": "a weak order at finite times being stated, or no order at all",
    "scheme.dynamics": "the dynamics",
    "scheme.ergodic": "the chain having one invariant law that it forgets its start for",
    "scheme.escapes": "the chain being carried off to infinity from far out, so that it has no invariant law",
    "gradient.kind": "the gradient estimator",
    "gradient.unbiased": "the gradient estimate being unbiased: its mean is grad U at every theta",
    "gradient.noisy": "the gradient estimate having fresh noise of its own at every step",
    "law.moments": "the moments of the invariant law and of the posterior being known exactly",
    "composite.controlled": "energies having a control variate, of whatever coefficient",
    "composite.reduced": "energies having the control variate of the coefficient -1",
    "energies.noise": "the noise of the energies, as the data make it: none, linear in theta, or other",
    "target.dim": "the dimension",
    "target.own": "a density of one's own code",
    "composite.kind": "what a composite puts around the steps of its scheme",
    "composite.cumulates": "adaptive weights following the cumulated masses of the energy regions (AWSGLD, not CSGLD)",
    "schedule.kind": "the step-size schedule",
    "schedule.alpha": "the exponent alpha of the step-size schedule",
}


@dataclass(frozen=True)
class Predicate:
    """One condition on one fact, such as `schedule.alpha` strictly between 0 and 1."""

    fact: str
    tests: tuple[tuple[str, Any], ...]

    @classmethod
    def from_table(cls, table: Mapping[str, Any], where: str) -> Predicate:
        """Read `{fact = "...", equals = ...}`; any of equals, one_of, none_of, at_least, at_most, above, below."""
        fact = table.get("fact")
        if fact not in FACTS:
            near = difflib.get_close_matches(str(fact), FACTS, n=1)
            raise DefinitionError(f"{where}: unknown fact {fact!r}; " + _mend(near, FACTS))
        tests = tuple((name, value) for name, value in table.items() if name != "fact")
        for name, value in tests:
            if name not in _TESTS:
                near = difflib.get_close_matches(name, _TESTS, n=1)
                raise DefinitionError(f"{where}: unknown test {name!r} of {fact}; " + _mend(near, _TESTS))
            if name in _OF_A_LIST and not isinstance(value, list):
                raise DefinitionError(f"{where}: {name}={value!r} of {fact}; expected a list.")
        if not tests:
            raise DefinitionError(f"{where}: nothing is asked of {fact}; add one of {', '.join(_TESTS)}.")
        return cls(
            fact, tuple((name, tuple(value) if name in _OF_A_LIST else value) for name, value in tests)
        )

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """Whether every test is passed; raises ValueError when the fact is not there.

        A fact that is None (no word, so no alphabet) passes no comparison, and `equals` only with None.
        """
        if self.fact not in facts:
            raise ValueError(f"the fact {self.fact!r} is needed to judge this claim and was not given")
        found = facts[self.fact]
        return all(_TESTS[name][0](found, value) for name, value in self.tests)

    def wanted(self) -> str:
        """The condition as a clause: `is above 0 and is below 1`."""
        return " and ".join(_TESTS[name][1].format(shown(value)) for name, value in self.tests)

    def __str__(self) -> str:
        return f"{self.fact} {self.wanted()}"


def shown(value: Any) -> str:
    """A fact's value in words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value)


def _mend(near: list[str], known: Mapping[str, Any]) -> str:
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}."


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda found, value: found is not None and compare(exact_decimal(found), exact_decimal(value))


def exact_decimal(value: Any) -> Fraction:
    """A float is read as the decimal that it prints as."""
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


_OF_A_LIST = ("one_of", "none_of")

_TESTS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "equals": (lambda found, value: found == value, "is {}"),
    "one_of": (lambda found, value: found in value, "is one of {}"),
    "none_of": (lambda found, value: found not in value, "is none of {}"),
    "at_least": (_ordered(lambda found, value: found >= value), "is at least {}"),
    "at_most": (_ordered(lambda found, value: found <= value), "is at most {}"),
    "above": (_ordered(lambda found, value: found > value), "is above {}"),
    "below": (_ordered(lambda found, value: found < value), "is below {}"),
}
