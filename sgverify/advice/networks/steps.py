"""The law of a chain along one direction of a quadratic U, and the largest steps at which directions keep their width.

Along a direction of curvature r the gradient is r y plus the noise of a minibatch, zeta + Delta y: of the variance v where y = 0,
and w more for each unit of y^2. One step, as its definition reads, is then an affine map of its few states with added noise, whose
law `sgverify.advice.closure.fixed_point` finds: exact for this U, whatever the scheme.

A local learning coefficient is estimated by SGLD on U(w) = beta N L(w) + gamma |w - w*|^2/2, L the mean loss and beta = 1/log N
(Lau et al. 2023), which moves by -lr/2 times an estimate of grad U and N(0, lr): sgld-euler with h = lr/2 at T = 1. The Hessian is
beta H + gamma, H that of the sum of the losses, and the noise of a minibatch is beta^2 times that of the losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sgverify.advice.closure.fixed_point import fixed_law
from sgverify.advice.closure.gaussian_closure import GaussianClosure
from sgverify.advice.closure.gradient_calls import step_in_gradients
from sgverify.advice.closure.gradient_fit import FittedMinibatchNoise, GradientFit, kept_of_variance
from sgverify.advice.closure.linear_chain import LinearChain, Mixing
from sgverify.advice.networks.model import Direction, LocalisedStep
from sgverify.advice.plans.costs import LOST, estimators, gradients_per_step, subjects
from sgverify.advice.size.model import below
from sgverify.gradients import FULL, IID
from sgverify.subject.subject import Subject

_FACTOR, _TOLERANCE, _MOST = 1.5, 2e-3, 60
"""A step is searched by steps larger by this factor, to this relative accuracy, within 1.5^60 = 4e10."""

_SETTLED = 1e-9

STEEPER = 2.0
"""A step is stable along a direction this many times as steep as the stiffest one: a chain comes where U is steeper."""

PER_STEP = 1e5
"""The products of a datum and a parameter that last as long as a step's own overhead, about 0.1 ms."""

GAMMAS = (1.0, 10.0, 100.0, 1000.0)
"""The localisations that are compared."""


@dataclass(frozen=True, eq=False)
class Stepper:
    """A subject's chain along directions: `share` times the noise of a direction is the variance of a gradient's estimate."""

    subject: Subject
    share: float

    @staticmethod
    def of(subject: Subject) -> Stepper:
        """With the noise of its minibatches: N^2 times the variance of single data, over n, with replacement."""
        table, size = subject.configuration.gradient, subject.target.size
        drawn = table.estimator.draws_data and size is not None
        return Stepper(subject, kept_of_variance(table, size) / int(table.batch) if drawn and size else 0.0)

    def factor(self, direction: Direction, step: float) -> float:
        """The standard deviation over that of exp(-U/T). Raises one of `LOST` where there is no law."""
        variance = float(self._chain(direction, step).of_theta[0, 0])
        return math.sqrt(variance * direction.curvature / self._temperature)

    def forgetting(self, curvature: float, step: float) -> float:
        """The steps in which a direction without noise of minibatches forgets by a factor of e."""
        return self._chain(Direction("", curvature, 0.0, 0.0), step).forgetting

    def limit(self, direction: Direction) -> float | None:
        """The stability limit along the direction; None where none is found."""
        return self._last(direction, lambda factor: True)

    def largest(self, direction: Direction, error: float) -> float | None:
        """The largest step below which the standard deviation is off by no more than a share; None where none is found."""
        return self._last(direction, lambda factor: abs(math.log(factor)) <= math.log1p(error))

    def _last(self, direction: Direction, holds: Callable[[float], bool]) -> float | None:
        """The step up to which a property of the width holds, from one where it does on."""

        def kept(step: float) -> bool:
            try:
                return holds(self.factor(direction, step))
            except LOST:
                return False

        kinetic = "p" in self.subject.scheme.dynamics.state
        step = 0.1 / (math.sqrt(direction.curvature) if kinetic else direction.curvature)
        below_it = next((step / 2**k for k in range(_MOST) if kept(step / 2**k)), None)
        if below_it is None:
            return None
        low = next((at for k in range(_MOST) if not kept((at := below_it * _FACTOR**k) * _FACTOR)), below_it)
        high = low * _FACTOR
        while high > low * (1 + _TOLERANCE):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if kept(middle) else (low, middle)
        return low

    @property
    def _temperature(self) -> float:
        return float(self.subject.configuration.temperature)

    def _chain(self, direction: Direction, step: float) -> LinearChain:
        one, states, nothing = np.ones((1, 1)), len(self.subject.scheme.state), np.zeros(1)
        growth, none = self.share * direction.growth * one[None, None], np.zeros((1, 1, 1))
        noise = FittedMinibatchNoise(self.share * direction.noise * one, none, growth, none)
        hessian = direction.curvature * one
        still = GradientFit(nothing, 0 * one, nothing, hessian, None, noise.still, noise, 0 * one)
        start = np.diag([self._temperature / direction.curvature, *([self._temperature] * (states - 1))])

        def fit_at(mean: np.ndarray, covariance: np.ndarray) -> GradientFit:
            return still.moved(mean, covariance, None)

        read = step_in_gradients(self.subject, step)
        with np.errstate(all="ignore"):
            return fixed_law(read, fit_at, (np.zeros(states), start), step, _SETTLED, Mixing())[1]


