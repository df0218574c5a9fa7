"""What is the exact law of the average over L steps? Affine chains have a closed form, others transfer operators on grids."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Any

import flint
import numpy as np

from sgverify.checks.rates.engines import exact_answers
from sgverify.draws.sampling import row_of_length as row_of
from sgverify.errors import Unreached
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import ExactAnswers
from sgverify.exact.numbers.ball import Certified, PrecisionLostError
from sgverify.samplers.run.schedules import CYCLES
from sgverify.subject.subject import Subject
from sgverify.targets import Target
from sgverify.targets.derived import with_scaled_likelihood
from tests.self_checks.exact_steps import averaged, step_of
from tests.self_checks.line_transient import LineTransient, Transient
from tests.self_checks.plane_transient import PlaneTransient

LONGEST = 2000
"""The largest number of steps of an affine chain. No check runs the code for longer: a defect that appears later, such as
an error between two later blocks, is not found."""

LONGEST_ON_LINE, LONGEST_IN_PLANE = 1000, 200
"""The largest number of steps on grids, where functions are propagated backward step by step."""

LOST = 0.1
"""The relative error beyond which an exact variance is too imprecise for a comparison with chains."""

LARGEST = 10
"""The largest number of coordinates for which the exact variance of the average is computed."""

MOST_ESTIMATES = 64
"""The largest number of different minibatches over which a transfer operator is averaged."""

ESCAPING = 1e-6
"""The largest probability of leaving every grid within L steps; beyond it the chain counts as escaping and has no law here."""

VAGUE = 1e-3
"""The largest error of the grids' answers, in standard deviations of the average; beyond it they are not used."""


@dataclass(frozen=True)
class AverageLaw:
    """The law of the average A = (1/L) sum phi(X_l): `mean` is E A - `origin`, known to within `error_bound`.

    `variance` is the variance of A with a bound of its error, or None. `kurtosis` is the excess kurtosis and
    `largest_kurtosis` a bound of it, each None if unknown. `polynomial` is the degree of A as a polynomial in independent
    normal numbers, if it is one. `escaping` is the probability that a chain escapes within L steps.
    """

    step: float
    length: int
    mean: float
    error_bound: float
    variance: tuple[float, float] | None
    origin: float
    kurtosis: float | None = None
    largest_kurtosis: float | None = None
    polynomial: int | None = None
    escaping: float = 0.0
    certificate: Mapping[str, Any] = field(default_factory=dict)


def law_of_average(subject: Subject) -> AverageLaw:
    """The law of the average at the subject's step size, over its configured steps, or fewer if these cost too much.

    Raises `Unreached` with a sentence for the reader, `InstabilityError` for a step that does not contract, and
    `MomentsDivergeError` if the average has no variance.
    """
    if subject.affine:
        return _affine(subject)
    if subject.configuration.schedule.kind == "cyclical":
        raise Unreached(
            f"no exact law of an average over cycles of steps: {subject.why_not_affine}, and the grids take fixed steps"
        )
    reached = _transient(subject)
    spread = math.sqrt(max(reached.variance, 0.0))
    if reached.left > ESCAPING:
        raise Unreached(
            f"escape: at h={subject.step:.3g} a chain leaves the support of the target with probability {reached.left:.2g} within "
            f"{_length(subject)} steps, and its average has no law to compare; take a smaller step"
        )
    if not reached.mean_error <= VAGUE * spread:
        raise Unreached(
            f"the grids know the mean of the average to {reached.mean_error:.2g} only, and its standard deviation is {spread:.2g}"
        )
    if reached.variance_error >= LOST * reached.variance:
        raise Unreached(
            f"the grids know the variance of the average to {reached.variance_error:.2g} only, and it is {reached.variance:.2g}"
        )
    if reached.kurtosis_error >= LOST * (3 + abs(reached.kurtosis)):
        raise Unreached(
            f"the grids know the excess kurtosis of the average to {reached.kurtosis_error:.2g} only, and it is "
            f"{reached.kurtosis:.2g}: how the variance of samples spreads is not known"
        )
    certificate = {
        "law": "of the average from the start on, by transfer operators on grids that are refined and widened",
        "errors_are": "estimates: changes under refinement and widening, and rounding",
        "mean": reached.mean,
        "mean_error": reached.mean_error,
        "variance": reached.variance,
        "variance_error": reached.variance_error,
        "excess_kurtosis": reached.kurtosis,
        "leaves_the_grid": reached.left,
        "grid": dict(reached.facts),
    }
    return AverageLaw(
        step=subject.step,
        length=_length(subject),
        mean=0.0,
        error_bound=reached.mean_error,
        variance=(reached.variance, reached.variance_error),
        origin=reached.mean,
        kurtosis=reached.kurtosis,
        largest_kurtosis=reached.kurtosis + reached.kurtosis_error,
        escaping=reached.left,
        certificate={"transient": certificate},
    )


