"""How many steps does a chain need until its bias plus its Monte Carlo error is within a given error, and at which step size?

Over L steps the average of theta_i has the variance v_i/L with the long-run variance v_i, and the standard deviation that is
estimated from them has w_i/(4 s_i^2 L), w_i the long-run variance of theta_i^2 about the mean and s_i the standard deviation. With
the biases b the error is within e after L = max v/(e - |b|)^2 steps, all in units of the target's standard deviations. Small steps
have a small bias and large v: for a bias c h the best step is a third of the largest one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sgverify.advice.chain_laws import StationaryMoments
from sgverify.advice.size.crossings import smallest_crossings
from sgverify.advice.size.model import below
from sgverify.errors import InstabilityError, NotAffineError, OutOfReachError
from sgverify.exact.numbers.ball import PrecisionLostError

LOST = (InstabilityError, PrecisionLostError, NotAffineError, OutOfReachError, np.linalg.LinAlgError)

FORGOTTEN = 0.1
"""The start is forgotten where its share of the error is below this one."""

BURNT = 0.1
"""Burn-in takes at most this share of the steps of a run of many chains."""

MOST_CHAINS, FEWEST_CHAINS = 100, 2

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

    `start`: standard deviations between the target's mean and where chains start. Raises `OutOfReachError` where autocorrelations
    are not known.
    """
    chain = moments.chain
    if chain is None:
        raise OutOfReachError("the autocorrelations of the chain are not known")
    mean, sd = (moments.mean - target.mean) / target.sd, moments.sd / target.sd - 1
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
            moments = at(step)
        except LOST:
            return math.inf
        off = np.concatenate([(moments.mean - target.mean) / target.sd, moments.sd / target.sd - 1])
        return float(np.abs(off).max()) if np.isfinite(off).all() else math.inf

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
