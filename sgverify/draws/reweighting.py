"""Self-normalised averages of weighted draws: sum_l w_l f_l / sum_l w_l of every chain, from the logs of the weights.

Weights are taken in units of the largest one, so that none overflows and the largest never vanishes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sgverify.errors import ConfigurationError


@dataclass(frozen=True)
class WeightedAverage:
    """An average over chains of weighted draws, its standard error from the spread between them, and effective sizes.

    `effective`: (sum w)^2 / sum w^2 of each chain, 0 for one without weight, shape (C,): how many equal weights say as much,
    were draws independent.
    """

    value: float
    standard_error: float
    effective: np.ndarray


def reweighted(values: np.ndarray, log_weights: np.ndarray) -> WeightedAverage:
    """sum w f / sum w over all draws of all chains. Shapes (C, L), (C, L).

    The error is that of a ratio of means over chains, by its influence function, so that correlation within a chain is
    included: sqrt(C/(C-1) sum_c (W_c (f_c - value))^2)/sum_c W_c with the sums of each chain. NaN for one chain.
    Raises `ConfigurationError` for shapes that do not match and for weights of which none is positive and finite.
    """
    values, logs = np.asarray(values, dtype=np.float64), np.asarray(log_weights, dtype=np.float64)
    if values.shape != logs.shape or values.ndim != 2:
        raise ConfigurationError(
            f"values: shape {values.shape}, log_weights: shape {logs.shape}; expected both of shape (chains, draws)"
        )
    top = logs.max() if logs.size else np.nan
    if not np.isfinite(top):
        raise ConfigurationError(f"log_weights: the largest is {top}; expected a finite one")
    weights = np.exp(logs - top)
    # Not times 0: the function may overflow where the weight is 0.
    sums = np.multiply(weights, values, out=np.zeros_like(weights), where=weights > 0).sum(1)
    totals, squares, count = weights.sum(1), (weights**2).sum(1), len(weights)
    value = float(sums.sum() / totals.sum())
    spread = np.nan
    if count > 1:
        spread = float(np.sqrt(count / (count - 1) * ((sums - value * totals) ** 2).sum()) / totals.sum())
    effective = np.divide(totals**2, squares, out=np.zeros_like(totals), where=squares > 0)
    return WeightedAverage(value, spread, effective)


def log_weights_between(energy: np.ndarray, *, drawn_at: float, wanted: float) -> np.ndarray:
    """log of exp(-U (1/T - 1/tau)): the weight under exp(-U/T) of draws under exp(-U/tau), up to a constant. Any shape."""
    for name, number in (("drawn_at", drawn_at), ("wanted", wanted)):
        if not (np.isfinite(number) and number > 0):
            raise ConfigurationError(f"{name}={number!r}: expected a positive, finite temperature")
    return -np.asarray(energy, dtype=np.float64) * (1 / wanted - 1 / drawn_at)
