"""The semidefinite program of a certificate: a norm in which the difference of two copies shrinks by rho in every step.

Sought are P > 0 and multipliers lambda_i >= 0 such that, with G = [A B] and v = (Delta, Delta g),

    |G v|_P^2 - rho^2 |Delta|_P^2 + sum_i lambda_i <Delta g_i - m Delta y_i, L Delta y_i - Delta g_i>  <= 0   for all v.

The scalar products are not negative for every potential with m <= Hessian <= L, so |Delta'|_P <= rho |Delta|_P. The program has
the size of state and gradients of one step, whatever the dimension. Inequalities between several places of a step add nothing:
draws and momenta move the places as far apart as they like, where the gradients have nothing to do with each other.

Clarabel solves it: it is one wheel without dependencies beyond numpy and scipy, which are here, and takes the cones as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve_discrete_lyapunov

from sgverify.errors import UserError
from sgverify.exact.certificates.pair import PairedStep, floats

DIGITS = 1e-9
"""The margin that counts as positive, beside matrices of size 1: the solver's own tolerance is 1e-8 of its residuals."""


@dataclass(frozen=True)
class ScaledNorm:
    """P = C^T norm C in the scaled coordinates C Delta, the multipliers, and the margin by which the inequalities hold."""

    margin: float
    scale: np.ndarray
    norm: np.ndarray
    multipliers: np.ndarray


def closed_loop(step: np.ndarray, places: np.ndarray, curvatures: Any) -> np.ndarray:
    """The matrix of one step where the i-th gradient has the Hessian curvatures[i] (times the identity): shape (..., n, n)."""
    n = step.shape[0]
    curvatures = np.asarray(curvatures, dtype=np.float64)
    values = np.zeros((*curvatures.shape[:-1], step.shape[1], n))
    values[..., :n, :] = np.eye(n)
    for i, row in enumerate(places):
        values[..., n + i, :] = curvatures[..., i, None] * (row @ values)
    return step @ values


class ShrinkingNorm:
    """The program of one step and one class, solved for any number of rates.

    Coordinates are scaled by the norm in which the quadratic potential of curvature sqrt(m L) shrinks, gradients by L times
    the size of their places: every entry is then of size 1, at any step size, L/m and friction.
    """

    def __init__(self, pair: PairedStep, convexity: float, smoothness: float) -> None:
        self._n, self._k = pair.states, pair.gradients
        step, places = floats(pair.step), floats(pair.places).reshape(pair.gradients, -1)
        middle = closed_loop(step, places, [math.sqrt(convexity * smoothness)] * self._k)
        radius = np.abs(np.linalg.eigvals(middle)).max()
        norm = solve_discrete_lyapunov((middle / max(1.0, 1.0001 * radius)).T, np.eye(self._n))
        self.scale = np.linalg.cholesky(norm).T
        back = np.eye(self._n + self._k)
        back[: self._n, : self._n] = np.linalg.inv(self.scale)
        sizes = smoothness * np.linalg.norm(places @ back, axis=1)
        back[self._n :, self._n :] = np.diag(sizes)
        self._factors = smoothness / sizes**2
        self._sectors = []
        for i, place in enumerate(places @ back):
            value = back[self._n + i]
            product = np.outer(value - convexity * place, smoothness * place - value)
            self._sectors.append(_packed(self._factors[i] * (product + product.T) / 2))
        self._moved = self.scale @ step @ back

    def solve(self, rate: float, size: float) -> ScaledNorm:
        """The solution of the largest margin at this rate; the first inequality is divided by `size`, about 1 - rate^2."""
        clarabel = _solver()
        forms = self._forms
        unused = np.zeros((forms["norm"].shape[0], self._k))
        ones, none = _packed(np.eye(self._n))[:, None], np.zeros((forms["norm"].shape[0], 1))
        decrease = (forms["moved"] - rate**2 * forms["kept"]) / size
        blocks = [
            np.hstack([decrease, np.array(self._sectors).T, _packed(np.eye(self._n + self._k))[:, None]]),
            np.hstack([forms["norm"], unused, none]),
            np.hstack([-forms["norm"], unused, ones]),
            np.hstack(
                [np.zeros((self._k, forms["norm"].shape[1])), -np.eye(self._k), np.zeros((self._k, 1))]
            ),
        ]
        rows = np.vstack(blocks)
        bound = np.zeros(rows.shape[0])
        bound[blocks[0].shape[0] :][: ones.size] = ones[:, 0]
        cones = [
            clarabel.PSDTriangleConeT(self._n + self._k),
            clarabel.PSDTriangleConeT(self._n),
            clarabel.PSDTriangleConeT(self._n),
            clarabel.NonnegativeConeT(self._k),
        ]
        columns = rows.shape[1]
        goal = np.zeros(columns)
        goal[-1] = -1
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        nothing = sparse.csc_matrix((columns, columns))
        found = clarabel.DefaultSolver(nothing, goal, sparse.csc_matrix(rows), bound, cones, settings).solve()
        values = np.array(found.x)
        norm = np.tensordot(values[: len(self._basis)], np.array(self._basis), 1)
        factors = np.maximum(values[len(self._basis) : -1], 0) * self._factors * size
        margin = float(values[-1]) if np.isfinite(values).all() else -math.inf
        return ScaledNorm(margin, self.scale, norm, factors)

    @cached_property
    def _basis(self) -> list[np.ndarray]:
        """The symmetric matrices with one entry, and its mirror image, 1."""
        basis = []
        for j in range(self._n):
            for i in range(j + 1):
                one = np.zeros((self._n, self._n))
                one[i, j] = one[j, i] = 1
                basis.append(one)
        return basis

    @cached_property
    def _forms(self) -> dict[str, np.ndarray]:
        """The quadratic forms of the basis, before and after the step, one in each column."""
        kept = np.eye(self._n, self._n + self._k)
        return {
            "norm": np.array([_packed(b) for b in self._basis]).T,
            "kept": np.array([_packed(kept.T @ b @ kept) for b in self._basis]).T,
            "moved": np.array([_packed(self._moved.T @ b @ self._moved) for b in self._basis]).T,
        }


def _packed(matrix: np.ndarray) -> np.ndarray:
    """The upper triangle, column by column, with sqrt(2) off the diagonal: scalar products stay."""
    size = range(matrix.shape[0])
    return np.array([matrix[i, j] * (1 if i == j else math.sqrt(2)) for j in size for i in range(j + 1)])


def _solver() -> Any:
    try:
        import clarabel
    except ImportError:
        raise UserError(
            "a certificate needs the solver Clarabel, which is not installed; install it with "
            "pip install 'sgverify[bound]'"
        ) from None
    return clarabel
