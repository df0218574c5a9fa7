"""One quantity of one claim, asked of one subject: what a check answers with evidence."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sgverify.checks.facts import facts_of
from sgverify.checks.registry import Check, find_check
from sgverify.checks.subject.subject import Subject
from sgverify.claims import Claim, Prediction
from sgverify.configuration import Configuration
from sgverify.configuration.model import ScheduleTable
from sgverify.errors import ConfigurationError
from sgverify.evidence import Evidence, Found, Point, Predicted
from sgverify.rates import Decision, Judgement, Rate

STATED = "sgverify/stated-order"
"""The claim that a scheme makes of itself."""


@dataclass(frozen=True, eq=False)
class Question:
    """One quantity of one claim, asked of one subject.

    `kind` is the kind of schedule that it is asked on where the configuration leaves it open; None: the claim's own for
    a quantity that is followed along a schedule, and the default for every other.
    """

    subject: Subject
    claim: Claim
    quantity: str
    kind: str | None = None

    @property
    def check(self) -> Check:
        """The check that settles the quantity."""
        return find_check(self.quantity)

    @cached_property
    def configuration(self) -> Configuration:
        """That of the subject, on the schedule of the question."""
        kind = self.kind or (self.claim.schedule if self.check.along_schedule else None)
        if kind is None or self.subject.schedule_chosen:
            return self.subject.configuration
        return self.subject.configuration.on_schedule(kind)

    @property
    def schedule(self) -> ScheduleTable:
        """The schedule that the question is asked on."""
        return self.configuration.schedule

    @cached_property
    def alpha(self) -> Fraction:
        """The schedule's exponent: 0 for fixed steps, the configured one, else the claim's best.

        Raises `ConfigurationError` where the claim names none.
        """
        if self.schedule.kind == "fixed":
            return Fraction(0)
        if self.schedule.alpha is not None:
            return _fraction(self.schedule.alpha)
        best = self.claim.best_alpha(self.quantity, self.facts)
        if best is None:
            raise ConfigurationError(
                f"schedule.alpha: {self.claim.id} names no best exponent; give one, e.g. schedule.alpha=0.33"
            )
        return best

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The facts about the subject, and the kind of the schedule."""
        return _over({"schedule.kind": self.schedule.kind}, facts_of(self.subject))

    @cached_property
    def applicability(self) -> tuple[bool, str]:
        """Whether the claim speaks of this case, and a sentence that says why or why not."""
        why = self._why_not_asked()
        if why is not None:
            return False, why
        facts = self.facts
        unspoken = f"{self.claim.id} predicts nothing for {self.quantity} of this scheme"
        if self.claim.schedule in ("horizon", "power"):
            if self.claim.schedule != self.schedule.kind:
                return False, (
                    f"{self.claim.id} speaks of the {self.claim.schedule} schedule, and schedule.kind={self.schedule.kind!r} was "
                    "chosen"
                )
            if not self.claim.speaks_of(self.quantity, facts):
                return False, unspoken
            try:
                facts = _over({"schedule.alpha": self.alpha}, facts)
            except ConfigurationError as error:
                return False, str(error)
        applies, reason = self.claim.applies(facts)
        if applies and not self.claim.speaks_of(self.quantity, facts):
            return False, unspoken
        return applies, reason

    @cached_property
    def prediction(self) -> Prediction:
        """What the claim predicts of the quantity; along a schedule at its exponent, of a stated order at what is stated."""
        if self.claim.id == STATED:
            return self.predict({"K": self.subject.scheme.order or 1})
        return self.predict({"schedule.alpha": self.alpha} if self.check.along_schedule else {})

    def predict(self, known: Mapping[str, Any]) -> Prediction:
        """What the claim predicts with some facts known to be others."""
        return self.claim.predict(self.quantity, _over(known, self.facts))

    @property
    def why_no_rate(self) -> str | None:
        """Why no rate in L is asked for on this schedule; None where one may be."""
        if self.schedule.kind != "cyclical":
            return None
        return (
            "schedule.kind='cyclical': a rate in L is that of steps which fall with L or stay, and the steps of a cycle jump "
            "back; choose schedule.kind=horizon or power"
        )

    def evidence(
        self,
        judgement: Judgement,
        *,
        method: str = "exact",
        prediction: Prediction | None = None,
        found: Rate | Decision | Fraction | None = None,
        points: Sequence[Point] = (),
        certificate: dict[str, Any] | None = None,
    ) -> Evidence:
        """One piece of evidence; an exponent of an exact rung has no width, one from samples has an interval."""
        return Evidence(
            scheme=self.subject.reference,
            claim=self.claim.id,
            check=self.quantity,
            configuration=self.configuration.as_dict(),
            method=method,  # type: ignore[arg-type]
            predicted=Predicted(prediction.exponent, prediction.kind) if prediction else Predicted(None),
            found=_found(found),
            points=tuple(points),
            verdict=judgement.verdict,  # type: ignore[arg-type]
            sharp=judgement.sharp,
            reason=judgement.reason,
            certificate=certificate or {},
            replay=self.subject.command("verify", "--checks", self._selecting(), under=self.configuration),
        )

    def answered(
        self,
        judgement: Judgement,
        *,
        method: str = "exact",
        found: Rate | Decision | Fraction | None = None,
        points: Sequence[Point] = (),
        certificate: dict[str, Any] | None = None,
    ) -> Evidence:
        """Evidence on what the claim predicts."""
        return self.evidence(
            judgement,
            method=method,
            prediction=self.prediction,
            found=found,
            points=points,
            certificate=certificate,
        )

    def unanswered(self, reason: str, verdict: str = "inconclusive", *, method: str = "exact") -> Evidence:
        """Evidence without an answer, which says why there is none."""
        return self.evidence(Judgement(verdict, False, reason), method=method)

    def sampled(self, why: str = "") -> Evidence:
        """Evidence from samples; where only the exact rung was asked, its reason `why` for having no answer."""
        if self.subject.method == "exact":
            return self.unanswered(why)
        try:
            average = self.subject.reference_average
        except ConfigurationError as error:
            return self.unanswered(str(error), method="monte-carlo")
        evidence = self.check.sample(self)
        reference = {"value": float(average), "error_bound": average.error_bound, "method": average.method}
        certificate = {
            **evidence.certificate,
            "reference_average": reference,
            "why_sampled": why or "asked for",
        }
        return replace(evidence, certificate=certificate)

    def _why_not_asked(self) -> str | None:
        """Why the quantity is not asked of such a subject, whatever the claim; None where it may be."""
        c, dynamics = self.configuration, self.subject.scheme.dynamics
        if dynamics.positive and not self.check.positive:
            return f"`{dynamics.name}` lives on theta > 0; the states and targets that {self.quantity} takes are not"
        why = self.subject.why_not_asked(self.check)
        if why is not None or not self.check.along_schedule:
            return why
        if c.burn_in or c.thinning > 1:
            return (
                f"{self.claim.id} speaks of the average over every l = 1..L, and burn_in={c.burn_in} with thinning={c.thinning} "
                "leaves states out"
            )
        return self.why_no_rate

    def _selecting(self) -> str:
        """What selects this evidence on a command line: the claim; of torch code, which has few checks, the check itself.

        Unless the claim has this one alone, or is the scheme's own, which is held to only where no printed one is.
        """
        claim = self.claim
        by_check = self.subject.black_box and len(claim.quantities) > 1 and claim.id != STATED
        return self.quantity if by_check else claim.id


def whole(order: Fraction) -> int | float:
    """An order as a number of JSON: whole wherever it is."""
    return int(order) if order.denominator == 1 else float(order)


def _over(known: Mapping[str, Any], facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """`facts` with those that are known laid over them: each of the others is derived when a claim asks for it."""
    return ChainMap(dict(known), facts)  # type: ignore[arg-type]  # it writes to the first alone


def _fraction(alpha: float) -> Fraction:
    """The simple fraction that has this float, so that 0.3333333333333333 is 1/3; else the decimal it prints as."""
    simple = Fraction(alpha).limit_denominator(100)
    return simple if float(simple) == alpha else Fraction(repr(alpha))


def _found(found: Rate | Decision | Fraction | None) -> Found:
    if isinstance(found, Decision):
        return Found(found.exponent, found.low, found.high)
    if isinstance(found, Rate):
        return Found(found.exponent, None if found.at_most else found.exponent, found.exponent)
    return Found(found, found, found)


__all__ = ["STATED", "Question", "whole"]
