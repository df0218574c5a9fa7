"""A claim as data: its statement and source, the exponent that it predicts, and its hypotheses on facts."""

from __future__ import annotations

import ast
import difflib
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from sgverify.errors import DefinitionError
from sgverify.schemes.numbers.text import Grammar

# The little arithmetic that cards are written in: exact, and never run as code.


NAMES = ("K", "alpha")

_GRAMMAR = Grammar(NAMES, {"min": min, "max": max}, "-min(1 - alpha, K*alpha)", fewest=2)


@dataclass(frozen=True)
class ExponentExpression:
    """An exponent as a card prints it, such as `-min(1 - alpha, K*alpha)`.

    Whole numbers, `K` (the local order given the minibatch), `alpha` (the schedule's exponent), + - * /, `min` and
    `max`; the value is a Fraction.

    >>> ExponentExpression("-min(1 - alpha, K*alpha)").value({"K": Fraction(2), "alpha": Fraction(1, 3)})
    Fraction(-2, 3)
    """

    text: str

    def __post_init__(self) -> None:
        _ = self._node

    @cached_property
    def _node(self) -> ast.expr:
        return _GRAMMAR.read(self.text)

    @property
    def names(self) -> frozenset[str]:
        """The names that the expression uses, among K and alpha."""
        return _GRAMMAR.names_in(self._node)

    def value(self, names: Mapping[str, Fraction]) -> Fraction:
        """The exact value; raises ValueError when a name that is used has none."""
        missing = sorted(self.names - set(names))
        if missing:
            raise ValueError(f"{self.text!r} needs a value for {', '.join(missing)}")
        return Fraction(_GRAMMAR.value(self._node, names))

    def __str__(self) -> str:
        return self.text


# Hypotheses as data: predicates on named facts about a scheme and a configuration.


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
    "scheme.invariant_gain": "the order stated of its invariant law less the proved order of one step",
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


# The publication that claims are taken from, as a report names it.


@dataclass(frozen=True, kw_only=True)
class Publication:
    """Title, authors in the printed order, year, and where it was published."""

    title: str
    authors: tuple[str, ...]
    year: int
    published: str = ""

    def __str__(self) -> str:
        """`A, B and C (2015). Title. Where.`"""
        *rest, last = self.authors
        names = f"{', '.join(rest)} and {last}" if rest else last
        where = f" {self.published}." if self.published else ""
        return f"{names} ({self.year}). {self.title}.{where}"


# A claim of a paper, or its corrected form: the schemes that it concerns, a quantity, and the rate of the quantity.


Kind = Literal["upper", "sharp"]
Schedule = Literal["fixed", "horizon", "power"]


@dataclass(frozen=True)
class Source:
    """The source of a claim: paper, section and equation number."""

    paper: str
    section: str
    equation: str

    def __str__(self) -> str:
        return f"{self.paper}, {self.section}, {self.equation}"


