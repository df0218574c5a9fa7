"""Which scheme, step size, gradient estimator and number of steps know a target within an error for the fewest gradients?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from sgverify.advice.chain_laws import ClosureLaws, ExactLaws, StationaryMoments, closure_of
from sgverify.advice.closure.gaussian_closure import NEAR_ERROR, GaussianClosure
from sgverify.advice.closure.shape import other_mode
from sgverify.advice.covariates import covariate_lines, scale_line
from sgverify.advice.networks.advising import network_advice
from sgverify.advice.plans.costs import (
    LOST,
    SCHEMES,
    StepCost,
    chains_for,
    cost_at,
    costs_below,
    estimators,
    first_steps,
    frictions,
    gradients_per_step,
    largest_step,
    run_length,
    subjects,
)
from sgverify.advice.plans.model import MOST, ROWS, Advice, Plan, TriedStep, assumed, untested
from sgverify.advice.product_laws import laws_of
from sgverify.advice.size.model import below
from sgverify.advice.step_bias import given_target
from sgverify.configuration import Configuration, load_configuration
from sgverify.configuration.overrides import SamplingOverrides
from sgverify.errors import ConfigurationError, UserError
from sgverify.samplers.own.module_target import ModuleTarget
from sgverify.schemes import Scheme
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.targets import Target
from sgverify.targets.own.log_density import LogDensity
from sgverify.targets.registry import dressed

ROUNDING = 2.0**-52

ERROR = 0.05
"""The error where none is given: 5 per cent of a standard deviation."""

_SHRINK, _ROUNDS = 0.85, 8
"""A step found by the first-order law is made smaller by this factor while the law itself does not keep within the error."""


def advise(
    target: Target | LogDensity | Mapping[str, Any] | str,
    schemes: Sequence[Scheme | str] = (),
    config: Configuration | Mapping[str, Any] | str | Path | None = None,
    *,
    error: float = ERROR,
    progress: Callable[[str, int, int], None] | None = None,
    **overrides: Unpack[SamplingOverrides],
) -> Advice:
    """The cheapest way to know every mean and standard deviation of theta within `error` standard deviations.

    `target`: a name of the catalogue, a reference `path/to/file.py:attribute`, a target table, a `Target` or a function under
    `sgverify.log_density`. `schemes`: those to compare; by default overdamped Euler and the usual underdamped schemes. `config` and
    `overrides` as in `sgverify.sample`; a configured `gradient.kind`, `gradient.batch` or `friction` is kept, what is left open is
    compared. A plan is the scheme, gradient estimator, friction and step size for which bias and one standard error together
    are within the error with the fewest gradients of single data.
    Exact on Gaussian targets of up to 12 coordinates of the chain, else from the Gaussian approximation at the mode with the
    empirical covariance of the gradient noise. For a torch module `network` of the answer has a step and a batch instead. Raises
    `UserError` where target, schemes or configuration are wrong.

        advice = sgverify.advise("mine.py:posterior", error=0.02)
        print(advice)
    """
    if not (isinstance(error, int | float) and ROUNDING <= error < 1):
        raise ConfigurationError(
            f"error={error!r}: expected a share of a standard deviation, as 0.05, and no smaller one than the rounding of float64, "
            f"{ROUNDING:.2g}"
        )
    made, tables = given_target(target, overrides)
    configuration = load_configuration(config, **tables)
    if configuration.schedule.kind != "fixed":
        raise ConfigurationError(
            f"schedule.kind={configuration.schedule.kind!r}: expected 'fixed' for advice about a step size; leave it out"
        )
    for key in ("annealing", "resample_momentum"):
        if getattr(configuration, key) is not None:
            raise ConfigurationError(
                f"{key} in the configuration of advice: a plan is for settings that stay along a run; leave {key} out"
            )
    made = None if made is None else dressed(made, configuration.target)
    return _Comparison(configuration, made, float(error), [*(schemes or SCHEMES)], progress).advice()


@dataclass(eq=False)
class _Comparison:
    configuration: Configuration
    made: Target | None
    error: float
    schemes: list[Scheme | str]
    progress: Callable[[str, int, int], None] | None
    plans: list[Plan] = field(default_factory=list)
    left_out: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, dict[str, None]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    closures: dict[str, GaussianClosure] = field(default_factory=dict)
    subjects: dict[int, Subject] = field(default_factory=dict)
    alone: bool = False

    def advice(self) -> Advice:
        subjects_ = [self._subject(scheme) for scheme in self.schemes]
        target, T = subjects_[0].target, float(self.configuration.temperature)
        if isinstance(target, ModuleTarget):
            network, distrust = network_advice(subjects_, self.error, self.progress, named=self.made is None)
        else:
            network, distrust = None, self.distrust_of_target(subjects_)
        if network is None and distrust is None:
            rows = [
                (s, *estimator)
                for s in subjects_
                for estimator in estimators(self.configuration, target.size)
            ]
            for number, (subject, kind, batch) in enumerate(rows):
                if self.progress is not None:
                    self.progress(subject.reference, number, len(rows))
                self.compare(subject, kind, batch)
        plans = self._run_first()
        if not plans and network is None and distrust is None:
            reasons = (*self.doubts, *self.left_out, *self.unknown)
            distrust = f"no plan was found ({reasons[0]})" if reasons else "nothing was left to compare"
        return Advice(
            target=target.name,
            dim=target.dim,
            data=target.size,
            error=self.error,
            temperature=T,
            plans=plans,
            distrust=distrust,
            left_out=tuple(self.left_out),
            assumed=assumed(plans, self.error, float(self.configuration.start_of())) + self._caveats(),
            untested=untested(plans, self.unknown),
            covariates=covariate_lines(subjects_[0]),
            scale=scale_line(subjects_[0]),
            network=network,
        )

    def _caveats(self) -> tuple[str, ...]:
        return tuple(filter(None, [self.closures[""].caveat if "" in self.closures else ""]))

    def _run_first(self) -> tuple[Plan, ...]:
        """The plans by their cost; of those that are printed the first steps were run, and what diverges starts at the mean."""
        ordered = sorted(self.plans, key=lambda plan: (plan.gradients, plan.step))
        kept: list[Plan] = []
        for plan in ordered:
            ran = self.ran(plan) if len(kept) < ROWS else plan
            if ran is not None:
                kept.append(ran)
        return tuple(kept)

    def ran(self, plan: Plan) -> Plan | None:
        """The plan with the time that it takes; None where its first steps diverge wherever it may start."""
        starts = [plan.start, *([] if "start" in self.configuration.model_fields_set else [0.0])]
        why = None
        for start in starts:
            given: dict[str, Any] = {"start": start} if start != plan.start else {}
            subject = self.subjects[id(plan)].under(
                load_configuration(self.subjects[id(plan)].configuration, **given)
            )
            why, seconds = first_steps(subject, plan.steps)
            if why is None:
                command = plan.command and subject.command("sample")
                return replace(
                    plan, start=start, command=command, seconds=float(f"{seconds * plan.steps:.2g}")
                )
        self.left_out[
            f"{plan.scheme} with {plan.label}: {why}, in the first steps from start={starts[-1]:g}"
        ] = None
        return None

    def _subject(self, scheme: Scheme | str) -> Subject:
        subject = make_subject(scheme, self.configuration)
        if subject.black_box or subject.composite is not None:
            raise UserError(
                f"scheme={subject.reference!r}: expected a scheme with a definition, whose law can be computed; leave it out"
            )
        if self.made is not None:
            vars(subject)["target"] = self.made
        return subject

    def distrust_of_target(self, subjects_: Sequence[Subject]) -> str | None:
        """The reason why exp(-U/T) itself is no Gaussian as far as can be seen; None where it is near one."""
        if not self.alone:
            subjects_[0].validate()
        if subjects_[0].target.quadratic:
            return None
        reasons = [GaussianClosure.why_not(subject) for subject in subjects_]
        if None not in reasons:
            return reasons[0]
        subject = subjects_[reasons.index(None)]
        closure = closure_of(subject)
        found = closure.distrust_of_target or other_mode(subject)
        if found is None:
            self.closures[""] = closure
        return found

    def compare(self, subject: Subject, kind: str, batch: int | None) -> None:
        """Add the cheapest plan of a scheme with an estimator, over all frictions; keep the reason where there is none."""
        found: list[tuple[Plan, str | None]] = []
        reasons: list[str] = []
        for friction, variant in subjects(subject, kind, batch, self._frictions(subject)):
            try:
                if not self.alone:
                    variant.validate()
                laws = self._laws(variant)
                if laws is None:
                    why = GaussianClosure.why_not(variant) or "its law is not computed here"
                    self.unknown.setdefault(why, {})[f"{subject.reference} with {kind}"] = None
                    return
                found.append(self._plan(variant, laws, kind, batch, friction))
            except LOST as error:
                reasons.append(str(error))
            except UserError as error:
                reasons.append(str(error))
        told = [plan for plan, doubt in found if doubt is None]
        name = f"{subject.reference} with {kind}{'' if batch is None else f' of {batch}'}"
        if told:
            self.plans.append(min(told, key=lambda plan: plan.gradients))
        elif found:
            self.doubts.append(f"{name}: {found[0][1]}")
            self.left_out[f"{name}: not to be trusted, {found[0][1]}"] = None
        else:
            self.left_out[f"{name}: {reasons[0] if reasons else 'no law is computed here'}"] = None

    def _frictions(self, subject: Subject) -> list[float]:
        target, T = subject.target, float(self.configuration.temperature)
        if "p" not in subject.scheme.dynamics.state:
            return []
        covariance = (
            T * target.covariance_float64() if target.quadratic else self.closures[""].target_law.covariance
        )
        found = frictions(self.configuration, T * np.linalg.inv(covariance))
        return found[:1] if self.alone and not self.configuration.gradient.estimator.noisy else found

    def _plan(
        self,
        subject: Subject,
        laws: ExactLaws | ClosureLaws,
        kind: str,
        batch: int | None,
        friction: float | None,
    ) -> tuple[Plan, str | None]:
        """The plan of one subject, with the reason not to trust it. Raises `UserError` where no step keeps within the error."""
        target, start = laws.target, float(self.configuration.start_of())
        near: Callable[[float], StationaryMoments] = laws.near if isinstance(laws, ClosureLaws) else laws.at
        rounding = NEAR_ERROR if isinstance(laws, ClosureLaws) else 0.0
        first, limit = _first_step(subject, target), laws.largest_step
        largest = largest_step(near, target, self.error, first, limit, rounding)
        if largest is None or not math.isfinite(largest):
            raise UserError(f"no step keeps within {self.error:g} of a standard deviation")

        def cost(step: float, law: Callable[[float], StationaryMoments]) -> StepCost:
            return cost_at(step, law(step), target, self.error, start)

        tried = costs_below(lambda step: cost(step, near), largest)
        if not tried:
            raise UserError("every step is too costly")
        best = min(tried, key=lambda found: found.total)
        for _ in range(_ROUNDS):
            step = below(best.step)
            final = cost(step, laws.at)
            if math.isfinite(final.steps):
                break
            best = replace(best, step=best.step * _SHRINK)
        else:
            raise UserError(f"no step keeps within {self.error:g} of a standard deviation")
        return self._made(subject, kind, batch, friction, final, tried, largest, laws.method), laws.distrust(
            step
        )

    def _laws(self, subject: Subject) -> ExactLaws | ClosureLaws | None:
        for laws in laws_of(subject):
            if isinstance(laws, ExactLaws):
                return laws
            if isinstance(laws, ClosureLaws):
                if not self.closures:
                    self.closures[""] = GaussianClosure(subject)
                key = str(subject.configuration.gradient)
                base = self.closures.get(key, self.closures[""])
                closure = base.beside(subject)
                self.closures.setdefault(key, closure)
                return ClosureLaws(subject, closure)
        return None

    def _made(
        self,
        subject: Subject,
        kind: str,
        batch: int | None,
        friction: float | None,
        found: StepCost,
        others: Sequence[StepCost],
        largest: float,
        method: str,
    ) -> Plan:
        burn_in = math.ceil(found.burn_in)
        chains = chains_for(math.ceil(found.steps), burn_in)
        steps, per_step = run_length(found), gradients_per_step(subject)
        if steps > MOST:
            raise UserError(f"it takes {steps:.2g} steps of each of {chains} chains")
        tables = subject.configuration.model_dump(exclude_unset=True)
        tables.setdefault("schedule", {})["step"] = found.step
        tables |= {"chains": chains, "steps": steps, "burn_in": burn_in}
        subject = subject.under(load_configuration(tables))
        plan = Plan(
            scheme=subject.reference,
            gradient=kind,
            batch=batch,
            friction=friction,
            step=found.step,
            largest_step=below(largest),
            bias=found.bias,
            mean_bias=tuple(map(float, found.mean_bias)),
            sd_bias=tuple(map(float, found.sd_bias)),
            steps=steps,
            burn_in=burn_in,
            chains=chains,
            start=float(self.configuration.start_of()),
            gradients_per_step=per_step,
            gradients=per_step * chains * steps,
            seconds=None,
            method=method,
            # A target made in Python has no name that a command line could give.
            command="" if self.made is not None else subject.command("sample"),
            tried=tuple(_tried(cost, per_step) for cost in sorted(others, key=lambda cost: cost.step)),
        )
        self.subjects[id(plan)] = subject
        return plan


def plan_of(subject: Subject) -> Plan | str:
    """The cheapest plan for `ERROR` of one scheme with its gradient estimator on its target; where there is none, the reason.

    With full gradients, where no friction is configured, it is the one that damps the slowest direction critically.
    """
    comparison = _Comparison(subject.configuration, subject.target, ERROR, [subject.scheme], None, alone=True)
    distrust = comparison.distrust_of_target([subject])
    if distrust is not None:
        return distrust
    table = subject.configuration.gradient
    comparison.compare(subject, table.kind, int(table.batch) if table.estimator.draws_data else None)
    reasons = (*comparison.doubts, *comparison.left_out, *comparison.unknown)
    ran = comparison.ran(comparison.plans[0]) if comparison.plans else None
    return ran or [*reasons, *comparison.left_out, "no law is computed here"][0]


def _tried(cost: StepCost, gradients_per_step: float) -> TriedStep:
    """A step that was compared; its gradients with the burn-in of as many chains as its own length asks for."""
    whole = chains_for(math.ceil(cost.steps), math.ceil(cost.burn_in)) * run_length(cost)
    return TriedStep(
        step=cost.step,
        mean_bias=float(np.abs(cost.mean_bias).max()),
        sd_bias=float(np.abs(cost.sd_bias).max()),
        variance=cost.variance,
        gradients=gradients_per_step * whole,
    )


def _first_step(subject: Subject, target: StationaryMoments) -> float:
    """Where the search for a step begins: a share of the time scale of the narrowest coordinate."""
    narrowest = float(target.sd.min()) / math.sqrt(float(subject.configuration.temperature))
    return 0.3 * narrowest if "p" in subject.scheme.dynamics.state else 0.2 * narrowest**2
