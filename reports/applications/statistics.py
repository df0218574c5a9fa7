"""What is the mean over seeds, with its standard error?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
"""The confidence of a comparison: the two-sided level of Student's t."""


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


def sign_of(mean: Mean | None) -> int | None:
    """-1 or 1 where Student's t at the confidence level leaves no doubt of the sign of the mean, else 0; None without an error.

    >>> sign_of(Mean(1.0, 0.1, 5)), sign_of(Mean(0.1, 0.1, 5)), sign_of(Mean(1.0, None, 1))
    (1, 0, None)
    """
    if mean is None or mean.error is None:
        return None
    bound = float(stats.t.ppf((1 + CONFIDENCE) / 2, mean.count - 1)) * mean.error
    return 0 if abs(mean.value) <= bound else int(math.copysign(1, mean.value))
