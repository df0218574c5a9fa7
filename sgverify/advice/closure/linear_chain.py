"""A linear chain with independent noise in float64: invariant covariance, autocorrelations, and how fast it forgets.

y' = M y + xi with Cov xi = Q has the invariant covariance S = M S M^T + Q, and Cov(y_0, y_k) = S (M^T)^k.

Fixed points of a map in fewer rounds: the next iterate is mixed of the last ones (Anderson mixing).

Where x_j were mapped to G(x_j), with the residuals f_j = G(x_j) - x_j, the next iterate is sum_j a_j G(x_j) with the weights, of
sum 1, that make |sum_j a_j f_j| least. Source: Anderson 1965; Walker, Ni 2011, algorithm AA.

Third cumulants: of exp(-U/T), with what they do to its covariance, and those that a linear map keeps.

With the averaged third derivatives C of U the third cumulant of exp(-U/T) is K = - C S S S/T to first order, and the covariance S
solves S A = T I - Z with the averaged Hessian A and Z_ai = C_ijk K_ajk/2. These terms are of the relative order of those by which
the averages over the Gaussian law differ from the values at the mode.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from sgverify.errors import InstabilityError
from sgverify.exact.numbers.ball import PrecisionLostError

if TYPE_CHECKING:
    from sgverify.advice.closure.gradient_fit import GradientFit


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
        return LinearChain(map_, np.asarray(lyapunov(map_, noise)), dim)

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
            poisson = lyapunov(self.map.T, quadratic)
            quartic = s @ quadratic @ s
            found += float(4 * np.sum(quartic * poisson) - 2 * np.sum(quartic * quadratic))
        return found

    @cached_property
    def mean_variance(self) -> np.ndarray:
        """The long-run variance of each theta_i. Shape (d,)."""
        rows = np.eye(len(self.map))[: self.dim]
        return np.array([self.long_run_variance(row, 0 * self.map) for row in rows])

    @cached_property
    def square_variance(self) -> np.ndarray:
        """The long-run variance of each theta_i^2 about the mean. Shape (d,)."""
        rows = np.eye(len(self.map))[: self.dim]
        return np.array([self.long_run_variance(0 * row, np.outer(row, row)) for row in rows])

    @cached_property
    def independent_draw(self) -> float:
        """The largest sum of autocorrelations over k in Z, of a theta_i or of its square about the mean."""
        own = np.diag(self.of_theta)
        return float(np.max([self.mean_variance / own, self.square_variance / (2 * own**2)]))


@dataclass(frozen=True, eq=False)
class GaussianLaw:
    """N(mean, covariance) of theta, with the linear chain whose law it is; None for that of the target. Shapes (d,), (d, d)."""

    mean: np.ndarray
    covariance: np.ndarray
    chain: LinearChain | None

    @property
    def sd(self) -> np.ndarray:
        """The standard deviations. Shape (d,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def lyapunov(map_: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """X with X = M X M^T + Q. Shapes (n, n). Raises `PrecisionLostError` where float64 does not tell the equation from a singular
    one.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", linalg.LinAlgWarning)
            return np.asarray(linalg.solve_discrete_lyapunov(map_, noise))
    except linalg.LinAlgWarning:
        raise PrecisionLostError(
            "the directions of the chain are so unlike that float64 loses its covariance"
        ) from None


_KEPT = 5
"""The iterates that are mixed. The next one is hardly better for more."""


class Mixing:
    """The latest iterates of a fixed-point iteration, each with its image. Shape (n,) each."""

    def __init__(self) -> None:
        self._residuals: list[np.ndarray] = []
        self._images: list[np.ndarray] = []

    def next(self, iterate: np.ndarray, image: np.ndarray) -> np.ndarray | None:
        """The mixed iterate after these; None while there is nothing to mix, or where the residuals do not shrink.

        Of a map that does not contract nothing is mixed, so that its iteration goes where it goes.
        """
        residual = image - iterate
        if self._residuals and not np.linalg.norm(residual) < np.linalg.norm(self._residuals[-1]):
            self._residuals, self._images = [], []
        self._residuals = [*self._residuals[1 - _KEPT :], residual]
        self._images = [*self._images[1 - _KEPT :], image]
        if len(self._residuals) < 2:
            return None
        before = np.array(self._residuals[:-1])
        weights = np.linalg.lstsq((before - residual).T, -residual, rcond=1e-10)[0]
        return np.asarray(image + weights @ (np.array(self._images[:-1]) - image))


def target_covariance(fitted: GradientFit, covariance: np.ndarray, temperature: float) -> np.ndarray:
    """The covariance of exp(-U/T): T A^-1 with the correction by the third cumulants at `covariance`. Shape (d, d)."""
    back = np.linalg.inv(fitted.hessian)
    if fitted.third is None:
        return temperature * back
    cumulant = -through(fitted.third, covariance, covariance, covariance) / temperature
    coupled = np.tensordot(cumulant, fitted.third, axes=((1, 2), (1, 2))) / 2
    found = (temperature * np.eye(len(back)) - coupled) @ back
    found = (found + found.T) / 2
    if not np.isfinite(found).all() or np.linalg.eigvalsh(found)[0] <= 0:
        raise InstabilityError("its covariance with third cumulants is not positive definite")
    return found


def invariant_third(move: np.ndarray, forcing: np.ndarray) -> np.ndarray:
    """K = M M M K + forcing, in the eigenvectors of M. Shapes (n, n), (n, n, n). `InstabilityError` where it is not finite."""
    values, vectors = np.linalg.eig(move)
    back = np.linalg.inv(vectors)
    found = through(forcing, back, back, back)
    with np.errstate(all="ignore"):
        found = found / (1 - values[:, None, None] * values[:, None] * values)
        found = through(found, vectors, vectors, vectors)
    if not np.isfinite(found).all():
        raise InstabilityError("its third cumulants are not finite")
    return np.asarray(found.real)


def through(tensor: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """sum_ijk T_ijk a_xi b_yj c_zk. Shape (x, y, z)."""
    found = b @ (tensor @ c.T)
    return np.asarray((a @ found.reshape(len(found), -1)).reshape(len(a), *found.shape[1:]))
