"""Linear recursions with a different matrix at every step, in float64, many steps at a time.

x_l = M_l x_{l-1} + d_l with X_l = M_l X_{l-1} M_l^T + D_l, and backwards y_l = d_l + M_{l+1}^T y_{l+1} with
Y_l = D_l + M_{l+1}^T Y_{l+1} M_{l+1}. The L steps are cut into blocks that run side by side, each from zero;
their products then carry the true values over the seams, and a second run starts from those. Arrays hold step
l = b s + j (l from 0, s steps a block) at [..., j, b].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Path:
    """A recursion at every step, and the values that each block was started from.

    vector: (n, s, B), matrix: (n, n, s, B); `from_vector`, `from_matrix`: (n, B), (n, n, B), the values
    before the first step of each block in the direction of the recursion; `seam_vector`, `seam_matrix`: what
    these differ by, by rounding alone, from the last step of the block before.
    """

    vector: Array
    matrix: Array
    from_vector: Array
    from_matrix: Array
    seam_vector: Array
    seam_matrix: Array


@dataclass(frozen=True)
class BlockMaps:
    """The matrices M_l as maps: (n, n, s, B)."""

    maps: Array

    @property
    def _shape(self) -> tuple[int, int, int]:
        n, _, steps, blocks = self.maps.shape
        return n, steps, blocks

    @cached_property
    def products(self) -> Array:
        """M_last ... M_first of each block: (n, n, B)."""
        n, steps, blocks = self._shape
        total = np.repeat(np.eye(n)[:, :, None], blocks, axis=2)
        for j in range(steps):
            total = _product(self.maps[:, :, j], total)
        return total

    def forward(self, vector: Array, matrix: Array, vectors: Array, matrices: Array) -> Path:
        """x, X from x_0 = vector, X_0 = matrix, with d = vectors (n, s, B), D = matrices (n, n, s, B)."""
        n, steps, blocks = self._shape
        x, y = np.zeros((n, blocks)), np.zeros((n, n, blocks))
        for j in range(steps):
            x, y = self._step(j, x, y)
            x += vectors[:, j]
            y += matrices[:, :, j]
        firsts, starts = np.empty((n, blocks)), np.empty((n, n, blocks))
        for b in range(blocks):
            firsts[:, b], starts[:, :, b] = vector, matrix
            p = self.products[:, :, b]
            vector, matrix = p @ vector + x[:, b], p @ matrix @ p.T + y[:, :, b]
        path, paths = np.empty((n, steps, blocks)), np.empty((n, n, steps, blocks))
        x, y = firsts, starts
        for j in range(steps):
            x, y = self._step(j, x, y)
            x += vectors[:, j]
            y += matrices[:, :, j]
            path[:, j], paths[:, :, j] = x, y
        return Path(
            path,
            paths,
            firsts,
            starts,
            firsts[:, 1:] - path[:, -1, :-1],
            starts[:, :, 1:] - paths[:, :, -1, :-1],
        )

    def backward(self, vectors: Array, matrices: Array) -> tuple[Path, Array, Array]:
        """y, Y with nothing behind the last step; and before the first one, M_1^T y_1 and M_1^T Y_1 M_1."""
        n, steps, blocks = self._shape
        x, y = np.zeros((n, blocks)), np.zeros((n, n, blocks))
        for j in reversed(range(steps)):
            x, y = self._step_back(j, x + vectors[:, j], y + matrices[:, :, j])
        firsts, starts = np.empty((n, blocks)), np.empty((n, n, blocks))
        vector, matrix = np.zeros(n), np.zeros((n, n))
        for b in reversed(range(blocks)):
            firsts[:, b], starts[:, :, b] = vector, matrix
            p = self.products[:, :, b]
            vector, matrix = p.T @ vector + x[:, b], p.T @ matrix @ p + y[:, :, b]
        path, paths = np.empty((n, steps, blocks)), np.empty((n, n, steps, blocks))
        x, y = firsts, starts
        for j in reversed(range(steps)):
            path[:, j], paths[:, :, j] = x + vectors[:, j], y + matrices[:, :, j]
            x, y = self._step_back(j, path[:, j], paths[:, :, j])
        found = Path(path, paths, firsts, starts, firsts[:, :-1] - x[:, 1:], starts[:, :, :-1] - y[:, :, 1:])
        return found, vector, matrix

    def transported(self, left: Path, right: Path) -> float:
        """sum_l |y_l| . |M_l| |x_{l-1}| + |Y_l| : |M_l| |X_{l-1}| |M_l|^T: x runs forward, y backward."""
        total = 0.0
        for j in range(self._shape[1]):
            m = np.abs(self.maps[:, :, j])
            x = np.abs(left.vector[:, j - 1] if j else left.from_vector)
            y = np.abs(left.matrix[:, :, j - 1] if j else left.from_matrix)
            total += float(np.einsum("ib,ijb,jb->", np.abs(right.vector[:, j]), m, x))
            moved = np.einsum("ijb,kjb->ikb", _product(m, y), m)
            total += float(np.vdot(np.abs(right.matrix[:, :, j]), moved))
        return total

    def _step(self, j: int, vector: Array, matrix: Array) -> tuple[Array, Array]:
        m = self.maps[:, :, j]
        return np.einsum("ijb,jb->ib", m, vector), np.einsum("ijb,kjb->ikb", _product(m, matrix), m)

    def _step_back(self, j: int, vector: Array, matrix: Array) -> tuple[Array, Array]:
        m = self.maps[:, :, j]
        return np.einsum("jib,jb->ib", m, vector), _product(np.einsum("jib,jkb->ikb", m, matrix), m)


def block_shape(length: int) -> tuple[int, int]:
    """Steps a block and blocks (s, B), s B >= length: few Python steps over arrays that stay in the cache."""
    steps = max(1, math.isqrt(length // 4))
    return steps, -(-length // steps)


def blocked(values: Array, steps: int, blocks: int, padding: float | Array) -> Array:
    """(..., L) to (..., s, B), with `padding` behind the last step."""
    room = steps * blocks
    full = np.empty((*values.shape[:-1], room))
    full[..., : values.shape[-1]] = values
    full[..., values.shape[-1] :] = padding
    return np.ascontiguousarray(np.swapaxes(full.reshape(*values.shape[:-1], blocks, steps), -1, -2))


def contracted(subscripts: str, *operands: Array) -> Array:
    """einsum of three arrays and more by pairs, in the order that is best for their shapes."""
    path = _pairs(subscripts, *(operand.shape for operand in operands))
    return np.asarray(np.einsum(subscripts, *operands, optimize=path))


@cache
def _pairs(subscripts: str, *shapes: tuple[int, ...]) -> list[Any]:
    # numpy looks for it at every call, which takes longer than the products of a few small matrices.
    return np.einsum_path(subscripts, *(np.empty(shape) for shape in shapes), optimize=True)[0]


def _product(left: Array, right: Array) -> Array:
    return np.einsum("ijb,jkb->ikb", left, right)
