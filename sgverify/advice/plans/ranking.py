"""Which scheme, step size, gradient estimator and number of steps know a target within an error for the fewest gradients?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from sgverify.advice.chain_laws import ClosureLaws, ExactLaws, StationaryMoments
from sgverify.advice.closure.gaussian_closure import NEAR_ERROR, GaussianClosure
from sgverify.advice.covariates import covariates_of
from sgverify.advice.plans.costs import (
    FEWEST_CHAINS,
    FORGOTTEN,
    LOST,
    SCHEMES,
    StepCost,
    chains_for,
    cost_at,
    costs_below,
    estimators,
    frictions,
    gradients_per_step,
    largest_step,
    other_mode,
    subjects,
)
from sgverify.advice.plans.model import Advice, Plan, TriedStep
from sgverify.advice.product_laws import laws_of
from sgverify.advice.size.model import below
from sgverify.configuration import Configuration, load_configuration
from sgverify.configuration.loading import settings_of
from sgverify.configuration.overrides import SamplingOverrides
from sgverify.errors import ConfigurationError, UserError
from sgverify.evidence.published import Command
from sgverify.schemes import Scheme
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.targets import Target
from sgverify.targets.own.log_density import LogDensity

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
    empirical covariance of the gradient noise. Raises `UserError` where target, schemes or configuration are wrong.

        advice = sgverify.advise("mine.py:posterior", error=0.02)
        print(advice)
    """
    if not (isinstance(error, int | float) and math.isfinite(error) and 0 < error < 1):
        raise ConfigurationError(f"error={error!r}: expected a share of a standard deviation, as 0.05")
    made = (
        target.target() if isinstance(target, LogDensity) else target if isinstance(target, Target) else None
    )
    tables: dict[str, Any] = dict(overrides)
    twice = sorted({"target", "target.name", "target__name"} & set(tables))
    if twice:
        raise ConfigurationError(
            f"{twice[0]}={tables[twice[0]]!r}: expected one target, and {getattr(target, 'name', target)!r} is given; leave it out"
        )
    if isinstance(target, str):
        tables["target.name"] = target
    elif isinstance(target, Mapping):
        tables["target"] = dict(target)
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

    def advice(self) -> Advice:
        subjects_ = [self._subject(scheme) for scheme in self.schemes]
        target, T = subjects_[0].target, float(self.configuration.temperature)
        distrust = self._distrust_of_target(subjects_)
        if distrust is None:
            rows = [
                (s, *estimator)
                for s in subjects_
                for estimator in estimators(self.configuration, target.size)
            ]
            for number, (subject, kind, batch) in enumerate(rows):
                if self.progress is not None:
                    self.progress(subject.reference, number, len(rows))
                self._compare(subject, kind, batch)
        plans = tuple(sorted(self.plans, key=lambda plan: (plan.gradients, plan.step)))
        if not plans and distrust is None:
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
            assumed=_assumed(plans, self.error, float(self.configuration.start_of())),
            untested=_untested(plans, self.unknown),
            covariates=self._covariates(subjects_[0], T),
        )

    def _covariates(self, subject: Subject, temperature: float) -> tuple[str, ...]:
        """What is said of a regression's covariates; nothing of other targets, or where no Gaussian was found."""
        target = subject.target
        if target.quadratic:
            covariance = temperature * target.covariance_float64()
        elif "" in self.closures:
            covariance = self.closures[""].target_law.covariance
        else:
            return ()
        found = covariates_of(target, covariance, temperature, subject.configuration.target)
        return () if found is None else found.lines()

    def _subject(self, scheme: Scheme | str) -> Subject:
        subject = make_subject(scheme, self.configuration)
        if subject.black_box or subject.composite is not None:
            raise UserError(
                f"scheme={subject.reference!r}: expected a scheme with a definition, whose law can be computed; leave it out"
            )
        if self.made is not None:
            vars(subject)["target"] = self.made
        return subject

    def _distrust_of_target(self, subjects_: Sequence[Subject]) -> str | None:
        """The reason why exp(-U/T) itself is no Gaussian as far as can be seen; None where it is near one."""
        subjects_[0].validate()
        if subjects_[0].target.quadratic:
            return None
        reasons = [GaussianClosure.why_not(subject) for subject in subjects_]
        if None not in reasons:
            return reasons[0]
        subject = subjects_[reasons.index(None)]
        closure = GaussianClosure(subject)
        found = closure.distrust_of_target or other_mode(subject, closure)
        if found is None:
            self.closures[""] = closure
        return found

    def _compare(self, subject: Subject, kind: str, batch: int | None) -> None:
        """Add the cheapest plan of a scheme with an estimator, over all frictions; keep the reason where there is none."""
        found: list[tuple[Plan, str | None]] = []
        reasons: list[str] = []
        for friction, variant in subjects(subject, kind, batch, self._frictions(subject)):
            try:
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
        if target.quadratic:
            return frictions(self.configuration, T * np.linalg.inv(T * target.covariance_float64()))
        covariance = self.closures[""].target_law.covariance
        return frictions(self.configuration, T * np.linalg.inv(covariance))

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
        steps, burn_in = math.ceil(found.steps), math.ceil(found.burn_in)
        chains = chains_for(steps, burn_in)
        per_step = gradients_per_step(subject)
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
            gradients_per_step=per_step,
            gradients=per_step * (steps + chains * burn_in),
            method=method,
            command="",
            tried=tuple(_tried(cost, per_step) for cost in sorted(others, key=lambda cost: cost.step)),
        )
        return replace(plan, command=self._command(subject, plan))

    def _command(self, subject: Subject, plan: Plan) -> str:
        """The command line that runs a plan; empty for a target made in Python, which it could not name."""
        if self.made is not None:
            return ""
        tables = subject.configuration.model_dump(exclude_unset=True)
        tables.setdefault("schedule", {})["step"] = plan.step
        tables |= {"chains": plan.chains, "steps": plan.run_steps, "burn_in": plan.burn_in}
        given = [part for item in settings_of(load_configuration(tables)) for part in ("--set", item)]
        return str(Command("sample", subject.reference, tuple(given)))


