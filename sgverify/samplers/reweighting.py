"""Self-normalised averages of weighted draws: sum_l w_l f_l / sum_l w_l of every chain, from the logs of the weights.

Sums are kept in units of the largest weight so far, so that no weight overflows and the largest one never vanishes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError


class WeightedSums:
    """sum w f, sum w and sum w^2 of every chain, over exp(`top`). Shapes (F, S, C), (S, C), (S, C), (S, C)."""

    def __init__(self, functions: int, rows: int, chains: int, device: torch.device) -> None:
        self.sums = torch.zeros((functions, rows, chains), dtype=torch.float64, device=device)
        self.total, self.squares = torch.zeros_like(self.sums[0]), torch.zeros_like(self.sums[0])
        self.top = torch.full_like(self.total, -torch.inf)

    def add(self, log_weight: Tensor, values: list[Tensor]) -> None:
        """One draw of every chain. Shape (S, C), and (S, C) for each function, float64."""
        top = torch.maximum(self.top, log_weight)
        # A weight of 0, log -inf, before any other one: nothing to scale.
        fall = torch.where(top == -torch.inf, 0.0, torch.exp(self.top - top))
        weight = torch.where(log_weight == -torch.inf, 0.0, torch.exp(log_weight - top))
        self.top = top
        self.total = self.total * fall + weight
        self.squares = self.squares * (fall * fall) + weight * weight
        for sums, value in zip(self.sums, values, strict=True):
            # Not times 0: the function may overflow where the weight is 0.
            sums.mul_(fall).add_(torch.where(weight == 0, 0.0, weight * value))

    def keep(self, places: list[int]) -> None:
        """Go on with the rows at these places."""
        self.sums, self.total = self.sums[:, places], self.total[places]
        self.squares, self.top = self.squares[places], self.top[places]


@dataclass(frozen=True)
class WeightedAverage:
    """An average over chains of weighted draws, its standard error from the spread between them, and effective sizes.

    `effective`: (sum w)^2 / sum w^2 of each chain, shape (C,): how many equal weights say as much, were draws independent.
    """

    value: float
    standard_error: float
    effective: np.ndarray


def reweighted(values: np.ndarray, log_weights: np.ndarray) -> WeightedAverage:
    """sum w f / sum w over all draws of all chains. Shapes (C, L), (C, L).

    The error is that of a ratio of means over chains, by its influence function, so that what draws of one chain have in
    common is counted: sqrt(C/(C-1) sum_c (W_c (f_c - value))^2)/sum_c W_c with the sums of each chain. NaN for one chain.
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
    counted = np.where(weights > 0, weights * values, 0.0)
    return pooled(counted.sum(1), weights.sum(1), (weights**2).sum(1))


def pooled(sums: np.ndarray, totals: np.ndarray, squares: np.ndarray) -> WeightedAverage:
    """The same from sum w f, sum w and sum w^2 of each chain, in one unit. Shape (C,) each."""
    value = float(sums.sum() / totals.sum())
    count = len(sums)
    spread = np.nan
    if count > 1:
        spread = float(np.sqrt(count / (count - 1) * ((sums - value * totals) ** 2).sum()) / totals.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = np.where(squares > 0, totals**2 / squares, 0.0)
    return WeightedAverage(value, spread, effective)


def log_weights_between(energy: np.ndarray, *, drawn_at: float, wanted: float) -> np.ndarray:
    """log of exp(-U (1/T - 1/tau)): what draws under exp(-U/tau) count under exp(-U/T), up to a constant. Any shape."""
    for name, number in (("drawn_at", drawn_at), ("wanted", wanted)):
        if not (np.isfinite(number) and number > 0):
            raise ConfigurationError(f"{name}={number!r}: expected a positive, finite temperature")
    return -np.asarray(energy, dtype=np.float64) * (1 / wanted - 1 / drawn_at)


__all__ = ["WeightedAverage", "WeightedSums", "log_weights_between", "pooled", "reweighted"]
