"""The schemes, frictions and gradient estimators that are compared where none are named.

How many steps does a chain need until its bias plus its Monte Carlo error is within a given error, and at which step size?

Over L steps the average of theta_i has the variance v_i/L with the long-run variance v_i, and the standard deviation that is
estimated from them has w_i/(4 s_i^2 L), w_i the long-run variance of theta_i^2 about the mean and s_i the standard deviation. With
the biases b the error is within e after L = max v/(e - |b|)^2 steps, all in units of the target's standard deviations. Small steps
have a small bias and large v: for a bias c h the best step is a third of the largest one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sgverify.advice.chain_laws import StationaryMoments
from sgverify.advice.closure.gradient_calls import step_in_gradients
from sgverify.advice.plans.model import FEWEST_CHAINS, FORGOTTEN, PRODUCT, TRIED
from sgverify.advice.size.finding import smallest_crossings
from sgverify.advice.size.model import below
from sgverify.configuration import Configuration, load_configuration
from sgverify.errors import InstabilityError, SgverifyError, Unreached
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.gradients import CONTROL_VARIATE, FULL, IID, SVRG
from sgverify.samplers.run.recording import DrawRecording
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Fixed, Row
from sgverify.samplers.run.settings import Settings
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

SCHEMES = ("sgld-euler", "sghmc-euler", "sghmc-aboba", "sghmc-baoab", "sghmc-ubu")
"""Overdamped Euler, and of the schemes with a momentum Euler and the usual splittings."""

COMPARED = (FULL, IID, CONTROL_VARIATE, SVRG)

BATCHES: tuple[int, ...] = (8, 32, 128, 512)
CONTROLLED: tuple[int, ...] = (8, 32, 128)
"""Batches of plain minibatches, and of those with control variates, below the number of data."""


def estimators(configuration: Configuration, size: int | None) -> list[tuple[str, int | None]]:
    """The gradient estimators that are compared, (kind, batch): the configured ones, else a small grid."""
    given = configuration.gradient
    chosen = [given.estimator] if size is None or "kind" in given.model_fields_set else COMPARED
    found: list[tuple[str, int | None]] = []
    for estimator in chosen:
        if not estimator.draws_data or size is None:
            found.append((estimator.name, None))
            continue
        batches = BATCHES if estimator.plain else CONTROLLED
        if "batch" in given.model_fields_set:
            batches = (int(given.batch),)
        # The batches of an epoch divide the data.
        found += [
            (estimator.name, n) for n in batches if n < size and not (estimator.exchangeable and size % n)
        ]
    return found


def frictions(configuration: Configuration, precision: np.ndarray) -> list[float]:
    """The frictions that are compared: the configured one, else those that damp the slowest, a middle and the fastest direction.

    A direction of precision r forgets fastest at D = 2 sqrt(r), where it is critically damped. Shape (d, d).
    """
    if "friction" in configuration.model_fields_set:
        return [float(configuration.friction)]
    rates = np.linalg.eigvalsh(precision)
    low, high = float(rates[0]), float(rates[-1])
    wanted = [2 * math.sqrt(r) for r in (low, math.sqrt(low * high), high)]
    return sorted({float(f"{value:.2g}") for value in wanted})


def subjects(
    subject: Subject, kind: str, batch: int | None, damping: Sequence[float]
) -> Iterator[tuple[float | None, Subject]]:
    """The subject under one gradient estimator, at each of the frictions; once without a momentum."""
    kinetic = "p" in subject.scheme.dynamics.state
    for friction in damping if kinetic else (None,):
        tables = subject.configuration.model_dump(exclude_unset=True)
        given = {
            key: value for key, value in tables.get("gradient", {}).items() if key not in ("kind", "batch")
        }
        tables["gradient"] = {**given, "kind": kind, **({} if batch is None else {"batch": batch})}
        if friction is not None:
            tables["friction"] = friction
        other = Subject(subject.scheme, load_configuration(tables), subject.reference)
        vars(other)["target"] = subject.target
        yield friction, other


def gradients_per_step(subject: Subject) -> float:
    """Gradients of single data that one step takes; those of U where the target has no data.

    A Hessian-vector product counts as `PRODUCT`, and a gradient at the end of a step that the next one begins with counts once.
    """
    table, census, size = subject.configuration.gradient, subject.scheme.census, subject.target.size
    calls = census.gradients + PRODUCT * census.hessians - reuses_gradient(subject)
    if size is None:
        return calls
    estimator = table.estimator
    if not estimator.draws_data:
        return calls * size
    # Of what a minibatch subtracts the gradients are evaluated too.
    per_call = table.batch if estimator.plain else 2 * table.batch
    interval = getattr(estimator, "interval", None)
    return calls * per_call + (0.0 if interval is None else size / interval(size, table))


@cached_per_subject
def reuses_gradient(subject: Subject) -> bool:
    """Is the last gradient of a step, without noise, that with which the next step begins?"""
    if subject.configuration.gradient.estimator.noisy or subject.scheme.census.gradients < 2:
        return False
    try:
        read = step_in_gradients(subject, 1.0)
    except (SgverifyError, KeyError, ValueError):
        # A step that is not affine in what it asks for: nothing is credited.
        return False
    first, last = read.calls[0], read.calls[-1]
    begin = np.eye(1, read.state.shape[1])[0]
    plain = first.vector is None and last.vector is None
    return plain and np.array_equal(first.place, begin) and np.array_equal(last.place, read.state[0])


WARM = 20
"""The first steps of those that are run which are not timed."""


def first_steps(subject: Subject, steps: int) -> tuple[str | None, float]:
    """Run the first of so many steps: the divergence that ends them, or None, and the seconds that a step takes here."""
    settings = Settings.of(subject.configuration)
    tried = min(TRIED, steps)
    row = Row(Fixed(subject.step), (tried,))
    run = DrawRecording(
        Ensemble(subject.scheme, subject.target, [row], replace(settings, burn_in=0, thinning=1)),
        energy=False,
    )
    warm = min(WARM, tried // 2)
    with np.errstate(all="ignore"):
        run.advance(until=warm)
        begun = time.perf_counter()
        run.advance()
    taken = (time.perf_counter() - begun) / max(1, tried - warm)
    return (str(run.diverged[0]) if run.diverged else None), taken


LOST = (InstabilityError, PrecisionLostError, Unreached, np.linalg.LinAlgError)

BURNT = 0.1
"""Burn-in takes at most this share of the steps of a run of many chains."""

MOST_CHAINS = 100

_SHARES = tuple(0.9 * 2 ** (-k / 3) for k in range(28))
"""Shares of the largest step that are tried; the search ends where the cost has doubled."""


@dataclass(frozen=True)
class StepCost:
    """The steps that a chain needs at one step size: for the error, and to forget its start; with its biases.

    `variance` is the largest long-run variance of a mean or a standard deviation, in units of the target's variance: after L steps
    the Monte Carlo error is (variance/L)^(1/2).
    """

    step: float
    mean_bias: np.ndarray
    sd_bias: np.ndarray
    variance: float
    steps: float
    burn_in: float

    @property
    def bias(self) -> float:
        """The largest bias."""
        return float(max(np.abs(self.mean_bias).max(), np.abs(self.sd_bias).max()))

    @property
    def total(self) -> float:
        """All steps, with the burn-in of the fewest chains."""
        return self.steps + FEWEST_CHAINS * self.burn_in


def cost_at(
    step: float,
    moments: StationaryMoments,
    target: StationaryMoments,
    error: float,
    start: float,
) -> StepCost:
    """The cost at a step size; infinite where the bias is beyond the error.

    `start`: standard deviations between the target's mean and where chains start. Raises `Unreached` where autocorrelations
    are not known.
    """
    chain = moments.chain
    if chain is None:
        raise Unreached("the autocorrelations of the chain are not known")
    mean, sd = moments.biases(target)
    variances = np.concatenate(
        [chain.mean_variance / target.sd**2, chain.square_variance / (2 * moments.sd * target.sd) ** 2]
    )
    left = error - np.abs(np.concatenate([mean, sd]))
    steps = math.inf if not (left > 0).all() else float((variances / left**2).max())
    away = max(1.0, abs(start))
    burn_in = chain.forgetting * math.log(away / (FORGOTTEN * error))
    return StepCost(step, mean, sd, float(variances.max()), steps, burn_in)


def largest_step(
    at: Callable[[float], StationaryMoments],
    target: StationaryMoments,
    error: float,
    first: float,
    limit: float,
    rounding: float,
) -> float | None:
    """The largest step below which no bias is beyond the error; None where none is found.

    `rounding`: as in `smallest_crossings`.
    """

    def size(step: float) -> float:
        try:
            return at(step).error(target)
        except LOST:
            return math.inf

    (level,) = smallest_crossings(size, (error,), first, limit, factor=1.6, tolerance=1e-2, rounding=rounding)
    return level.step


def costs_below(cost: Callable[[float], StepCost], largest: float) -> list[StepCost]:
    """The costs of steps below the largest one, to two figures, on both sides of the cheapest; none where none is computed."""
    best: StepCost | None = None
    tried: list[StepCost] = []
    for share in _SHARES:
        try:
            found = cost(below(share * largest))
        except LOST:
            continue
        if math.isfinite(found.total):
            tried.append(found)
        if math.isfinite(found.total) and (best is None or found.total < best.total):
            best = found
        elif best is not None and found.total > 2 * best.total:
            break
    return tried


def chains_for(steps: float, burn_in: float) -> int:
    """As many chains as keep the burn-in of all within its share of the steps."""
    return int(min(MOST_CHAINS, max(FEWEST_CHAINS, steps * BURNT / max(1.0, burn_in))))


def run_length(cost: StepCost) -> int:
    """The steps of each chain, with those that are dropped."""
    steps, burn_in = math.ceil(cost.steps), math.ceil(cost.burn_in)
    return burn_in - (-steps // chains_for(steps, burn_in))
