"""The third cumulants of a chain's law, and what they do to its covariance: the terms that a Gaussian law leaves out first.

About the mean, X' = M X - B r(theta) + xi with r = C : (theta theta^T - S)/2 the first part of the gradient that is not linear, and
Cov(xi | theta) = Q + Q_1 theta. To first order in C and Q_1 the third cumulant K of the invariant law solves

    K = M M M K + 3 sym(W W C B^T) + 3 sym(W Q_1) + K_xi,        W = M S[:, theta],

(B with the sign of the step: the coefficient of the gradient's noise), and the covariance then solves

    S = M S M^T + Q + (M Z B^T) + (M Z B^T)^T + B E[r r^T] B^T,        Z_ak = C_kij K_aij/2.

For exp(-U/T) itself K = - C S S S/T and S A = T I - Z. These terms are of the relative order of those by which the averages over
the Gaussian law differ from the values at the mode.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sgverify.advice.gradient_fit import GradientFit, NoLawError


@dataclass(frozen=True, eq=False)
class StepBlocks:
    """One step X' = map X + sum_k gradients_k g_k + xi about the mean. Shapes (n, n), (n, d) each; `drawn` = Cov xi, (n, n)."""

    map: np.ndarray
    gradients: tuple[np.ndarray, ...]
    drawn: np.ndarray


def target_covariance(fitted: GradientFit, covariance: np.ndarray, temperature: float) -> np.ndarray:
    """The covariance of exp(-U/T): T A^-1 with the correction by the third cumulants at `covariance`. Shape (d, d)."""
    back = np.linalg.inv(fitted.hessian)
    if fitted.third is None:
        return temperature * back
    cumulant = -np.einsum("ijk,ia,jb,kc->abc", fitted.third, covariance, covariance, covariance) / temperature
    found = (temperature * np.eye(len(back)) - _coupling(fitted.third, cumulant, len(back))) @ back
    return _checked((found + found.T) / 2)


def step_noise(
    step: StepBlocks, fitted: GradientFit, covariance: np.ndarray, skewness: np.ndarray
) -> np.ndarray:
    """The noise covariance with which the linear chain has the covariance of the corrected law. Shape (n, n).

    `covariance` is that of the whole state so far, `skewness` the third cumulant of the gradient estimate.
    """
    noise = step.drawn + sum(b @ fitted.noise @ b.T for b in step.gradients)
    if fitted.third is None or fitted.noise_slope is None:
        return np.asarray(noise)
    # A scheme that asks for no gradient is moved by none.
    dim, total = len(fitted.third), sum(step.gradients, np.zeros((len(step.map), len(fitted.third))))
    moved = step.map @ covariance[:, :dim]
    forcing = 3 * np.einsum("kij,ai,bj,ck->abc", fitted.third, moved, moved, total)
    for b in step.gradients:
        forcing += 3 * np.einsum("ijk,ak,bi,cj->abc", fitted.noise_slope, moved, b, b)
        forcing += np.einsum("ijk,ai,bj,ck->abc", skewness, b, b, b)
    cumulant = _invariant_third(step.map, _symmetric(forcing))
    crossed = step.map @ _coupling(fitted.third, cumulant, dim) @ total.T
    return np.asarray(noise + crossed + crossed.T + total @ fitted.bent @ total.T)


def _coupling(third: np.ndarray, cumulant: np.ndarray, dim: int) -> np.ndarray:
    """Z_ak = C_kij K_aij/2, the covariance of the state with r. Shape (n, d)."""
    return np.asarray(np.einsum("kij,aij->ak", third, cumulant[:, :dim, :dim]) / 2)


def _invariant_third(move: np.ndarray, forcing: np.ndarray) -> np.ndarray:
    """K = M M M K + forcing, in the eigenvectors of M. Shapes (n, n), (n, n, n)."""
    values, vectors = np.linalg.eig(move)
    back = np.linalg.inv(vectors)
    found = np.einsum("abc,ia,jb,kc->ijk", forcing, back, back, back, optimize=True)
    found = found / (1 - values[:, None, None] * values[:, None] * values)
    found = np.einsum("ijk,ai,bj,ck->abc", found, vectors, vectors, vectors, optimize=True)
    if not np.isfinite(found).all():
        raise NoLawError("its third cumulants are not finite")
    return np.asarray(found.real)


def _symmetric(tensor: np.ndarray) -> np.ndarray:
    """The mean over the orders of the three axes."""
    orders = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    return np.asarray(sum(tensor.transpose(order) for order in orders) / 6)


def _checked(matrix: np.ndarray) -> np.ndarray:
    if not np.isfinite(matrix).all() or np.linalg.eigvalsh(matrix)[0] <= 0:
        raise NoLawError("its covariance with third cumulants is not positive definite")
    return matrix
