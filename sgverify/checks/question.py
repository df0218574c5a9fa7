"""Which question does a check answer? One quantity of one claim for one subject, with its applicability and prediction."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sgverify.checks.check import Check
from sgverify.checks.concluding import asked_of, conclude, configured_scope, held_of
from sgverify.checks.facts import facts_of
from sgverify.checks.registry import CHECKS, find_check
from sgverify.claims import Claim, Prediction
from sgverify.configuration import Configuration
from sgverify.configuration.model import ScheduleTable
from sgverify.errors import ConfigurationError
from sgverify.evidence import Evidence, Extent, Found, Point, Predicted, Scope
from sgverify.rates.decision import Decision
from sgverify.rates.verdict import Judgement, Rate
from sgverify.schemes.loading import scheme_reference
from sgverify.subject.composite import TorchSubject
from sgverify.subject.subject import Subject

STATED = "sgverify/stated-order"
"""The claim that a scheme makes of itself."""

OF_OWN_LOSS = ("own-loss", "pure-step")
"""The checks of code that brings its own loss and data."""


@dataclass(frozen=True, eq=False)
class Question:
    """One quantity of one claim, asked of one subject.

    `kind` is the kind of schedule to use if the configuration leaves `schedule.kind` open. With None, a quantity that is
    followed along a schedule uses the claim's own kind, and every other quantity the configuration's default.
    `samples`: numbers are wanted before a proof, as `rate` wants them, and chains are drawn where neither answers; a verdict draws
    none.
    """

    subject: Subject
    claim: Claim
    quantity: str
    kind: str | None = None
    samples: bool = False

    @property
    def check(self) -> Check:
        """The check that settles the quantity."""
        return find_check(self.quantity)

    @cached_property
    def configuration(self) -> Configuration:
        """The subject's configuration, with the schedule of the question."""
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
        """The facts about the subject, and the kind of the schedule.

        In a claim about the order of the invariant law that a scheme states, K is that order.
        """
        known: dict[str, Any] = {"schedule.kind": self.schedule.kind}
        if "scheme.invariant_order" in self.claim.needs:
            known["K"] = self.subject.scheme.invariant_order or 1
        return _over(known, facts_of(self.subject))

    @cached_property
    def applicability(self) -> tuple[bool, str]:
        """Does the claim apply to this subject and schedule? The answer, and a sentence with the reason."""
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
        """The claim's prediction for the quantity.

        Along a schedule h_l = C l^-alpha the prediction is that for the schedule's alpha; the claim that a scheme has its
        stated order predicts that order.
        """
        if self.claim.id == STATED:
            return self.predict({"K": self.subject.scheme.order or 1})
        return self.predict({"schedule.alpha": self.alpha} if self.check.along_schedule else {})

    def predict(self, known: Mapping[str, Any]) -> Prediction:
        """The claim's prediction with the facts in `known` in place of the subject's own facts of the same names."""
        return self.claim.predict(self.quantity, _over(known, self.facts))

    @property
    def why_no_rate(self) -> str | None:
        """The reason why no rate in L is defined on this schedule; None if one is."""
        if self.schedule.kind == "annealed":
            return (
                "schedule.kind='annealed': the steps of an endless run add up to a finite time, and no average converges; choose "
                "schedule.kind=horizon or power"
            )
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
        scope: Scope | None = None,
    ) -> Evidence:
        """One piece of evidence. An exponent from an exact method is one number, an exponent from samples an interval.

        `scope` says for what the judgement holds, by default at the configured setting; the verdict is no wider (`conclude`).
        """
        scope = self.scope() if scope is None else scope
        scope = scope.meet(held_of(self.subject, scope))
        judgement = conclude(judgement, scope, asked_of(self.subject))
        return Evidence(
            scheme=self.subject.reference,
            claim=self.claim.id,
            check=self.quantity,
            configuration=self.configuration.as_dict(),
            method=method,  # type: ignore[arg-type]
            predicted=Predicted(prediction.exponent, prediction.kind) if prediction else Predicted(None),
            found=_found(found),
            points=points,  # type: ignore[arg-type]  # evidence keeps a tuple, or what is computed at sight
            verdict=judgement.verdict,  # type: ignore[arg-type]
            sharp=judgement.sharp,
            scope=scope,
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
        scope: Scope | None = None,
    ) -> Evidence:
        """Evidence that holds the claim's own prediction beside the value found."""
        return self.evidence(
            judgement,
            method=method,
            prediction=self.prediction,
            found=found,
            points=points,
            certificate=certificate,
            scope=scope,
        )

    def scope(self, **extents: Extent) -> Scope:
        """The scope of an answer at the configured setting, with other extents along the axes that are named."""
        return replace(configured_scope(self.subject, self.configuration, self.check.any_gradient), **extents)

    def unanswered(self, reason: str, verdict: str = "inconclusive", *, method: str = "exact") -> Evidence:
        """Evidence without a value; `reason` says why no value was found."""
        return self.evidence(Judgement(verdict, False, reason), method=method, scope=Scope())

    def by_chains(self, why: str = "asked for") -> Evidence:
        """Evidence from samples where they are asked for; else an unanswered one with the reason `why` and the command for them."""
        method = self.subject.method
        if method == "exact":
            return self.unanswered(why)
        if not self.check.sampled:
            return self.unanswered(f"{why}; a claim about L to infinity, and samples end at a finite length")
        if method is None and not self.samples:
            command = self.subject.command(
                "rate", "--quantity", self.quantity, "--method", "monte-carlo", under=self.configuration
            )
            return self.unanswered(f"{why}; chains are drawn where asked: {command}")
        # Imported here: the module imports torch, which most questions to exact methods never need.
        from sgverify.checks.rates.sampled.method import reference_certificate

        try:
            reference = reference_certificate(self.subject)
        except ConfigurationError as error:
            return self.unanswered(f"no reference average is known; {error}", method="monte-carlo")
        evidence = self.check.sampler(self)
        certificate = {
            **evidence.certificate,
            "reference_average": reference,
            "why_sampled": why,
        }
        return replace(evidence, certificate=certificate)

    @property
    def why_never_asked(self) -> str | None:
        """The reason why the quantity is not defined for this scheme under any configuration; None if there is none."""
        dynamics = self.subject.scheme.dynamics
        if dynamics.positive and not (self.check.positive or self._on_positive_target):
            return f"`{dynamics.name}` lives on theta > 0; the states and targets that {self.quantity} takes are not"
        changed = self.subject.changes_along_run
        if changed is not None and not self.check.every_step:
            return f"{changed}; {self.quantity} is read of one step under settings that stay"
        return why_not_asked(self.subject, self.check)

    @property
    def _on_positive_target(self) -> bool:
        """Is the quantity one of the states of a target on theta > 0, as the configured one is?"""
        return self.check.positive_states and self.subject.target.positive

    def _why_not_asked(self) -> str | None:
        """The reason why the quantity is not defined for this subject, whatever the claim; None if it is defined."""
        c = self.configuration
        why = self.why_never_asked
        if why is not None or not self.check.along_schedule:
            return why
        if c.burn_in or c.thinning > 1:
            return (
                f"{self.claim.id} speaks of the average over every l = 1..L, and burn_in={c.burn_in} with thinning={c.thinning} "
                "leaves states out"
            )
        return self.why_no_rate

    def _selecting(self) -> str:
        """The argument of `--checks` that selects this evidence: the claim's id or, for some torch code, the check's name.

        Torch code meets few checks of a claim, so that the check's name is the shorter selection. The claim's id is kept
        if the claim has a single check, or if it is the scheme's stated order.
        """
        claim = self.claim
        by_check = self.subject.black_box and len(claim.quantities) > 1 and claim.id != STATED
        return self.quantity if by_check else claim.id