def _tried(cost: StepCost, gradients_per_step: float) -> TriedStep:
    """A step that was compared; its gradients with the burn-in of as many chains as its own length asks for."""
    whole = math.ceil(cost.steps) + chains_for(cost.steps, cost.burn_in) * math.ceil(cost.burn_in)
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


def _assumed(plans: Sequence[Plan], error: float, start: float) -> tuple[str, ...]:
    if not plans:
        return ()
    exact = any(plan.method == "exact" for plan in plans)
    closed = any(plan.method != "exact" for plan in plans)
    said = [
        f"an error of {error:g} is that of each mean and each standard deviation of theta, in standard deviations of the target: "
        "bias plus one standard error",
        f"each coordinate starts {abs(start):g} standard deviations from its mean; the burn-in forgets that to {FORGOTTEN:g} of "
        "the error",
        "the cost is the number of gradients of single data, or of U without data, each one that a step evaluates counted; a run "
        "on a processor has a cost of each step besides",
    ]
    if exact:
        said.append(
            "biases and autocorrelations of means are exact; those of squares take the law as Gaussian"
        )
    if closed:
        said.append(
            "the law of the chain is approximated: the Gaussian at the mode with averaged Hessian and empirical covariance of the "
            "gradient noise at each place of a step where a gradient is evaluated, corrected by third cumulants"
        )
    return tuple(said)


def _untested(plans: Sequence[Plan], unknown: Mapping[str, Mapping[str, None]]) -> tuple[str, ...]:
    said = [
        "no chain was run",
        f"fewer than {FEWEST_CHAINS} chains, changing step sizes, metrics and thermostats were not compared",
    ]
    if any(plan.method != "exact" for plan in plans):
        said.append("modes far from the one found, and tails beyond a few standard deviations, were not seen")
    said += [f"{', '.join(whose)}: {why}" for why, whose in unknown.items()]
    return tuple(said)
