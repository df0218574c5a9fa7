"""Third cumulants: of exp(-U/T), with what they do to its covariance, and those that a linear map keeps.

With the averaged third derivatives C of U the third cumulant of exp(-U/T) is K = - C S S S/T to first order, and the covariance S
solves S A = T I - Z with the averaged Hessian A and Z_ai = C_ijk K_ajk/2. These terms are of the relative order of those by which
the averages over the Gaussian law differ from the values at the mode.
"""

from __future__ import annotations

import numpy as np

from sgverify.advice.closure.gradient_fit import GradientFit, NoLawError


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
        raise NoLawError("its covariance with third cumulants is not positive definite")
    return found


def invariant_third(move: np.ndarray, forcing: np.ndarray) -> np.ndarray:
    """K = M M M K + forcing, in the eigenvectors of M. Shapes (n, n), (n, n, n). Raises `NoLawError` where it is not finite."""
    values, vectors = np.linalg.eig(move)
    back = np.linalg.inv(vectors)
    found = through(forcing, back, back, back)
    with np.errstate(all="ignore"):
        found = found / (1 - values[:, None, None] * values[:, None] * values)
        found = through(found, vectors, vectors, vectors)
    if not np.isfinite(found).all():
        raise NoLawError("its third cumulants are not finite")
    return np.asarray(found.real)


def through(tensor: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """sum_ijk T_ijk a_xi b_yj c_zk. Shape (x, y, z)."""
    found = b @ (tensor @ c.T)
    return np.asarray((a @ found.reshape(len(found), -1)).reshape(len(a), *found.shape[1:]))
