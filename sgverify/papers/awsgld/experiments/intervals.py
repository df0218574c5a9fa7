"""Exact intervals from few independent trials, whatever the law: of a median, and of a chance."""

from __future__ import annotations

import numpy as np
from scipy import stats

LEVEL = 0.95


def median_interval(values: np.ndarray, least: float, most: float) -> tuple[float, float]:
    """Order statistics X_(k) and X_(n + 1 - k) between which the median lies with a chance of at least 0.95, whatever the law.

    The median is below X_(k) with the chance P(Binomial(n, 1/2) < k) at most, and k is the largest with at most 0.025 of it;
    without such a k the interval is all that a value can be, `least` to `most`. `values`, shape (n,), may be infinite.
    """
    ordered, n = np.sort(values), len(values)
    k = int(stats.binom.ppf((1 - LEVEL) / 2, n, 0.5))
    return (float(ordered[k - 1]), float(ordered[n - k])) if k else (least, most)


def chance_interval(count: int, trials: int) -> tuple[float, float]:
    """The Clopper-Pearson interval of a chance p of which `count` successes in independent `trials` are known.

    Every p outside has P(Binomial(trials, p) <= count) < 0.025 or P(Binomial(trials, p) >= count) < 0.025; it contains p with a
    chance of at least 0.95, whatever p is.
    """
    tail = (1 - LEVEL) / 2
    low = float(stats.beta.ppf(tail, count, trials - count + 1)) if count else 0.0
    high = float(stats.beta.ppf(1 - tail, count + 1, trials - count)) if count < trials else 1.0
    return low, high
