"""The exponent that points show, with its interval: a description, never a verdict."""

from __future__ import annotations

import math

import numpy as np

from sgverify.rates.sample import Floats, Sample
from sgverify.rates.share import Ratio, fieller

TAIL = 0.025
"""On each side of the interval: 95 % in all."""

STOPPED = 1.25
"""How many times more often an interval misses at the end of several looks: a sample that stops growing for its values may
stop where the interval misses on one side and be looked at again where it misses on the other. Then the misses of a last
look on both sides come on top of those of an early one on one side, 1.5 times as many; where the stop has nothing to do with
the pair, it is 1. Divided by the middle of the two, the level leads to a coverage from 94 to 96 %."""


def describe(
    abscissae: Floats, sample: Sample, looks: int = 1
) -> tuple[float | None, float | None, float | None]:
    """The slope of log|b| between the first point and the one nearest half or twice its abscissa, and its interval.

    log(b_0 / b_i) / log(x_0 / x_i), the interval from Fieller's set for the ratio of the two signed values: it needs
    no model, so it covers as often as it says whatever b is; after the last of several `looks` the level is divided by
    `STOPPED`. None where the values' signs differ, or no bound is known.
    """
    from scipy.special import ndtri, stdtrit

    distance = np.abs(np.abs(np.log2(abscissae[1:] / abscissae[0])) - 1)
    i = 1 + int(np.argmin(distance))
    pair = sample.take([0, i])
    (top, bottom), covariance = pair.values.tolist(), pair.covariance.tolist()
    tail = TAIL if looks == 1 else TAIL / STOPPED
    width = -float(ndtri(tail) if sample.chains is None else stdtrit(sample.chains - 1, tail))
    ratio = fieller(top, bottom, covariance[0][0], covariance[0][1], covariance[1][1], width)
    base = math.log(abscissae[0] / abscissae[i])
    bounds = [_slope(bound, base) for bound in _positive(ratio)]
    if base < 0:
        bounds.reverse()
    return _slope(ratio.estimate, base), bounds[0], bounds[1]


def _positive(ratio: Ratio) -> tuple[float, float]:
    """The smallest interval of positive numbers that holds the positive part of the set."""
    pieces = [(max(low, 0.0), high) for low, high in ratio.pieces if high > 0]
    return (pieces[0][0], pieces[-1][1]) if pieces else (0.0, math.inf)


def _slope(ratio: float | None, base: float) -> float | None:
    if ratio is None or not 0 < ratio < math.inf:
        return None
    return math.log(ratio) / base
