"""The smallest step size at which an error crosses a level, where the error need not grow with the step.

The error tends to 0 as a power of h. From a step so small that halving it reduces the error, steps are followed upwards by a
constant factor; the first interval in which a level is crossed is narrowed down. A crossing there and back within one such factor
is not seen.

How large is the error of a subject's chain? The answer from the best law that reaches it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import flint
import numpy as np

from sgverify.advice.chain_laws import ChainLaws, ExactLaws, GridLaws, StationaryMoments
from sgverify.advice.product_laws import LinesLaws, laws_of
from sgverify.advice.size.coupled import coupled_bias, proved_power
from sgverify.advice.size.model import HowLarge, Level, MonteCarlo, PowerOfStep, worst_of
from sgverify.checks.rates.engines import exact_answers
from sgverify.configuration import load_configuration
from sgverify.errors import InstabilityError, NotExpandableError, Unreached
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import QuadraticAnswers
from sgverify.exact.chain.mse import long_run_variance, stationary_variance
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

FACTOR = 1.3
"""The ratio of neighbouring steps of the search where a law takes a millisecond."""

MOST_HALVINGS, MOST_STEPS = 60, 400

_START, _REDUCED = 0.25, 0.8
"""The search starts where the error is below _START of the smallest level, and halving the step leaves _REDUCED of it at most."""

_NOTHING = 1e-12
"""An error of rounding alone."""

_LIMIT = 1 - 1e-6
"""The share of the stability limit up to which steps are followed."""


def smallest_crossings(
    error: Callable[[float], float],
    levels: Sequence[float],
    step: float,
    limit: float = math.inf,
    factor: float = FACTOR,
    tolerance: float = 1e-4,
    rounding: float = 0.0,
) -> tuple[Level, ...]:
    """The largest step below which the error stays within each level.

    `error` is that at a step, infinite where the chain is unstable; the search begins at `step`, and ends at the stability limit.
    `tolerance` is the relative accuracy of the steps that are found, `rounding` an error that need not fall with the step, because
    it is that of the computation.
    """
    known: dict[float, float] = {}

    def at(h: float) -> float:
        if h not in known:
            known[h] = error(h)
        return known[h]

    low, end = _small(at, min(levels), min(step, limit / 2), rounding), limit * _LIMIT
    if low is None:
        return tuple(Level(level, None) for level in levels)
    wanted, found = sorted(levels), dict[float, Level]()
    before = low
    for _ in range(MOST_STEPS):
        if not wanted or before >= end:
            break
        after = min(before * factor, end)
        while wanted and at(after) > wanted[0]:
            level = wanted.pop(0)
            # Where the rounding of the computation is above the level already, no step is told.
            root = _root(at, level, before, after, tolerance) if at(before) <= level else None
            # Where the chain ends before the level is met, what is crossed is stability.
            ends = root is not None and math.isinf(at(after)) and math.isinf(at(root * (1 + 2 * tolerance)))
            found[level] = Level(level, root, stability=ends)
        before = after
    for level in wanted:
        found[level] = Level(level, limit if math.isfinite(limit) else None, stability=math.isfinite(limit))
    return tuple(found[level] for level in levels)


def _small(at: Callable[[float], float], level: float, step: float, rounding: float) -> float | None:
    """A step from which the error falls with h, or is that of the computation, and is far below the level; None where none is."""
    h, nothing = step, max(_NOTHING, min(rounding, _START * level))
    for _ in range(MOST_HALVINGS):
        size = at(h)
        if size <= nothing:
            return h
        if size <= _START * level and at(h / 2) <= max(_REDUCED * size, nothing):
            return h
        # An error c h, the slowest there is in most cases, needs this share of the step; a finite one four halvings at most.
        h *= min(0.5, max(1 / 16, 0.8 * _START * level / size)) if math.isfinite(size) else 0.5
    return None


def _root(at: Callable[[float], float], level: float, low: float, high: float, tolerance: float) -> float:
    a, b = math.log(low), math.log(high)
    # At a limit of the law the error may jump within the rounding of exp(log(h)): the ends are those that were compared.
    ends = {a: low, b: high}

    def above(logarithm: float) -> float:
        # Brent's method wants finite values; that an error is infinite beyond stability is all that counts there.
        return min(at(ends.get(logarithm, math.exp(logarithm))), 2 * level) - level

    # scipy.optimize takes a while to import, and the verdict's block imports this module before anything is judged.
    from scipy import optimize

    root = float(optimize.brentq(above, a, b, xtol=tolerance / 2))
    step = math.exp(root)
    return step if at(step) <= level else step * (1 - tolerance)


ERRORS = (0.01, 0.05, 0.10)
"""The errors for which the largest step is sought, in standard deviations of the target."""

_SERIES = 4
"""The most coordinates of a chain whose moments are expanded at h = 0 within milliseconds; else two small steps show the power."""

_LAW_IS_LOST = (InstabilityError, PrecisionLostError, Unreached)


@cached_per_subject
def how_large(subject: Subject, errors: tuple[float, ...] = ERRORS) -> HowLarge | None:
    """The errors of the subject's scheme at its own step size, on its own target and with its own gradient estimator.

    By a coupled run where the configuration asks for one. Else exact on Gaussian targets (the invariant law of an affine chain,
    minibatches included), from grids on a line and on products of lines, and by a Gaussian approximation at the mode, named as
    such with what it may be off by. `errors` are those for which the largest step is sought. None where no method applies: torch
    code, composites, a setting that changes along the run, an unstable step; thermostats but by a run.
    """
    if subject.black_box or subject.composite is not None or subject.changes_along_run is not None:
        return None
    if subject.configuration.schedule.kind != "fixed":
        return None
    if subject.configuration.how_large == "run":
        return by_run(subject)
    if not subject.scheme.dynamics.usual:
        return None
    doubtful = None
    for laws in laws_of(subject):
        try:
            found = _Finding(subject, laws, errors).found()
        except _LAW_IS_LOST:
            continue
        if found.distrust is None:
            return found
        doubtful = found
    return doubtful


def by_run(subject: Subject) -> HowLarge:
    """The same by the coupled run of `chains` chains over `steps` steps."""
    order = proved_power(subject)
    T = float(subject.configuration.temperature)
    told = HowLarge(subject.reference, subject.target.name, gradient_label(subject), subject.step, "run", T)
    try:
        found = coupled_bias(subject, order)
    except InstabilityError as error:
        return replace(told, distrust=str(error))
    quantity, place = worst_of(found.mean, found.sd)
    constants = found.mean_constant if quantity == "mean" else found.sd_constant
    return replace(
        told,
        mean_bias=_plain(found.mean),
        sd_bias=_plain(found.sd),
        mean_error=_plain(found.mean_error),
        sd_error=_plain(found.sd_error),
        configuration_temperature=_plain(T * (1 + found.sd) ** 2),
        momentum_temperature=None if found.momentum is None else _plain(found.momentum),
        independent_draw=found.autocorrelation,
        power=PowerOfStep(order, float(constants[place]), False),
    )


@dataclass(frozen=True, eq=False)
class _Finding:
    subject: Subject
    laws: ChainLaws
    errors: Sequence[float]

    def found(self) -> HowLarge:
        subject, step = self.subject, self.subject.step
        T = float(subject.configuration.temperature)
        answer = HowLarge(
            scheme=subject.reference,
            target=subject.target.name,
            gradient=gradient_label(subject),
            step=step,
            method=self.laws.method,
            temperature=T,
            distrust=self.laws.distrust(step),
        )
        try:
            moments = self.moments
            mean, sd = moments.biases(self.laws.target)
        except _LAW_IS_LOST:
            if answer.distrust is None:
                raise
            return answer
        answer = replace(
            answer,
            mean_bias=_plain(mean),
            sd_bias=_plain(sd),
            configuration_temperature=_plain(T * (1 + sd) ** 2),
            momentum_temperature=None if moments.momentum is None else _plain(moments.momentum),
        )
        if answer.distrust is not None:
            return answer
        errors = self.laws.uncertainty(subject.step)
        return replace(
            answer,
            without_noise=self._without_noise(*worst_of(mean, sd)),
            independent_draw=self._independent_draw,
            power=self._power(*worst_of(mean, sd)),
            levels=self.levels,
            monte_carlo=self._monte_carlo(),
            mean_error=() if errors is None else _plain(errors[0]),
            sd_error=() if errors is None else _plain(errors[1]),
        )

    @cached_property
    def moments(self) -> StationaryMoments:
        return self.laws.at(self.subject.step)

    def error(self, step: float) -> float:
        """The largest error at a step size; infinite where there is no law."""
        try:
            return self.laws.near(step).error(self.laws.target)
        except _LAW_IS_LOST:
            return math.inf

    @property
    def _independent_draw(self) -> float | None:
        try:
            return self.laws.independent_draw(self.subject.step)
        except _LAW_IS_LOST:
            return None

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        if not self.laws.quick:
            return tuple(Level(error, None) for error in self.errors)
        given = self.subject.step, self.laws.largest_step
        if isinstance(self.laws, ExactLaws):
            return smallest_crossings(self.error, self.errors, *given, FACTOR, 1e-4)
        # A law on a grid takes a tenth of a second.
        sought = self.errors[:1] if isinstance(self.laws, (GridLaws, LinesLaws)) else self.errors
        found = smallest_crossings(self.error, sought, *given, 2.0, 1e-2)
        return (*found, *(Level(error, None) for error in self.errors[len(found) :]))

    def _power(self, quantity: str, place: int) -> PowerOfStep | None:
        """The leading term of the error of one coordinate's mean or standard deviation."""
        if isinstance(self.laws, ExactLaws) and self.subject.model.size <= _SERIES:
            try:
                return self._expanded(self.laws, quantity, place)
            except NotExpandableError:
                return None
        smallest = min((level.step for level in self.levels if level.step), default=None)
        return None if smallest is None else self._by_halving(smallest / 4, quantity, place)

    def _expanded(self, laws: ExactLaws, quantity: str, place: int) -> PowerOfStep | None:
        """From the moments' coefficients: S_k/(2 S) for a standard deviation whose variance is S + S_k h^k + ..."""
        errors = laws.errors
        with flint.ctx.workprec(128):
            for order, error in enumerate(errors):
                entry = error.mean[place, 0] if quantity == "mean" else error.covariance[place, place]
                value = flint.arb(entry)
                if value.contains(0):
                    continue
                sd = float(laws.target.sd[place])
                constant = float(value.mid()) / (sd if quantity == "mean" else 2 * sd**2)
                return PowerOfStep(order, constant, True) if order else None
        return None

    def _by_halving(self, step: float, quantity: str, place: int) -> PowerOfStep | None:
        kind = 0 if quantity == "mean" else 1
        try:
            laws = (self.laws.at(h).biases(self.laws.target) for h in (step, step / 2))
            one, two = (float(found[kind][place]) for found in laws)
        except _LAW_IS_LOST:
            return None
        if one * two <= 0:
            return None
        order = round(math.log2(one / two))
        # 2 two/(h/2)^k - one/h^k leaves out the next power of h.
        return PowerOfStep(order, 2 * two / (step / 2) ** order - one / step**order, False)

    def _monte_carlo(self) -> MonteCarlo | None:
        if isinstance(self.laws, ExactLaws):
            return _of_exact_average(self.subject) or self._of_linear_chain()
        return self._of_grid(self.laws) if isinstance(self.laws, GridLaws) else self._of_linear_chain()

    def _without_noise(self, quantity: str, place: int) -> float | None:
        """The same error of the same chain with full gradients; None where the gradients are full, or it has no law."""
        if not self.subject.configuration.gradient.estimator.noisy:
            return None
        quiet = self._quiet_subject
        try:
            mean, sd = self.laws.beside(quiet).near(self.subject.step).biases(self.laws.target)
        except _LAW_IS_LOST:
            return None
        return float((mean if quantity == "mean" else sd)[place])

    def _of_grid(self, laws: GridLaws) -> MonteCarlo | None:
        if not laws.quick:
            return None
        step, observable = self.subject.step, self.subject.observable
        law = laws.law(step)
        values = np.asarray(observable(law.points[0][:, None]))
        weights = law.target + law.difference
        variance = float(weights @ (values - weights @ values) ** 2)
        time = laws.grids(str(observable)).forgetting(step)
        return _monte_carlo(str(observable), law.bias(observable), None, time * variance, variance)

    def _of_linear_chain(self) -> MonteCarlo | None:
        """For a test function of degree 2 at most, from the linear chain as if it were Gaussian."""
        chain, observable = self.moments.chain, self.subject.observable
        if chain is None or not 1 <= observable.degree <= 2 or observable.uses_momentum:
            return None
        n, dim = len(chain.map), self.subject.target.dim
        _, b, a = observable.quadratic_form()
        linear, form = np.zeros(n), np.zeros((n, n))
        linear[: len(b)], form[: len(b), : len(b)] = np.array(b, dtype=float), np.array(a, dtype=float)
        target, mean = self.laws.target, self.moments.mean
        shift = mean - target.mean
        # Off the diagonal the target's covariance is asked for too: such test functions are left to exact averages.
        theta = form[:dim, :dim]
        if np.count_nonzero(theta - np.diag(np.diag(theta))):
            return None
        widths = np.diag(theta) @ (self.moments.sd**2 - target.sd**2)
        bias = float((linear[:dim] + theta @ (mean + target.mean)) @ shift + widths)
        gradient = linear.copy()
        gradient[:dim] += 2 * theta @ mean
        s = chain.covariance
        variance = float(gradient @ s @ gradient + 2 * np.trace(form @ s @ form @ s))
        return _monte_carlo(str(observable), bias, None, chain.long_run_variance(gradient, form), variance)

    @cached_property
    def _quiet_subject(self) -> Subject:
        """The subject with full gradients, at the same step size."""
        subject = self.subject
        tables = subject.configuration.model_dump(exclude_unset=True)
        tables["gradient"] = {"kind": "full"}
        tables.setdefault("schedule", {})["step"] = subject.step
        quiet = Subject(subject.scheme, load_configuration(tables), subject.reference)
        vars(quiet)["target"] = subject.target
        return quiet