@dataclass(frozen=True, eq=False)
class Choice:
    """The largest step of a scheme with one batch, None for all data, and one friction, None without a momentum.

    `factors` are the widths of the directions, `forgetting` the steps in which the flattest of them forgets, and `work` their cost
    in products of a datum and a parameter.
    """

    stepper: Stepper
    batch: int | None
    friction: float | None
    step: float
    factors: tuple[float, ...]
    forgetting: float
    work: float

    @property
    def subject(self) -> Subject:
        """The scheme with these settings, but for the step."""
        return self.stepper.subject


def why_no_choice(subject: Subject) -> str | None:
    """The reason why no step is chosen for a subject on a network; None where one is."""
    table = subject.configuration.gradient
    if table.estimator.each_evaluation or (table.estimator.draws_data and not table.estimator.fresh):
        return f"the noise of gradient.kind={table.kind!r} is not told for a network; expected full, iid or without-replacement"
    return GaussianClosure.why_not_affine(subject)


def kinds(subject: Subject) -> list[tuple[str, int | None]]:
    """The estimators that are compared, the largest batch first: full gradients and iid minibatches, or the configured ones."""
    given = "kind" in subject.configuration.gradient.model_fields_set
    found = estimators(subject.configuration, subject.target.size)
    kept = [(kind, batch) for kind, batch in found if given or kind in (FULL.name, IID.name)]
    return sorted(kept, key=lambda each: -(each[1] or math.inf))


def choices(subject: Subject, directions: Sequence[Direction], flat: float, error: float) -> Iterator[Choice]:
    """For each batch the best friction, and the largest step at which no direction is wider or narrower by more than the error.

    `flat` is the curvature of the directions about which the data say nothing.
    """
    rates = (flat, math.sqrt(flat * directions[0].curvature), directions[0].curvature)
    configured = "friction" in subject.configuration.model_fields_set
    damping = (
        [float(subject.configuration.friction)] if configured else [below(2 * math.sqrt(r)) for r in rates]
    )
    for kind, batch in kinds(subject):
        found = [
            _choice(Stepper.of(variant), batch, friction, directions, flat, error)
            for friction, variant in subjects(subject, kind, batch, damping)
        ]
        kept = [choice for choice in found if choice is not None]
        if kept:
            yield min(kept, key=lambda choice: choice.work)


def _choice(
    stepper: Stepper,
    batch: int | None,
    friction: float | None,
    directions: Sequence[Direction],
    flat: float,
    error: float,
) -> Choice | None:
    stiff = directions[0]
    steeper = replace(stiff, curvature=STEEPER * stiff.curvature, growth=STEEPER**2 * stiff.growth)
    steps = [stepper.limit(steeper), *(stepper.largest(direction, error) for direction in directions)]
    found = [step for step in steps if step is not None]
    if len(found) < len(steps):
        return None
    step = below(min(found))
    try:
        factors = tuple(stepper.factor(direction, step) for direction in directions)
        forgetting = stepper.forgetting(flat, step)
    except LOST:
        return None
    work = forgetting * (gradients_per_step(stepper.subject) * stepper.subject.target.dim + PER_STEP)
    return Choice(stepper, batch, friction, step, factors, forgetting, work)


def localised_steps(
    stepper: Stepper, losses: Sequence[Direction], size: int, error: float, estimate: Callable[[float], float]
) -> Iterator[LocalisedStep]:
    """The rates of SGLD at T = 1 at all localisations, from the stiffest direction of the losses at the mode and the judged one.

    `estimate` is the coefficient of quadratic losses at a gamma over beta.
    """
    beta = 1 / math.log(size)
    for gamma in GAMMAS:
        at_mode, judged = (
            Direction("", beta * each.curvature + gamma, beta**2 * each.noise, beta**2 * each.growth)
            for each in losses
        )
        limit, step = stepper.limit(at_mode), stepper.largest(judged, error)
        if limit is not None and step is not None:
            rate = below(2 * min(step, limit / 2))
            forgetting = stepper.forgetting(gamma, rate / 2)
            yield LocalisedStep(gamma, 2 * limit, rate, forgetting, estimate(gamma / beta))
