"""Linear recursions with a different matrix at every step, in float64, many steps at a time.

x_l = M_l x_{l-1} + d_l with X_l = M_l X_{l-1} M_l^T + D_l, and backwards y_l = d_l + M_{l+1}^T y_{l+1} with
Y_l = D_l + M_{l+1}^T Y_{l+1} M_{l+1}. The L steps are cut into blocks that run side by side, each from zero;
their products then carry the true values over the seams, and a second run starts from those. Arrays hold step
l = b s + j (l from 0, s steps a block) at [..., j, b].

The variance that one step adds to a weighted average, v = Var(psi(u + xi)) with psi of gradient g and form
E.

v = g^T Q g + 4 tr(E Q E S) - 2 tr(E Q E Q) + 2 kappa_3(g; E) + kappa_4(E, E), where S = Cov(u) + Q and Q,
kappa_3, kappa_4 are the cumulants of xi; with its derivatives, for the bound on the rounding of a sum of such
terms.
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
    """The values of a recursion at every step, and the values from which each block was started.

    vector: (n, s, B), matrix: (n, n, s, B); `from_vector`, `from_matrix`: (n, B), (n, n, B), the values
    before the first step of each block in the direction of the recursion; `seam_vector`, `seam_matrix`: their
    differences, by rounding alone, from the values at the last step of the block before.
    """

    vector: Array
    matrix: Array
    from_vector: Array
    from_matrix: Array
    seam_vector: Array
    seam_matrix: Array


@dataclass(frozen=True)
class BlockMaps:
    """The matrices M_l as maps: (n, n, s, B); `sizes` bound their entries, and by default are their absolute values."""

    maps: Array
    sizes: Array | None = None

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
        """y, Y from zero behind the last step, and the values before the first one, M_1^T y_1 and M_1^T Y_1 M_1."""
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
            m = np.abs(self.maps[:, :, j]) if self.sizes is None else self.sizes[:, :, j]
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
    """(s, B), the steps of a block and the number of blocks, s B >= length: few Python steps on arrays that fit the cache."""
    steps = max(1, math.isqrt(length // 4))
    return steps, -(-length // steps)


def blocked(values: Array, steps: int, blocks: int, padding: float | Array) -> Array:
    """Reshape (..., L) to (..., s, B), with `padding` behind the last step."""
    room = steps * blocks
    full = np.empty((*values.shape[:-1], room))
    full[..., : values.shape[-1]] = values
    full[..., values.shape[-1] :] = padding
    return np.ascontiguousarray(np.swapaxes(full.reshape(*values.shape[:-1], blocks, steps), -1, -2))


def contracted(subscripts: str, *operands: Array) -> Array:
    """einsum of three or more arrays, contracted by pairs in the best order for their shapes."""
    path = _pairs(subscripts, *(operand.shape for operand in operands))
    return np.asarray(np.einsum(subscripts, *operands, optimize=path))


@cache
def _pairs(subscripts: str, *shapes: tuple[int, ...]) -> list[Any]:
    # numpy searches for that order at every call, which takes longer than the products of a few small matrices.
    return np.einsum_path(subscripts, *(np.empty(shape) for shape in shapes), optimize=True)[0]


def _congruent(first: str, second: str, b: Array, middle: Array) -> Array:
    """B middle B^T or B^T middle B, by two products of small matrices at every block."""
    return np.einsum(second, np.einsum(first, b, middle), b)


def _product(left: Array, right: Array) -> Array:
    return np.einsum("ijb,jkb->ikb", left, right)


@dataclass(frozen=True)
class Skew:
    """Non-Gaussian noise B g: injection (n, q, s, B), cumulants third (q, q, q), fourth (q, q, q, q) of g."""

    injection: Array
    third: Array
    fourth: Array

    def sizes(self) -> Skew:
        """The same noise with the absolute values of injection and cumulants, for bounds."""
        return Skew(np.abs(self.injection), np.abs(self.third), np.abs(self.fourth))

    def at(self, j: int, gradient: Array, form: Array) -> tuple[Array, Array, Array]:
        """v, dv/dg and dv/dE of v = 2 kappa_3(g; E) + kappa_4(E, E) at step j of every block."""
        b = self.injection[:, :, j]
        value, a, over, fourth = self._terms(b, gradient, form)
        along = np.einsum("pqr,rb->pqb", self.third, a)
        by_form = _congruent("ipb,pqb->iqb", "iqb,jqb->ijb", b, 2 * along + 2 * fourth)
        return value, 2 * np.einsum("ipb,pb->ib", b, over), by_form

    def value_at(self, j: int, gradient: Array, form: Array) -> Array:
        """v at step j of every block, without its derivatives."""
        return self._terms(self.injection[:, :, j], gradient, form)[0]

    def _terms(self, b: Array, gradient: Array, form: Array) -> tuple[Array, Array, Array, Array]:
        """v, g, kappa_3(.; E) and kappa_4(., E), in the coordinates of the noise with injection b."""
        a = np.einsum("ipb,ib->pb", b, gradient)
        e = _congruent("ipb,ijb->pjb", "pjb,jqb->pqb", b, form)
        over = np.einsum("pqr,qrb->pb", self.third, e)
        fourth = np.einsum("pqrs,rsb->pqb", self.fourth, e)
        return 2 * (a * over).sum(axis=0) + (e * fourth).sum(axis=(0, 1)), a, over, fourth


@dataclass(frozen=True)
class StepVariances:
    """sum_l v_l, the sum of the sizes of its terms, and the derivatives of every v_l by g, E and S."""

    total: float
    size: float
    by_gradient: Array
    by_form: Array
    by_covariance: Array

    @classmethod
    def of(
        cls, noise: Array, spread: Array, future: Path, skew: Skew | None, noise_sizes: Array | None = None
    ) -> StepVariances:
        """The sums from Q = `noise` and S = `spread`, both (n, n, s, B), and from g and E along `future`.

        `noise_sizes` bound the entries of Q in the sizes, and by default are their absolute values.
        """
        by_gradient, by_form, by_covariance = (np.empty_like(x) for x in (future.vector, noise, noise))
        values, size = [], 0.0
        sizes = None if skew is None else skew.sizes()
        for j in range(noise.shape[2]):
            q, s = noise[:, :, j], spread[:, :, j]
            g, e = future.vector[:, j], future.matrix[:, :, j]
            value, by_gradient[:, j], by_form[:, :, j], by_covariance[:, :, j] = gaussian_terms(g, e, q, s)
            bound = np.abs(q) if noise_sizes is None else noise_sizes[:, :, j]
            size += float(_sizes(np.abs(g), np.abs(e), bound, np.abs(s)).sum())
            if skew is not None and sizes is not None:
                more, more_gradient, more_form = skew.at(j, g, e)
                value = value + more
                by_gradient[:, j] += more_gradient
                by_form[:, :, j] += more_form
                size += float(sizes.value_at(j, np.abs(g), np.abs(e)).sum())
            values.append(math.fsum(value.tolist()))
        return cls(math.fsum(values), size, by_gradient, by_form, by_covariance)


def gaussian_terms(g: Array, e: Array, q: Array, s: Array) -> tuple[Array, Array, Array, Array]:
    """v = g^T Q g + 4 tr(E Q E S) - 2 tr(E Q E Q), and its derivatives by g, E and S."""
    qg, qe = np.einsum("ijb,jb->ib", q, g), _product(q, e)
    qeq, qes = _product(qe, q), _product(qe, s)
    value = (g * qg).sum(axis=0) + (e * (4 * qes - 2 * qeq)).sum(axis=(0, 1))
    by_form = 4 * (qes + qes.transpose(1, 0, 2) - qeq)
    return value, 2 * qg, by_form, 4 * _product(e, qe)


def _sizes(g: Array, e: Array, q: Array, s: Array) -> Array:
    qe = _product(q, e)
    terms: Array = (g * np.einsum("ijb,jb->ib", q, g)).sum(axis=0)
    return terms + (e * (4 * _product(qe, s) + 2 * _product(qe, q))).sum(axis=(0, 1))
