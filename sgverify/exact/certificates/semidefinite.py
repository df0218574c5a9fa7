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
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve_discrete_lyapunov

from sgverify.errors import UserError
from sgverify.exact.certificates.pair import PairedStep
from sgverify.exact.chain.lyapunov import floats

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
    """The program of one step and one class, solved for any number of rates; none is below the rate `slowest` of a member.

    Coordinates are scaled by the norm in which the quadratic potential of curvature sqrt(m L) shrinks, gradients by L times
    the size of their places: every entry is then of size 1, at any step size, L/m and friction.
    """

    def __init__(self, pair: PairedStep, convexity: float, smoothness: float, slowest: float) -> None:
        n, k = self._n, self._k = pair.states, pair.gradients
        step, places = floats(pair.step), floats(pair.places)
        middle = closed_loop(step, places, [math.sqrt(convexity * smoothness)] * k)
        radius = np.abs(np.linalg.eigvals(middle)).max()
        norm = solve_discrete_lyapunov((middle / max(1.0, 1.0001 * radius)).T, np.eye(n))
        self._scale = np.linalg.cholesky(norm).T
        back = np.eye(n + k)
        back[:n, :n] = np.linalg.inv(self._scale)
        sizes = smoothness * np.linalg.norm(places @ back, axis=1)
        back[n:, n:] = np.diag(sizes)
        self._size, self._factors = 1 - slowest**2, smoothness / sizes**2
        self._sectors = [
            factor * np.outer(value - convexity * place, smoothness * place - value)
            for factor, value, place in zip(self._factors, back[n:], places @ back, strict=True)
        ]
        unit = np.eye(n)
        self._basis = [np.outer(unit[i], unit[j]) for j in range(n) for i in range(j + 1)]
        self._basis = [one + one.T * (one != one.T) for one in self._basis]
        kept, moved = np.eye(n, n + k), self._scale @ step @ back
        self._kept = [kept.T @ one @ kept for one in self._basis]
        self._moved = [moved.T @ one @ moved for one in self._basis]

    def solve(self, rate: float) -> ScaledNorm:
        """The solution of the largest margin at this rate; the first inequality is divided by about 1 - rate^2."""
        clarabel = _solver()
        n, k, count = self._n, self._k, len(self._basis)
        decrease = [
            (after - rate**2 * before) / self._size
            for after, before in zip(self._moved, self._kept, strict=True)
        ]
        unused = [np.zeros((n, n))] * k
        blocks = [
            _packed([*decrease, *self._sectors, np.eye(n + k)]),
            _packed([*self._basis, *unused, np.zeros((n, n))]),
            _packed([*(-one for one in self._basis), *unused, np.eye(n)]),
            np.eye(k, count + k + 1, count) * -1,
        ]
        bound = [np.zeros(len(block)) for block in blocks]
        bound[1] = _packed([np.eye(n)])[:, 0]
        cones = [clarabel.PSDTriangleConeT(size) for size in (n + k, n, n)] + [clarabel.NonnegativeConeT(k)]
        goal = np.zeros(count + k + 1)
        goal[-1] = -1
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        rows, nothing = sparse.csc_matrix(np.vstack(blocks)), sparse.csc_matrix((goal.size, goal.size))
        solver = clarabel.DefaultSolver(nothing, goal, rows, np.concatenate(bound), cones, settings)
        values = np.array(solver.solve().x)
        norm = np.tensordot(values[:count], np.array(self._basis), 1)
        factors = np.maximum(values[count:-1], 0) * self._factors * self._size
        margin = float(values[-1]) if np.isfinite(values).all() else -math.inf
        return ScaledNorm(margin, self._scale, norm, factors)


def _packed(matrices: list[np.ndarray]) -> np.ndarray:
    """The symmetric parts, each a column: the upper triangle, column by column, sqrt(2) off the diagonal keeps scalar products."""
    i, j = np.tril_indices(len(matrices[0]))
    half = np.array([(matrix + matrix.T) / 2 for matrix in matrices])
    return (half[:, i, j] * np.where(i == j, 1, math.sqrt(2))).T


def _solver() -> Any:
    try:
        import clarabel
    except ImportError:
        raise UserError(
            "a certificate needs the solver Clarabel, which is not installed; install it with "
            "pip install 'sgverify[bound]'"
        ) from None
    return clarabel
