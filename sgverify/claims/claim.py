"""A claim of a paper, or its corrected form: the schemes that it concerns, a quantity, and the rate of the quantity."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from sgverify.claims.expression import ExponentExpression
from sgverify.claims.predicate import FACTS, Predicate, exact_decimal, shown

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

    `assumes` are hypotheses that no computation decides (smoothness of the Poisson solution); `corrected` names the
    card that takes over where this one is refuted, `corrects` the card that this one corrects, `weighs` what its failing is: an
    error of consequence, a slip, a misprint, or one reading of several. `see` is further literature. `vacuous`: a bound that holds
    of everything, as one that diverges. `left_out`: why nothing of it is judged; it has no predictions then. `on_request`: it
    is judged where it is asked for by name, as the assumptions on the model, for which no scheme is at fault. `rate_of`: the
    quantities whose rate `sgverify rate` holds against this claim, on the claim's `schedule`. `form` names the formula that the
    claim prints, where its check knows several. `densities` holds log rho as printed, by the name of the dynamics, and `values`
    the numbers that the source sets parameters to.
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
