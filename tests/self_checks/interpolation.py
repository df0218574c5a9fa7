"""Local polynomials on a uniform grid, centred everywhere, of lower degree towards its ends.

A function that is carried back many times must not be extrapolated, because the polynomial through points of one side alone can
amplify it: near an end the polynomial goes through as many points on the far side as there are on the near one.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np

_NEAR = 1e-9
"""The share of a spacing by which rounding may put a state beyond an end of the grid."""


def centred(position: np.ndarray, count: int, stencil: int) -> tuple[np.ndarray, np.ndarray]:
    """The first of `stencil` grid points about each position, and their shares in it.

    Positions are in units of the spacing, the grid's points 0, ..., count - 1. Shares are 0 off the grid, and at NaN.
    Shapes (n,), (n, stencil).
    """
    inside = (position >= -_NEAR) & (position <= count - 1 + _NEAR)
    position = np.where(inside, position, 0.0)
    cell = np.clip(np.floor(position).astype(int), 0, count - 2)
    half = stencil // 2
    first = np.clip(cell - half + 1, 0, count - stencil)
    left, right = np.minimum(cell + 1, half), np.minimum(count - 1 - cell, half)
    weights = np.where((right < half)[:, None], _tables(stencil)[1][right], _tables(stencil)[0][left])
    offset = (position - first)[:, None] - np.arange(stencil)
    met = offset == 0
    terms = np.where(met.any(1)[:, None], met, weights / np.where(met, 1.0, offset))
    return first, terms * (inside / terms.sum(1))[:, None]


@lru_cache(maxsize=8)
def _tables(stencil: int) -> tuple[np.ndarray, np.ndarray]:
    """Barycentric weights of the first, and of the last, 2k points of a stencil, for k = 0, ..., stencil/2."""
    half = stencil // 2
    start, end = np.zeros((half + 1, stencil)), np.zeros((half + 1, stencil))
    for k in range(1, half + 1):
        start[k, : 2 * k] = [(-1) ** j * comb(2 * k - 1, j) for j in range(2 * k)]
        end[k, stencil - 2 * k :] = start[k, : 2 * k]
    return start, end
