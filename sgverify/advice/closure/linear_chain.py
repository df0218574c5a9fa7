"""A linear chain with independent noise in float64: invariant covariance, autocorrelations, and how fast it forgets.

y' = M y + xi with Cov xi = Q has the invariant covariance S = M S M^T + Q, and Cov(y_0, y_k) = S (M^T)^k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from sgverify.errors import InstabilityError


@dataclass(frozen=True, eq=False)
class LinearChain:
    """The chain y' = M y + xi about its mean; `covariance` is its invariant one. Shapes (n, n); theta are the first `dim`.

    The autocovariances are exact wherever E[y' | y] = M y, so also where the covariance of xi depends on y; those of squares are
    exact where all is Gaussian.
    """

    map: np.ndarray
    covariance: np.ndarray
    dim: int

    @staticmethod
    def of(map_: np.ndarray, noise: np.ndarray, dim: int, step: float) -> LinearChain:
        """The chain with the noise covariance Q. Raises `InstabilityError` where it does not contract."""
        radius = float(np.abs(np.linalg.eigvals(map_)).max())
        if not radius < 1:
            raise InstabilityError(f"one step of h={step:g} does not contract: spectral radius {radius:.4g}")
        # A memory may be a copy of a draw: the covariance is then singular, and that of theta is not.
        return LinearChain(map_, np.asarray(linalg.solve_discrete_lyapunov(map_, noise)), dim)

    @property
    def of_theta(self) -> np.ndarray:
        """The covariance of theta. Shape (d, d)."""
        return self.covariance[: self.dim, : self.dim]

    @cached_property
    def forgetting(self) -> float:
        """1/(1 - rho), rho the spectral radius of M: the steps in which the slowest direction forgets by a factor of about e."""
        return 1 / (1 - float(np.abs(np.linalg.eigvals(self.map)).max()))

    def long_run_variance(self, linear: np.ndarray, quadratic: np.ndarray) -> float:
        """sum over k in Z of Cov(phi(y_0), phi(y_k)) for phi = linear . y + y^T quadratic y. Shapes (n,), (n, n).

        It is L times the variance of the average of phi over L steps. With the Poisson equation E - M^T E M = A it is
        b . (2 (I - M)^-1 S - S) b + 4 tr(S A S E) - 2 tr(S A S A), for b, A = linear, quadratic.
        """
        s = self.covariance
        found = float(linear @ (2 * np.linalg.solve(np.eye(len(s)) - self.map, s) - s) @ linear)
        if quadratic.any():
            poisson = linalg.solve_discrete_lyapunov(self.map.T, quadratic)
            quartic = s @ quadratic @ s
            found += float(4 * np.sum(quartic * poisson) - 2 * np.sum(quartic * quadratic))
        return found

    @cached_property
    def mean_variance(self) -> np.ndarray:
        """The long-run variance of each theta_i. Shape (d,)."""
        nothing = np.zeros_like(self.map)
        return np.array([self.long_run_variance(row, nothing) for row in np.eye(len(self.map))[: self.dim]])

    @cached_property
    def square_variance(self) -> np.ndarray:
        """The long-run variance of each theta_i^2 about the mean. Shape (d,)."""
        rows = np.eye(len(self.map))
        return np.array([self.long_run_variance(0 * row, np.outer(row, row)) for row in rows[: self.dim]])