def _affine(subject: Subject) -> AverageLaw:
    answers = exact_answers(subject)
    step, length = subject.step, min(subject.configuration.steps, LONGEST)
    if subject.configuration.schedule.kind == "cyclical":
        return _affine_law(subject, subject.scale, length, *_over_cycles(subject, answers, length))
    subject.check_stable([step], "schedule.step")
    bias, variance = answers.bias(fixed_step(step), length), None
    if subject.model.size <= LARGEST and not answers.why_not("mean square error"):
        try:
            variance = _variance(bias, answers.mean_square_error(fixed_step(step), length))
        except PrecisionLostError:
            raise Unreached(
                "the exact variance of the average is lost in rounding, whatever precision was tried"
            ) from None
        if variance[1] >= LOST * variance[0]:
            raise Unreached(
                f"the exact variance of the average is lost: {variance[0]:.3g} +- {variance[1]:.1g}, because the chain hardly "
                f"moves in {length} steps"
            )
    return _affine_law(subject, step, length, bias, variance)


def _affine_law(
    subject: Subject, step: float, length: int, bias: Certified, variance: tuple[float, float] | None
) -> AverageLaw:
    degree = subject.observable.degree if is_normal(subject) else None
    return AverageLaw(
        step,
        length,
        bias.value,
        bias.error_bound,
        variance,
        float(subject.truth),
        largest_kurtosis=None if degree is None else largest_kurtosis(degree),
        polynomial=degree,
        certificate=cycles_of(subject, length),
    )


def _over_cycles(
    subject: Subject, answers: ExactAnswers, length: int
) -> tuple[Certified, tuple[float, float]]:
    """sum h_l phi(X_l) / sum h_l over the sampling stages, by the engine of steps that change."""
    why = answers.why_not("weighted average")
    if why:
        raise Unreached(f"no exact law of an average over cycles of steps: {why}")
    subject.check_stable([subject.scale], "schedule.scale")
    steps, weights = steps_over_cycles(subject, length)
    bias = answers.weighted_bias(steps, weights)
    variance = _variance(bias, answers.weighted_mean_square_error(steps, weights))
    if variance[1] >= LOST * variance[0]:
        raise Unreached(f"the exact variance of the average is lost: {variance[0]:.3g} +- {variance[1]:.1g}")
    return bias, variance


def is_normal(subject: Subject) -> bool:
    """Is the state of this affine chain normal, that is, are there no minibatches, and is every draw normal?"""
    if subject.configuration.gradient.estimator.draws_data:
        return False
    with flint.ctx.workprec(64):
        return all(law.normal for law, _ in subject.model.parts(fixed_step(subject.step)()).draws)


def largest_kurtosis(degree: int) -> float:
    """The largest excess kurtosis of a polynomial of this degree in independent normal numbers.

    0 and 12 for degrees 1 and 2: with X = sum a_i (z_i^2 - 1) + b_i z_i the fourth cumulant is 48 sum a_i^2 (a_i^2 + b_i^2),
    at most 12 (sum 2 a_i^2 + b_i^2)^2. Above, E X^4 <= 9^d (E X^2)^2 (Nelson's
    hypercontractivity; O'Donnell 2014, section 11.1), a bound.
    """
    return (0.0, 0.0, 12.0)[degree] if degree <= 2 else 9.0**degree - 3


def _variance(bias: Certified, square: Certified) -> tuple[float, float]:
    """The variance E (phi_hat - phi_bar)^2 - b^2 with a bound of its error.

    Computed in ball arithmetic: if the chain hardly moves, the two terms cancel almost completely.
    """
    with flint.ctx.workprec(max(bias.bits, square.bits)):
        difference = square.ball - bias.ball**2
    value, radius = float(difference.mid()), float(difference.rad())
    return value, radius + abs(value) * float(np.finfo(np.float64).eps)


