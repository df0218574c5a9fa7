"""Bounds of the chance of a sampled mean or variance that hold for every law with the moments that are given.

A p-value of normal theory is no bound at 1e-7: a sample that misses the rare events of a law with heavy tails has too small
a variance, and too small a kurtosis with it. These need exact moments, hold at every number of values, and see less.
"""

from __future__ import annotations

import math

import numpy as np

from sgverify.rates.sample import Floats

GROUPS = (32, 64)
"""Into how many groups values are split."""

SIZES = (1.0, 1.5, 2.5)
"""Deviations of a group's mean that are counted, in its standard deviations."""

RATIOS = (1.5, 2.0, 3.0)
"""Ratios of a group's second moment to the expected one that are counted."""


def mean_tail(standard: Floats, *, bound: float = 0.0, quadratic: bool = False) -> float:
    """A bound of the chance of a mean of independent values (n,), of mean 0 +- `bound` and variance at most 1, so far from 0.

    k groups of m values: the mean of one exceeds t with probability q <= (1/m) / (1/m + t^2) on each side (Cantelli), so
    that the count of those that do is at most binomial(k, q). The smallest of the counts at fixed t and k, times how many
    there are. `quadratic`: the values are polynomials of degree 2 in normal ones at most, for which P(mean >= t) <=
    exp(-n t^2 / (2 + 2 sqrt(2) t)) as well (Laurent and Massart 2000, Lemma 1, with the largest weight at most 1/sqrt 2).
    """

    def chance(size: float, m: int) -> float:
        return 1 / (1 + m * size * size)

    tails = []
    for m, k, means in _groups(standard):
        for size in SIZES:
            t = size / math.sqrt(m)
            tails += [_counted(int(np.sum(side * means - bound >= t)), k, chance(t, m)) for side in (1, -1)]
    if quadratic:
        t = max(0.0, abs(float(standard.mean())) - bound)
        tails += [math.exp(-len(standard) * t * t / (2 + 2 * math.sqrt(2) * t))] * 2
    return min(1.0, len(tails) * min(tails)) if tails else 1.0


def variance_tail(above: Floats, below: Floats, fourth: float | None) -> float:
    """A bound of the chance of squares (n,) of standardised values so far from 1 on average.

    `above` have mean at most 1, `below` at least 1 (they differ by what is not known of mean and variance); `fourth` bounds
    E w^2, the kurtosis, of both; None where no bound is known. Upwards, groups whose mean exceeds t are counted, of probability at
    most 1/t (Markov), and v / (v + (t-1)^2) with v = (fourth - 1)/m (Cantelli). Downwards, E exp(-a w) <= 1 - (1 -
    exp(-a f))/f for w >= 0 with E w = 1 and E w^2 = f, so that P(mean <= s) <= exp(-n KL(s/f, 1/f)): nothing is known where
    the kurtosis is not, as rare events that a sample misses may hold any part of a variance.
    """

    def chance(t: float, m: int) -> float:
        spread = math.inf if fourth is None else max(0.0, fourth - 1) / m
        return min(1 / t, 1.0 if math.isinf(spread) else spread / (spread + (t - 1) ** 2))

    tails = [
        _counted(int(np.sum(means >= t)), k, chance(t, m)) for m, k, means in _groups(above) for t in RATIOS
    ]
    tail = min(1.0, 2 * len(tails) * min(tails)) if tails else 1.0
    if fourth is None:
        return tail
    return min(1.0, tail, 2 * _too_little(below, max(1.0, fourth)))


def _too_little(squares: Floats, fourth: float) -> float:
    from scipy.special import xlogy

    s, q = float(squares.mean()) / fourth, 1 / fourth
    if s >= q:
        return 1.0
    divergence = float(xlogy(s, s / q)) + (float(xlogy(1 - s, (1 - s) / (1 - q))) if q < 1 else math.inf)
    return math.exp(-len(squares) * divergence)


def _groups(values: Floats) -> list[tuple[int, int, Floats]]:
    """(m, k, means of k groups of m values); what is left over is in none."""
    split = []
    for k in GROUPS:
        m = len(values) // k
        if m:
            split.append((m, k, values[: k * m].reshape(k, m).mean(axis=1)))
    return split


def _counted(count: int, groups: int, chance: float) -> float:
    """P(N >= count) for binomial N."""
    from scipy.special import bdtrc

    return 1.0 if count == 0 else float(bdtrc(count - 1, groups, chance))
