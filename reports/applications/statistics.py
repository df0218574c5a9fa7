"""Means over seeds with their standard errors, and the p-values of Student's t."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Mean:
    """mean = 1/n sum x_c over n independent chains, and its standard error s/sqrt(n), s^2 with the divisor n - 1.

    `error` is None for one chain.
    """

    value: float
    error: float | None
    count: int

    def __str__(self) -> str:
        return f"{self.value:.4g}" + ("" if self.error is None else f" ± {self.error:.2g}")


def mean_of(values: Sequence[float] | np.ndarray) -> Mean | None:
    """The mean of finite values; None if there is no value, or if one is NaN or infinite.

    Chains that diverged are so never left out of an average silently.

    >>> str(mean_of([1.0, 2.0, 3.0]))
    '2 ± 0.58'
    >>> mean_of([1.0, float("nan")]) is None
    True
    """
    held = np.asarray(values, dtype=np.float64)
    if not len(held) or not np.isfinite(held).all():
        return None
    error = float(held.std(ddof=1) / math.sqrt(len(held))) if len(held) > 1 else None
    return Mean(float(held.mean()), error, len(held))


def difference(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray) -> Mean | None:
    """The mean of first - second, seed by seed: the chains of one seed share their data and their draws."""
    return mean_of(np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64))


def joint_error(first: Mean, second: Mean) -> float | None:
    """The standard error of the difference of two means whose chains are independent; None without errors.

    >>> joint_error(Mean(1.0, 3.0, 5), Mean(2.0, 4.0, 5))
    5.0
    """
    if first.error is None or second.error is None:
        return None
    return math.hypot(first.error, second.error)


def student(mean: Mean, margin: float = 0.0) -> float:
    """The two-sided p-value of Student's t that the mean lies beyond -margin, ..., margin; 1 where its estimate does not.

    The mean has a standard error; without one there is no p-value, and `ValueError` is raised.

    >>> student(Mean(2.777, 1.0, 5)) < 0.05 < student(Mean(2.776, 1.0, 5))
    True
    >>> student(Mean(2.0, 0.1, 5), margin=3.0)
    1.0
    """
    if not mean.error:
        raise ValueError(f"{mean}: expected a standard error; give two chains that differ")
    beyond = max(0.0, abs(mean.value) - margin) / mean.error
    return float(2 * stats.t.sf(beyond, mean.count - 1))