def _length(subject: Subject) -> int:
    on_line = subject.scheme.state == ("theta",)
    return min(subject.configuration.steps, LONGEST_ON_LINE if on_line else LONGEST_IN_PLANE)


def _transient(subject: Subject) -> Transient:
    """The answers about mean and variance of a chain from the sampler's own start."""
    c, target = subject.configuration, subject.target
    state = subject.scheme.state
    if state not in (("theta",), ("theta", "p")):
        raise Unreached(
            f"no exact law: {subject.why_not_affine}; and no grid holds the state ({', '.join(state)})"
        )
    why = _unreached(subject)
    if why:
        raise Unreached(f"no exact law: {subject.why_not_affine}; and no transfer operator on a grid: {why}")
    try:
        start = float(
            (target.location_float64(c.temperature) + c.start_of() * target.spread_float64(c.temperature))[0]
        )
        given = (subject.scheme, subject.effective_target, subject.observable, subject.model_parameters)
        if state == ("theta",):
            return LineTransient(*given, estimates_of(subject)).average(subject.step, _length(subject), start)
        return PlaneTransient(*given).average(
            subject.step,
            _length(subject),
            start,
            stationary_momentum=c.start_momentum == "stationary",
        )
    except Unreached as error:
        raise Unreached(
            f"no exact law: {subject.why_not_affine}; and no transfer operator on a grid: {error}"
        ) from None


def _unreached(subject: Subject) -> str | None:
    gradient = subject.configuration.gradient
    if subject.target.dim != 1:
        return f"the grids are those of one dimension, and the target has dim={subject.target.dim}"
    if gradient.clip is not None:
        return f"gradient.clip={gradient.clip!r}: a clipped gradient is not smooth"
    if not gradient.estimator.noisy:
        return None
    if not gradient.estimator.fresh or subject.scheme.state != ("theta",):
        return f"gradient.kind={gradient.kind!r}: the grids of the state ({', '.join(subject.scheme.state)}) do not take it"
    count = _count(gradient.estimator.replaced, subject.target, gradient.batch)
    if count > MOST_ESTIMATES:
        return f"gradient.batch={gradient.batch}: there are {count} different minibatches, above {MOST_ESTIMATES}"
    return None


def _count(replaced: bool, target: Target, batch: int) -> int:
    assert target.size is not None
    return math.comb(target.size + batch - 1, batch) if replaced else math.comb(target.size, batch)


def estimates_of(subject: Subject) -> list[tuple[Fraction, Target]]:
    """For each minibatch its probability and the target whose full gradient is the estimate; empty for full gradients."""
    gradient, target = subject.configuration.gradient, subject.effective_target
    if not gradient.estimator.noisy:
        return []
    data = target.data
    assert data is not None
    return [
        (
            share,
            with_scaled_likelihood(
                replace(target, data=data[np.array(chosen)]), Fraction(len(data), gradient.batch)
            ),
        )
        for chosen, share in _minibatches(gradient.estimator.replaced, len(data), gradient.batch)
    ]


def _minibatches(replaced: bool, size: int, batch: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    if not replaced:
        for chosen in combinations(range(size), batch):
            yield chosen, Fraction(1, math.comb(size, batch))
        return
    for chosen in combinations_with_replacement(range(size), batch):
        ways = math.factorial(batch)
        for count in Counter(chosen).values():
            ways //= math.factorial(count)
        yield chosen, Fraction(ways, size**batch)


def steps_over_cycles(subject: Subject, length: int) -> tuple[np.ndarray, np.ndarray]:
    """h_l and the weights of the average: h_l in the sampling stages, 0 elsewhere. Independent of the sampler's code."""
    schedule, item = subject.configuration.schedule, row_of(subject, length).schedule
    period = -(-length // (schedule.cycles or CYCLES))
    numbers = range(1, length + 1)
    steps = np.array([float(step_of(item, l, period)[0]) for l in numbers])
    return steps, steps * np.array([averaged(l, period, schedule.threshold or 0.0) for l in numbers])


def cycles_of(subject: Subject, length: int) -> dict[str, Any]:
    """The certificate's entry on cyclical steps, whose cycles depend on the length; empty for other schedules."""
    if subject.configuration.schedule.kind != "cyclical":
        return {}
    return {"schedule": str(row_of(subject, length).schedule)}
