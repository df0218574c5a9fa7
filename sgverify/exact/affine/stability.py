"""The stability limit: the largest step size below which one step contracts on the target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.exact.affine.carrier import read_affine
from sgverify.exact.affine.field import FLOATS, Scalar
from sgverify.schemes import Scheme

GRID = 400
BISECTIONS = 60


def spectral_radii(
    scheme: Scheme, parameters: dict[str, Fraction], eigenvalues: Sequence[float], steps: Any
) -> Any:
    """The spectral radius of M for each step size: float64, shape (steps,).

    The blocks of M are polynomials in the precision, so M splits over the precision's eigenvalues.
    """
    h = np.asarray(steps, dtype=np.float64)
    given = {name: Scalar(FLOATS, np.full_like(h, float(parameters[name]))) for name in scheme.parameters}
    # A definition that divides by zero is refused elsewhere; here its radius is infinite.
    with np.errstate(all="ignore"):
        read = read_affine(scheme, {"h": Scalar(FLOATS, h), **given})
    names = list(scheme.state)
    worst = np.zeros_like(h)
    for eigenvalue in sorted(set(eigenvalues)):
        matrix = np.zeros((*h.shape, len(names), len(names)))
        for i, name in enumerate(names):
            for j, other in enumerate(names):
                for k, c in enumerate(read.rows[name].get(("state", other), ())):
                    matrix[..., i, j] += np.asarray(_number(c)) * eigenvalue**k
        finite = np.isfinite(matrix).all(axis=(-1, -2))
        radius = np.full(h.shape, np.inf)
        radius[finite] = np.abs(np.linalg.eigvals(matrix[finite])).max(axis=-1)
        worst = np.maximum(worst, radius)
    return worst


def stability_limit(scheme: Scheme, parameters: dict[str, Fraction], eigenvalues: Sequence[float]) -> float:
    """The smallest h > 0 at which the spectral radius reaches 1; infinite where it never does.

    Searched on a logarithmic grid around the fastest time scale of the target, then bisected.
    """
    scale = 1 / math.sqrt(max(eigenvalues))
    slow = min(scale, scale**2)
    grid = np.geomspace(1e-3 * slow, 1e4 * max(scale, scale**2, 1.0), GRID)
    with np.errstate(all="ignore"):
        unstable = np.flatnonzero(spectral_radii(scheme, parameters, eigenvalues, grid) >= 1)
        if not unstable.size:
            return math.inf
        first = int(unstable[0])
        if first == 0:
            return 0.0
        low, high = float(grid[first - 1]), float(grid[first])
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            if spectral_radii(scheme, parameters, eigenvalues, [middle])[0] >= 1:
                high = middle
            else:
                low = middle
    return low


def eigenvalues_of(precision: Sequence[Sequence[Fraction]]) -> list[float]:
    """The eigenvalues of the precision matrix, as floats."""
    return [float(v) for v in np.linalg.eigvalsh(np.array([[float(x) for x in row] for row in precision]))]


def _number(value: Any) -> Any:
    return value if isinstance(value, np.ndarray | float) else float(value)
