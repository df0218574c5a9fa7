"""Expansions at h = 0 of affine chains that do not tend to the identity: a memory moves at once, the state with h.

    M(h) = M_0 + h M_1 + ...,   M_0 = T diag(I, N) T^-1, every eigenvalue of N inside the unit circle.

Order by order T(h) block-diagonalises M(h) = T(h) diag(A(h), N(h)) T(h)^-1, A = I + O(h). The slow block is a chain without
memory, whose equations are those of `expansion`; the ones that hold the fast block are regular at h = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq_mat

from sgverify.errors import NotExpandableError
from sgverify.exact.affine.matrices import nonzero
from sgverify.exact.chain import Quadratic
from sgverify.exact.continuous import Matrix, require_decay, transposed
from sgverify.exact.lyapunov import floats
from sgverify.exact.lyapunov_series import lyapunov_series

Series = list[Any]
"""Matrices: the coefficients of h^0, h^1, ...."""


@dataclass(frozen=True)
class TwoScaleSeries:
    """M, c and Q from h^0 on, with mean and covariance of the start; the first `slow` coordinates stay as h -> 0."""

    map: Series
    shift: Series
    covariance: Series
    slow: int
    start_mean: Series
    start_covariance: Series

    @property
    def orders(self) -> int:
        """How many coefficients of the invariant law are determined."""
        return len(self.map) - 1

    def cut(self, orders: int) -> TwoScaleSeries:
        """The series with fewer orders."""
        m, c, q = (part[: orders + 1] for part in (self.map, self.shift, self.covariance))
        return TwoScaleSeries(m, c, q, self.slow, self.start_mean, self.start_covariance)

    @property
    def rational(self) -> bool:
        """Whether the step is one of fractions; the start, a multiple of a spread, is no part of it."""
        parts = (self.map, self.shift, self.covariance)
        return all(isinstance(matrix, fmpq_mat) for part in parts for matrix in part)

    @property
    def in_balls(self) -> TwoScaleSeries:
        """The same at the working precision."""
        parts = (
            [arb_mat(matrix) for matrix in part]
            for part in (self.map, self.shift, self.covariance, self.start_mean, self.start_covariance)
        )
        m, c, q, mean, spread = parts
        return TwoScaleSeries(m, c, q, self.slow, mean, spread)


@dataclass(frozen=True)
class TwoScaleExpansion:
    """The invariant law and the Poisson equation of phi, as power series in h: what `SteadyExpansion` is of one scale.

    Raises `NotExpandableError` where the fast block does not forget, or the slow one has no law.
    """

    series: TwoScaleSeries
    observable: Quadratic

    def __post_init__(self) -> None:
        fast = self._fast_map[0]
        if fast.nrows() and not np.abs(np.linalg.eigvals(floats(arb_mat(fast)))).max() < 1 - 1e-6:
            raise NotExpandableError("a memory that does not forget its start as h -> 0")
        slow = [self._shift[0], self._covariance[0]]
        if any(nonzero(_rows(matrix, 0, self.series.slow)) for matrix in slow):
            raise NotExpandableError("noise or drift that the state has at h = 0 too")
        require_decay(self._slow_map[1])

    @classmethod
    def of(cls, series: TwoScaleSeries, observable: Quadratic) -> TwoScaleExpansion:
        """In fractions where everything is rational, in balls otherwise."""
        rational = series.rational and all(
            isinstance(part, fmpq_mat) for part in (observable.linear, observable.quadratic)
        )
        if rational:
            return cls(series, observable)
        phi = Quadratic(arb(observable.constant), arb_mat(observable.linear), arb_mat(observable.quadratic))
        return cls(series.in_balls, phi)

    def in_balls(self) -> TwoScaleExpansion:
        """The same in balls at the working precision."""
        phi = self.observable
        return TwoScaleExpansion(
            self.series.in_balls,
            Quadratic(arb(phi.constant), arb_mat(phi.linear), arb_mat(phi.quadratic)),
        )

    @cached_property
    def mean(self) -> Series:
        """m_0, m_1, ...: n x 1."""
        slow, n = self.series.slow, self._size
        upper = _divided_by_decay(self._slow_map, [_rows(c, 0, slow) for c in self._shift])
        lower = _resolved(self._fast_map, [_rows(c, slow, n) for c in self._shift])
        own = [_stacked(a, b) for a, b in zip(upper, lower, strict=False)]
        return _times(self._basis, own)

    @cached_property
    def covariance(self) -> Series:
        """S_0, S_1, ...: n x n."""
        own = self._lyapunov(self._slow_map, self._fast_map, self._covariance)
        return _times(_times(self._basis, own), transposed(self._basis))

    @cached_property
    def slope(self) -> Series:
        """b~_k, the gradient of phi at the stationary mean: b + 2 A m."""
        bent = [(self.observable.quadratic * m) * 2 for m in self.mean]
        return [self.observable.linear + bent[0], *bent[1:]]

    @cached_property
    def poisson_linear(self) -> Series:
        """epsilon_k with e = (1/h) sum_k epsilon_k h^k solving (I - M^T) e = b~."""
        slow, n = self.series.slow, self._size
        right = _times(transposed(self._basis), self.slope)
        upper = _divided_by_decay(
            transposed(self._slow_map), [_rows(right[0] * 0, 0, slow), *(_rows(r, 0, slow) for r in right)]
        )
        lower = _resolved(transposed(self._fast_map), [_rows(r, slow, n) for r in right])
        own = [_stacked(a, b) for a, b in zip(upper, [_rows(right[0] * 0, slow, n), *lower], strict=False)]
        return _times(transposed(self._inverse), own)

    @cached_property
    def poisson_quadratic(self) -> Series:
        """E_k with E = (1/h) sum_k E_k h^k solving E - M^T E M = A."""
        form = self.observable.quadratic
        forms = [form] + [form * 0] * self.series.orders
        right = _times(_times(transposed(self._basis), forms), self._basis)
        own = self._lyapunov(transposed(self._slow_map), transposed(self._fast_map), [form * 0, *right])
        return _times(_times(transposed(self._inverse), own), self._inverse)

    @property
    def noise(self) -> Matrix:
        """Q at h^1, in the coordinates of the chain."""
        return self.series.covariance[1]

    def _lyapunov(self, slow: Sequence[Any], fast: Sequence[Any], right: Series) -> Series:
        """X from h^0 on with X - diag(A, N) X diag(A, N)^T = right, which is O(h) in the slow block."""
        n, m = self._size, self.series.slow
        pick = [
            [_block(r, a, b) for r in right]
            for a, b in (((0, m), (0, m)), ((0, m), (m, n)), ((m, n), (m, n)))
        ]
        orders = range(self.series.orders)
        upper = _sylvester_of_decay(slow, pick[0], self.series.orders)
        middle = _sylvester(slow, transposed(fast), pick[1], self.series.orders)
        lower = _sylvester(fast, transposed(fast), pick[2], self.series.orders)
        return [_joined(upper[k], middle[k], middle[k].transpose(), lower[k]) for k in orders]

    @property
    def _size(self) -> int:
        return int(self.series.map[0].nrows())

    @cached_property
    def _first_basis(self) -> Matrix:
        """T at h = 0, [[I, -K], [J, I]] with K = B (I - N)^-1 and J = (I - N)^-1 C for M_0 = [[I, B], [C, N]]."""
        limit, n, m = self.series.map[0], self._size, self.series.slow
        kind = type(limit)
        across = _block(limit, (0, m), (m, n))
        back, own = _block(limit, (m, n), (0, m)), _block(limit, (m, n), (m, n))
        if nonzero(_block(limit, (0, m), (0, m)) - _unit(kind, m)):
            raise NotExpandableError("a step that does not tend to the identity on the state")
        try:
            inverse = (_unit(kind, n - m) - own).inv()
        except ZeroDivisionError:
            raise NotExpandableError("a memory that does not forget its start as h -> 0") from None
        if nonzero(across * inverse * back):
            raise NotExpandableError("a memory that moves the state at h = 0 too")
        return _joined(_unit(kind, m), across * inverse * -1, inverse * back, _unit(kind, n - m))

    @cached_property
    def _reduced(self) -> tuple[Series, Series]:
        """T(h) and diag(A(h), N(h))."""
        n, m, first = self._size, self.series.slow, self._first_basis
        inverse = first.inv()
        moved = [inverse * matrix * first for matrix in self.series.map]
        unit = _unit(type(first), n)
        own = [_joined(*_diagonal(moved[0], m))]
        turn: Series = [unit]
        settle = (_unit(type(first), n - m) - _block(own[0], (m, n), (m, n))).inv()
        for k in range(1, len(moved)):
            rest = moved[k]
            for i in range(1, k):
                rest = rest + moved[i] * turn[k - i] - turn[i] * own[k - i]
            own.append(_joined(*_diagonal(rest, m)))
            across = _block(rest, (0, m), (m, n)) * settle * -1
            back = settle * _block(rest, (m, n), (0, m))
            zero = unit * 0
            turn.append(_joined(_block(zero, (0, m), (0, m)), across, back, _block(zero, (m, n), (m, n))))
        return [first * part for part in turn], own

    @property
    def _basis(self) -> Series:
        return self._reduced[0]

    @cached_property
    def _inverse(self) -> Series:
        """T(h)^-1."""
        basis = self._basis
        first = basis[0].inv()
        found: Series = [first]
        for k in range(1, len(basis)):
            total = basis[k] * found[0]
            for i in range(1, k):
                total = total + basis[i] * found[k - i]
            found.append(first * total * -1)
        return found

    @cached_property
    def _slow_map(self) -> Series:
        m = self.series.slow
        return [_block(part, (0, m), (0, m)) for part in self._reduced[1]]

    @cached_property
    def _fast_map(self) -> Series:
        m, n = self.series.slow, self._size
        return [_block(part, (m, n), (m, n)) for part in self._reduced[1]]

    @cached_property
    def _shift(self) -> Series:
        return _times(self._inverse, self.series.shift)

    @cached_property
    def _covariance(self) -> Series:
        return _times(_times(self._inverse, self.series.covariance), transposed(self._inverse))


def _times(left: Sequence[Any], right: Sequence[Any]) -> Series:
    """The product of two series, to the orders that both have."""
    found = []
    for k in range(min(len(left), len(right))):
        total = left[0] * right[k]
        for i in range(1, k + 1):
            total = total + left[i] * right[k - i]
        found.append(total)
    return found


def _divided_by_decay(maps: Sequence[Any], right: Sequence[Any]) -> Series:
    """x with (I - A(h)) x = right, A = I + h A_1 + ..., right = O(h)."""
    inverse = maps[1].inv()
    found: Series = []
    for k in range(min(len(maps), len(right)) - 1):
        total = right[k + 1]
        for i in range(1, k + 1):
            total = total + maps[i + 1] * found[k - i]
        found.append(inverse * total * -1)
    return found


def _resolved(maps: Sequence[Any], right: Sequence[Any]) -> Series:
    """x with (I - N(h)) x = right."""
    inverse = (_unit(type(maps[0]), maps[0].nrows()) - maps[0]).inv()
    found: Series = []
    for k in range(min(len(maps), len(right))):
        total = right[k]
        for i in range(1, k + 1):
            total = total + maps[i] * found[k - i]
        found.append(inverse * total)
    return found


def _sylvester_of_decay(maps: Sequence[Any], right: Sequence[Any], orders: int) -> Series:
    """X with X - A X A^T = right = O(h), A = I + h A_1 + ...."""
    return lyapunov_series(maps[1 : orders + 1], list(right[1 : orders + 1]))


def _sylvester(left: Sequence[Any], right: Sequence[Any], sources: Sequence[Any], orders: int) -> Series:
    """X with X - L(h) X R(h) = sources, regular at h = 0."""
    rows, columns, kind = left[0].nrows(), right[0].nrows(), type(left[0])
    pairs = [(i, j) for i in range(rows) for j in range(columns)]
    system = kind(
        [[int((i, j) == (a, b)) - left[0][i, a] * right[0][b, j] for a, b in pairs] for i, j in pairs]
    )
    inverse = system.inv()
    found: Series = []
    for k in range(orders):
        total = sources[k]
        for l, known in enumerate(found):
            for i in range(k - l + 1):
                total = total + left[i] * known * right[k - l - i]
        column = inverse * kind(len(pairs), 1, [total[i, j] for i, j in pairs])
        found.append(kind(rows, columns, [column[p, 0] for p in range(len(pairs))]))
    return found


def _unit(kind: Any, size: int) -> Matrix:
    return kind(size, size, [int(i == j) for i in range(size) for j in range(size)])


def _block(matrix: Matrix, rows: tuple[int, int], columns: tuple[int, int]) -> Matrix:
    entries = [matrix[i, j] for i in range(*rows) for j in range(*columns)]
    return type(matrix)(rows[1] - rows[0], columns[1] - columns[0], entries)


def _rows(matrix: Matrix, first: int, last: int) -> Matrix:
    return _block(matrix, (first, last), (0, matrix.ncols()))


def _stacked(upper: Matrix, lower: Matrix) -> Matrix:
    entries = [*upper.entries(), *lower.entries()]
    return type(upper)(upper.nrows() + lower.nrows(), upper.ncols(), entries)


def _joined(a: Matrix, b: Matrix, c: Matrix, d: Matrix) -> Matrix:
    """[[a, b], [c, d]]."""
    n, m = a.nrows() + c.nrows(), a.ncols() + b.ncols()
    return type(a)(
        n,
        m,
        [
            (a if j < a.ncols() else b)[i, j - (j >= a.ncols()) * a.ncols()]
            if i < a.nrows()
            else (c if j < a.ncols() else d)[i - a.nrows(), j - (j >= a.ncols()) * a.ncols()]
            for i in range(n)
            for j in range(m)
        ],
    )


def _diagonal(matrix: Matrix, m: int) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    n, zero = matrix.nrows(), matrix * 0
    return (
        _block(matrix, (0, m), (0, m)),
        _block(zero, (0, m), (m, n)),
        _block(zero, (m, n), (0, m)),
        _block(matrix, (m, n), (m, n)),
    )


__all__ = ["TwoScaleExpansion", "TwoScaleSeries"]