def _of_exact_average(subject: Subject) -> MonteCarlo | None:
    """The average of the test function over a chain whose law is exact; None where its variance is not computed."""
    try:
        answers = exact_answers(subject)
    except Unreached:
        return None
    if type(answers) is not QuadraticAnswers or not subject.observable.degree:
        return None
    problem = subject.model.problem_at(fixed_step(subject.step))
    bias = float(answers.stationary_bias(fixed_step(subject.step)).value)
    try:
        values = answers.expansion.values
    except NotExpandableError:
        power = None
    else:
        order = next((k for k, value in enumerate(values) if value), None)
        power = None if not order else PowerOfStep(order, values[order], True)
    if power is None and abs(bias) <= 1e-12:
        bias = 0.0
    variances = float(long_run_variance(problem).value), float(stationary_variance(problem).value)
    return _monte_carlo(str(subject.observable), bias, power, *variances)


def _monte_carlo(
    text: str, bias: float, power: PowerOfStep | None, long_run: float, variance: float
) -> MonteCarlo:
    steps = long_run / bias**2 if bias else None
    return MonteCarlo(text, bias, power, long_run, long_run / variance, steps)


def gradient_label(subject: Subject) -> str:
    """The gradient estimator in words, with its batch."""
    table = subject.configuration.gradient
    return table.estimator.label.format(batch=table.batch)


def _plain(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