def why_not_asked(subject: Subject, check: Check) -> str | None:
    """The reason why a check does not apply to a subject of its kind; None if the check applies."""
    if isinstance(subject, TorchSubject):
        return _why_not_asked_of_code(subject, check)
    if subject.composite:
        if check.composite:
            return None
        return f"{check.name} is asked of the scheme of a composite; verify {scheme_reference(subject.composite)}"
    if not check.composite:
        return None
    return f"{check.name} reads the rule of a composite, and scheme={subject.reference!r} is none"


def _why_not_asked_of_code(subject: TorchSubject, check: Check) -> str | None:
    if subject.scheme.own_loss is not None and check.name not in OF_OWN_LOSS:
        return (
            f"{check.name} hands a step gradients of targets of its own choice, and scheme={subject.reference!r} brings its own "
            f"loss and data; of that are read {', '.join(OF_OWN_LOSS)}"
        )
    if check.composite and not subject.swaps:
        return f"{check.name} reads a rule of swaps, and scheme={subject.reference!r} has none (torch_step(..., swap=))"
    if check.black_box:
        return None
    able = ", ".join(name for name, other in CHECKS.items() if other.black_box)
    return f"{check.name} is read off a definition, and scheme={subject.reference!r} is torch code; of that are read {able}"


def whole(order: Fraction) -> int | float:
    """An order as a number of JSON: whole wherever it is."""
    return int(order) if order.denominator == 1 else float(order)


def _over(known: Mapping[str, Any], facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """`facts` overlaid with `known`; every other fact is still derived only when a claim reads it."""
    return ChainMap(dict(known), facts)  # type: ignore[arg-type]  # it writes to the first alone


def _fraction(alpha: float) -> Fraction:
    """The fraction with denominator <= 100 whose float is `alpha` (0.3333333333333333 is 1/3), else the printed decimal."""
    simple = Fraction(alpha).limit_denominator(100)
    return simple if float(simple) == alpha else Fraction(repr(alpha))


def _found(found: Rate | Decision | Fraction | None) -> Found:
    if isinstance(found, Decision):
        return Found(found.exponent, found.low, found.high)
    if isinstance(found, Rate):
        return Found(found.exponent, None if found.at_most else found.exponent, found.exponent)
    return Found(found, found, found)
