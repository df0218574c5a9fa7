"""The orthonormal polynomials of a weight on the line, by Stieltjes' procedure, and the Gauss rule of that weight.

With the weight held on a fine uniform grid whose ends carry no mass, sums over the grid are integrals to rounding (the trapezoidal
rule of a function that vanishes at both ends with its derivatives). Source: Gautschi 2004, Orthogonal Polynomials, section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sgverify.errors import OutOfReachError


@dataclass(frozen=True)
class OrthonormalPolynomials:
    """x q_k = beta_(k+1) q_(k+1) + alpha_k q_k + beta_k q_(k-1), q_0 = 1, orthonormal in a law on the line.

    `alpha` has shape (n,), `beta` shape (n,) with beta_0 unused.
    """

    alpha: np.ndarray
    beta: np.ndarray

    @staticmethod
    def of(points: np.ndarray, log_weight: np.ndarray, count: int) -> OrthonormalPolynomials:
        """The first `count` recurrence coefficients of the law with this log density at uniform points.

        Raises `OutOfReachError` if the points do not carry so many polynomials.
        """
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        alpha, beta = np.zeros(count), np.zeros(count)
        before, here = np.zeros_like(points), np.ones_like(points)
        for k in range(count):
            alpha[k] = weight @ (points * here**2)
            following = (points - alpha[k]) * here - beta[k] * before
            size = float(np.sqrt(weight @ following**2))
            if k + 1 < count:
                beta[k + 1] = size
            if not size > 0 or not np.isfinite(size):
                raise OutOfReachError(f"a weight on {len(points)} points has no {count} polynomials")
            before, here = here, following / size
        return OrthonormalPolynomials(alpha, beta)

    def gauss(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights of the rule that is exact for polynomials of degree 2 count - 1 (Golub and Welsch 1969)."""
        jacobi = (
            np.diag(self.alpha[:count]) + np.diag(self.beta[1:count], 1) + np.diag(self.beta[1:count], -1)
        )
        nodes, vectors = np.linalg.eigh(jacobi)
        return nodes, vectors[0] ** 2

    def at(self, x: np.ndarray, count: int) -> np.ndarray:
        """q_0, ..., q_(count-1) at points of shape (n,): shape (n, count)."""
        found = np.ones((len(x), count))
        for k in range(count - 1):
            before = self.beta[k] * found[:, k - 1] if k else 0.0
            found[:, k + 1] = ((x - self.alpha[k]) * found[:, k] - before) / self.beta[k + 1]
        return found


__all__ = ["OrthonormalPolynomials"]