@dataclass(frozen=True)
class PredictionRule:
    """One rate of a claim and the facts that it is stated for (`when`); the first rule of a claim that fits counts.

    `alpha` is the schedule exponent that the claim calls best; at alpha = `log_alpha` the rate carries a factor
    log L. `strict`: the exponent found must be strictly smaller. `sharp_when`: the family for which equality is
    predicted; a fact that is not known makes no prediction sharp.
    """

    quantity: str
    exponent: ExponentExpression
    kind: Kind = "upper"
    alpha: ExponentExpression | None = None
    log_alpha: ExponentExpression | None = None
    strict: bool = False
    when: tuple[Predicate, ...] = ()
    sharp_when: tuple[Predicate, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """The rate for one scheme and configuration: quantity = O(h^exponent), or O(L^exponent log^logarithm L).

    `kind` is sharp where the card says that equality is predicted, upper elsewhere; with `strict` the exponent found
    must be strictly smaller. `alpha` is the schedule exponent that the prediction was made at.
    """

    exponent: Fraction
    kind: Kind
    alpha: Fraction | None = None
    logarithm: int = 0
    strict: bool = False


@dataclass(frozen=True)
class Claim:
    """One theorem card.

    `assumes` are hypotheses that no computation decides (smoothness of the Poisson solution); `corrected` names the card that
    takes over where this one is refuted, `corrects` the card that this one corrects, `weighs` what its failing is: an error
    of consequence, a slip, a misprint, or one reading of several. `in_the_limit`: the limit that its hypotheses speak of,
    which no one setting is: where the claim is off in a setting, its corrected card judges. `see` is further literature.
    `vacuous`: a bound that holds of everything, as one that diverges. `left_out`: why nothing of it is judged; it has no
    predictions then. `on_request`: it is judged where it is asked for by name, as the assumptions on the model, for which no
    scheme is at fault. `rate_of`: the quantities whose rate `sgverify rate` holds against this claim, on the claim's
    `schedule`. `form` names the formula that the claim prints, where its check knows several. `densities` holds log rho as
    printed, by the name of the dynamics, and `values` the numbers that the source sets parameters to.
    """

    id: str
    title: str
    statement: str
    source: Source
    predictions: tuple[PredictionRule, ...]
    hypotheses: tuple[Predicate, ...] = ()
    assumes: tuple[str, ...] = ()
    schedule: Schedule | None = None
    rate_of: tuple[str, ...] = ()
    form: str = ""
    corrected: str | None = None
    corrects: str | None = None
    weighs: str = ""
    in_the_limit: str = ""
    see: tuple[str, ...] = ()
    densities: tuple[tuple[str, str], ...] = ()
    values: tuple[tuple[str, int], ...] = ()
    vacuous: bool = False
    left_out: str = ""
    on_request: bool = False

    @property
    def quantities(self) -> tuple[str, ...]:
        """The quantities that the claim speaks of, in the card's order."""
        return tuple(dict.fromkeys(rule.quantity for rule in self.predictions))

    @property
    def needs(self) -> frozenset[str]:
        """The facts that its hypotheses ask for."""
        return frozenset(predicate.fact for predicate in self.hypotheses)

    @property
    def escaping(self) -> bool:
        """Whether it speaks of chains that escape."""
        return any(p.fact == "scheme.escapes" and p.holds({p.fact: True}) for p in self.hypotheses)

    def applies(self, facts: Mapping[str, Any]) -> tuple[bool, str]:
        """Whether every hypothesis holds and some prediction fits, and a sentence that says why or why not.

        Where `schedule.alpha` is not given the claim's best one is meant. Raises ValueError when a fact that is
        asked for is not among `facts`.
        """
        rules = [rule for rule in self.predictions if _fits(rule, facts)]
        if not rules:
            wanted = " or ".join(dict.fromkeys(_conditions(rule) for rule in self.predictions))
            return False, f"{self.id} does not apply: it predicts cases where {wanted}."
        facts = _with_alpha(facts, rules[0])
        for predicate in self.hypotheses:
            if not predicate.holds(facts):
                return False, (
                    f"{self.id} does not apply: it needs that {predicate}, and {predicate.fact} is "
                    f"{shown(facts[predicate.fact])} ({FACTS[predicate.fact]})."
                )
        if not self.hypotheses:
            return True, f"{self.id} has no hypotheses that are decided by computation."
        return True, f"Every hypothesis of {self.id} holds: {_conjunction(self.hypotheses)}."

    def best_alpha(self, quantity: str, facts: Mapping[str, Any]) -> Fraction | None:
        """The schedule exponent that the claim calls best for the quantity; None where it speaks of no schedule."""
        rule = self._rule(quantity, facts)
        return None if rule.alpha is None else rule.alpha.value({"K": Fraction(facts["K"])})

    def predict(self, quantity: str, facts: Mapping[str, Any]) -> Prediction:
        """The predicted rate at facts["schedule.alpha"], or at the claim's best alpha where that is not given.

        `facts["K"]` is the proved local order given the minibatch.
        """
        rule = self._rule(quantity, facts)
        written = (rule.exponent, rule.alpha, rule.log_alpha)
        # The order may be expensive to prove, or out of reach: it is computed only where the card uses it.
        names = {"K": Fraction(facts["K"])} if any(e and "K" in e.names for e in written) else {}
        alpha = None
        if rule.alpha is not None:
            given = facts.get("schedule.alpha")
            alpha = rule.alpha.value(names) if given is None else exact_decimal(given)
            names["alpha"] = alpha
        logarithm = rule.log_alpha is not None and alpha is not None and rule.log_alpha.value(names) == alpha
        sharp = rule.sharp_when and all(p.fact in facts and p.holds(facts) for p in rule.sharp_when)
        return Prediction(
            exponent=rule.exponent.value(names),
            kind="sharp" if sharp else rule.kind,
            alpha=alpha,
            logarithm=int(logarithm),
            strict=rule.strict,
        )

    def speaks_of(self, quantity: str, facts: Mapping[str, Any]) -> bool:
        """Whether a prediction for the quantity fits these facts."""
        return any(rule.quantity == quantity and _fits(rule, facts) for rule in self.predictions)

    def may_speak_of(self, quantity: str, facts: Mapping[str, Any], known: Collection[str]) -> bool:
        """Whether the facts named in `known` leave the claim and a prediction for the quantity possible."""

        def possible(predicates: tuple[Predicate, ...]) -> bool:
            return all(predicate.holds(facts) for predicate in predicates if predicate.fact in known)

        return possible(self.hypotheses) and any(
            rule.quantity == quantity and possible(rule.when) for rule in self.predictions
        )

    def _rule(self, quantity: str, facts: Mapping[str, Any]) -> PredictionRule:
        if quantity not in self.quantities:
            raise ValueError(
                f"{self.id} does not speak of {quantity!r}; it speaks of {', '.join(self.quantities)}"
            )
        for rule in self.predictions:
            if rule.quantity == quantity and _fits(rule, facts):
                return rule
        raise ValueError(f"{self.id} predicts nothing for {quantity!r} with these facts; ask `applies` first")


def _fits(rule: PredictionRule, facts: Mapping[str, Any]) -> bool:
    return all(predicate.holds(facts) for predicate in rule.when)


def _with_alpha(facts: Mapping[str, Any], rule: PredictionRule) -> Mapping[str, Any]:
    if facts.get("schedule.alpha") is not None or rule.alpha is None:
        return facts
    # Laid over, not copied: a fact is derived when somebody asks for it.
    best: dict[str, Any] = {"schedule.alpha": rule.alpha.value({"K": Fraction(facts["K"])})}
    return ChainMap(best, facts)  # type: ignore[arg-type]  # it writes to the first alone


def _conditions(rule: PredictionRule) -> str:
    return _conjunction(rule.when)


def _conjunction(predicates: tuple[Predicate, ...]) -> str:
    return ", ".join(map(str, predicates))
