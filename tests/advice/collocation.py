"""An oracle of its own: stationary averages of a chain on (theta, p) or on theta, by collocation on Gauss and Hermite's nodes.

Functions of the state are polynomials of degree m - 1 in each coordinate through the values at the nodes x_i. One step gives the
matrix P_ij = E l_j(X_1 | X_0 = x_i), l_j Lagrange's polynomials, draws by the same rule, minibatches all in turn. Its left
eigenvector to the eigenvalue 1 holds the weights with which the invariant law averages polynomials.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np


def invariant_moments(
    step: Callable[..., tuple[Any, ...]],
    widths: tuple[float, ...],
    centre: float,
    draws: int,
    data: int = 1,
    nodes: int = 22,
) -> tuple[float, float]:
    """Mean and standard deviation of theta. `step(x..., draws..., datum)` gives the new state; `widths` scale its nodes.

    `centre` is that of the nodes of theta; a momentum's are about 0.
    """
    z = np.polynomial.hermite_e.hermegauss(nodes)[0]
    xi, v = np.polynomial.hermite_e.hermegauss(8)
    v = v / v.sum()
    centres = (centre, *(0.0 for _ in widths[1:]))
    grid = np.array(list(product(*(c + s * z for c, s in zip(centres, widths, strict=True)))))
    matrix = np.zeros((len(grid), len(grid)))
    for choice in product(range(len(xi)), repeat=draws):
        weight = float(np.prod(v[list(choice)])) / data
        for datum in range(data):
            after = step(*grid.T, *xi[list(choice)], datum)
            parts = [_lagrange(z, (x - c) / s) for x, c, s in zip(after, centres, widths, strict=True)]
            row = parts[0] if len(parts) == 1 else np.einsum("ki,kj->kij", *parts).reshape(len(grid), -1)
            matrix += weight * row
    values, vectors = np.linalg.eig(matrix.T)
    place = int(np.argmin(np.abs(values - 1)))
    law = np.real(vectors[:, place] / vectors[:, place].sum())
    mean = float(law @ grid[:, 0])
    return mean, float(np.sqrt(law @ (grid[:, 0] - mean) ** 2))


def _lagrange(nodes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Lagrange's polynomials at points, by orthonormal Hermite polynomials on both sides. Shape (k, m)."""
    return np.linalg.solve(_hermite(nodes, len(nodes)).T, _hermite(points, len(nodes)).T).T


def _hermite(points: np.ndarray, count: int) -> np.ndarray:
    rows = [np.ones_like(points), points]
    for k in range(2, count):
        rows.append((points * rows[-1] - np.sqrt(k - 1) * rows[-2]) / np.sqrt(k))
    return np.array(rows).T
