"""Which law does a step leave as it is? The fixed point of one step with averages over the law itself."""

from __future__ import annotations

import numpy as np

from sgverify.advice.closure.gradient_calls import StepInGradients
from sgverify.advice.closure.gradient_fit import NoLawError
from sgverify.advice.closure.linear_chain import LinearChain
from sgverify.advice.closure.mixing import Mixing
from sgverify.advice.closure.one_step import FitAt, OneStep

ROUNDS = 60
"""The most rounds of averaging."""

_ROUNDED = 1e-12
"""Of a singular covariance in units of its standard deviations, the negative eigenvalues that rounding makes."""


def fixed_law(
    read: StepInGradients,
    fit_at: FitAt,
    start: tuple[np.ndarray, np.ndarray],
    step: float,
    tolerance: float,
    mixing: Mixing | None = None,
) -> tuple[np.ndarray, LinearChain]:
    """The mean of the state, shape (n d,), and the linear chain about it; `start` is a mean and a covariance of the state.

    It ends where no standard deviation of theta changes by more than the tolerance in a round, and no mean by more of its spread;
    with `mixing` the rounds are fewer. Raises `InstabilityError` where a round has no law, or after `ROUNDS` rounds.
    """
    mean, covariance = start
    dim, scale = len(mean) // len(read.state), np.ones(0)
    for _ in range(ROUNDS):
        one = OneStep(read, fit_at, mean, covariance, dim)
        chain = LinearChain.of(one.map, one.noise(), dim, step)
        shift = np.linalg.solve(np.eye(len(mean)) - one.map, one.mean_after - mean)
        positive(chain.of_theta, "the covariance of the chain")
        variances = np.diag(chain.covariance)
        # The noise is corrected by third cumulants, after which it may be no covariance: then a momentum has none either.
        if (variances < -_ROUNDED * variances.max()).any():
            raise NoLawError("the covariance of the chain is not positive definite")
        if largest_change(shift[:dim], covariance[:dim, :dim], chain.of_theta) <= tolerance:
            return mean + shift, chain
        if not len(scale):
            scale = np.sqrt(np.maximum(variances, 0.0))
            scale[scale == 0] = 1.0
        before = _flat(mean, covariance, scale)
        mean, covariance = mean + shift, chain.covariance
        mixed = None if mixing is None else mixing.next(before, _flat(mean, covariance, scale))
        if mixed is not None:
            mean, covariance = _law_of(mixed, scale, dim) or (mean, covariance)
    raise NoLawError("averaging over it does not settle")


def largest_change(shift: np.ndarray, before: np.ndarray, after: np.ndarray) -> float:
    """The largest change of a mean, in standard deviations, or of the logarithm of one. Shapes (d,), (d, d), (d, d)."""
    moved = np.abs(shift) / np.sqrt(np.diag(after))
    widened = np.abs(np.log(np.diag(after) / np.diag(before))) / 2
    return float(max(moved.max(), widened.max()))


def positive(matrix: np.ndarray, whose: str) -> np.ndarray:
    """The matrix itself. Raises `NoLawError` unless it is positive definite."""
    if not np.isfinite(matrix).all() or np.linalg.eigvalsh(matrix)[0] <= 0:
        raise NoLawError(f"{whose} is not positive definite")
    return matrix


def _flat(mean: np.ndarray, covariance: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """A law as one vector, in units of `scale`. Shapes (n,), (n, n), (n,) -> (n + n^2,)."""
    return np.concatenate([mean / scale, (covariance / np.outer(scale, scale)).ravel()])


def _law_of(flat: np.ndarray, scale: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The mean and the covariance in a vector of `_flat`; None where they are none, theta's of the first `dim` being regular."""
    mean, covariance = flat[: len(scale)], flat[len(scale) :].reshape(len(scale), -1)
    covariance = (covariance + covariance.T) / 2
    # A memory may be a copy of a draw: its covariance is singular.
    if np.linalg.eigvalsh(covariance)[0] < -_ROUNDED or np.linalg.eigvalsh(covariance[:dim, :dim])[0] <= 0:
        return None
    return mean * scale, covariance * np.outer(scale, scale)


__all__ = ["ROUNDS", "fixed_law", "largest_change", "positive"]
