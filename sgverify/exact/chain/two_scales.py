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
from flint import arb_mat, fmpq_mat

from sgverify.errors import NotExpandableError
from sgverify.exact.affine.matrices import nonzero
from sgverify.exact.chain.chain import QuadraticForm
from sgverify.exact.chain.expansion import SteadyExpansion, steady_means
from sgverify.exact.chain.lyapunov import Matrix, floats, require_decay
from sgverify.exact.numbers.matrix_series import (
    MatrixSeries,
    block_matrix,
    blocks_of,
    lyapunov_series,
    termwise,
    unit_matrix,
)


@dataclass(frozen=True)
class TwoScaleSeries:
    """M, c and Q from h^0 on, with mean and covariance of the start; the first `slow` coordinates stay as h -> 0."""

    map: MatrixSeries
    shift: MatrixSeries
    covariance: MatrixSeries
    slow: int
    start_mean: Sequence[Matrix]
    start_covariance: Sequence[Matrix]

    @property
    def orders(self) -> int:
        """How many coefficients of the invariant law are determined."""
        return len(self.map.terms) - 1

    def cut(self, orders: int) -> TwoScaleSeries:
        """The series with fewer orders."""
        parts = (self.map, self.shift, self.covariance)
        m, c, q = (MatrixSeries(part.terms[: orders + 1]) for part in parts)
        return TwoScaleSeries(m, c, q, self.slow, self.start_mean, self.start_covariance)

    @property
    def noise(self) -> Matrix:
        """Q at h^1."""
        return self.covariance.terms[1]

    @property
    def rational(self) -> bool:
        """Whether the coefficients of the step are fractions; those of the start, a multiple of a spread, do not count."""
        parts = (self.map, self.shift, self.covariance)
        return all(isinstance(matrix, fmpq_mat) for part in parts for matrix in part.terms)

    def in_balls(self) -> TwoScaleSeries:
        """The series in balls at the working precision."""
        m, c, q = (termwise(arb_mat, part) for part in (self.map, self.shift, self.covariance))
        mean, spread = (
            [arb_mat(matrix) for matrix in part] for part in (self.start_mean, self.start_covariance)
        )
        return TwoScaleSeries(m, c, q, self.slow, mean, spread)

    def steady(self, observable: QuadraticForm) -> TwoScaleExpansion:
        """The invariant law and the Poisson equation of phi."""
        return TwoScaleExpansion.of(self, observable)


@dataclass(frozen=True)
class TwoScaleExpansion(SteadyExpansion):
    """The invariant law and the Poisson equation of phi as power series in h, for a step with memory.

    Raises `NotExpandableError` where the fast block does not contract, or the slow one has no invariant law.
    """

    def __post_init__(self) -> None:
        fast = self._fast.terms[0]
        if fast.nrows() and not np.abs(np.linalg.eigvals(floats(arb_mat(fast)))).max() < 1 - 1e-6:
            raise NotExpandableError("a memory that does not forget its start as h -> 0")
        moved = self._inverse.terms[0] * self.series.shift.terms[0], self._covariance.terms[0]
        if any(nonzero(blocks_of(matrix, self._sizes, [matrix.ncols()])[0][0]) for matrix in moved):
            raise NotExpandableError("noise or drift that the state has at h = 0 too")
        require_decay(self._slow.terms[1])

    def begun(
        self, mean: Matrix | None, covariance: Matrix | None
    ) -> tuple[SteadyExpansion, Sequence[Any], Sequence[Any]]:
        """See `SteadyExpansion.begun`; the start is that of the series."""
        phi = self.observable
        form = QuadraticForm(phi.constant, arb_mat(phi.linear), arb_mat(phi.quadratic))
        steady = TwoScaleExpansion.of(self.series, form)
        return steady, steady.series.start_mean, steady.series.start_covariance

    @cached_property
    def mean(self) -> list[Matrix]:
        """m_0, m_1, ...: n x 1."""
        found = self._resolved(self._inverse * self.series.shift, self._slow, self._fast, self._basis)
        return list(found.terms)

    @cached_property
    def covariance(self) -> list[Matrix]:
        """S_0, S_1, ...: n x n."""
        own = self._lyapunov(self._slow, self._fast, self._covariance)
        return list((self._basis * own * self._basis.transpose()).terms)

    @cached_property
    def poisson_linear(self) -> list[Matrix]:
        """epsilon_k with e = (1/h) sum_k epsilon_k h^k solving (I - M^T) e = b~."""
        right = self._basis.transpose() * MatrixSeries(self.gradient)
        # h b~, as e is of order 1/h.
        shifted = MatrixSeries([right.terms[0] * 0, *right.terms])
        slow, fast = self._slow.transpose(), self._fast.transpose()
        return list(self._resolved(shifted, slow, fast, self._inverse.transpose()).terms)

    @cached_property
    def poisson_quadratic(self) -> list[Matrix]:
        """E_k with E = (1/h) sum_k E_k h^k solving E - M^T E M = A."""
        form = MatrixSeries.constant(self.observable.quadratic, self.series.orders)
        right = self._basis.transpose() * form * self._basis
        shifted = MatrixSeries([right.terms[0] * 0, *right.terms])
        own = self._lyapunov(self._slow.transpose(), self._fast.transpose(), shifted)
        return list((self._inverse.transpose() * own * self._inverse).terms)

    def _resolved(
        self, right: MatrixSeries, slow: MatrixSeries, fast: MatrixSeries, basis: MatrixSeries
    ) -> MatrixSeries:
        """The basis times x with x - diag(A, N) x = right, which is O(h) in the slow block."""
        upper, lower = (termwise(lambda r, k=k: blocks_of(r, self._sizes, [1])[k][0], right) for k in (0, 1))
        above = MatrixSeries(steady_means(slow.terms[1:], upper.terms[1 : len(slow.terms)]))
        below = MatrixSeries(_regular(fast, lower))
        return basis * termwise(lambda a, b: block_matrix([[a], [b]]), above, below)

    def _lyapunov(self, slow: MatrixSeries, fast: MatrixSeries, right: MatrixSeries) -> MatrixSeries:
        """X from h^0 on with X - diag(A, N) X diag(A, N)^T = right, which is O(h) in the slow block."""
        orders = self.series.orders
        blocks = [blocks_of(r, self._sizes, self._sizes) for r in right.terms]
        upper = lyapunov_series(slow.terms[1 : orders + 1], [b[0][0] for b in blocks[1 : orders + 1]])
        middle = _sylvester(slow, fast.transpose(), [b[0][1] for b in blocks], orders)
        lower = _sylvester(fast, fast.transpose(), [b[1][1] for b in blocks], orders)
        parts = zip(upper, middle, lower, strict=True)
        return MatrixSeries([block_matrix([[u, m], [m.transpose(), l]]) for u, m, l in parts])

    @cached_property
    def _sizes(self) -> list[int]:
        """The coordinates of the slow and of the fast block."""
        return [self.series.slow, self.series.map.terms[0].nrows() - self.series.slow]

    @cached_property
    def _first_basis(self) -> Matrix:
        """T at h = 0, [[I, -K], [J, I]] with K = B (I - N)^-1 and J = (I - N)^-1 C for M_0 = [[I, B], [C, N]]."""
        limit = self.series.map.terms[0]
        kind, (m, n) = type(limit), self._sizes
        (slow, across), (back, own) = blocks_of(limit, self._sizes, self._sizes)
        if nonzero(slow - unit_matrix(m, kind)):
            raise NotExpandableError("a step that does not tend to the identity on the state")
        try:
            inverse = (unit_matrix(n, kind) - own).inv()
        except ZeroDivisionError:
            raise NotExpandableError("a memory that does not forget its start as h -> 0") from None
        if nonzero(across * inverse * back):
            raise NotExpandableError("a memory that moves the state at h = 0 too")
        return block_matrix(
            [[unit_matrix(m, kind), across * inverse * -1], [inverse * back, unit_matrix(n, kind)]]
        )

    @cached_property
    def _reduced(self) -> tuple[MatrixSeries, list[Matrix], list[Matrix]]:
        """T(h), A(h) and N(h)."""
        first = self._first_basis
        inverse = first.inv()
        moved = [inverse * matrix * first for matrix in self.series.map.terms]
        parts = blocks_of(moved[0], self._sizes, self._sizes)
        slow, fast = [parts[0][0]], [parts[1][1]]
        own = [_diagonal(slow[0], fast[0])]
        turn = [unit_matrix(first.nrows(), type(first))]
        settle = (unit_matrix(self._sizes[1], type(first)) - fast[0]).inv()
        for k in range(1, len(moved)):
            rest = moved[k]
            for i in range(1, k):
                rest = rest + moved[i] * turn[k - i] - turn[i] * own[k - i]
            parts = blocks_of(rest, self._sizes, self._sizes)
            slow.append(parts[0][0])
            fast.append(parts[1][1])
            own.append(_diagonal(slow[k], fast[k]))
            across, back = parts[0][1] * settle * -1, settle * parts[1][0]
            turn.append(block_matrix([[slow[k] * 0, across], [back, fast[k] * 0]]))
        return MatrixSeries([first * part for part in turn]), slow, fast

    @property
    def _basis(self) -> MatrixSeries:
        return self._reduced[0]

    @cached_property
    def _inverse(self) -> MatrixSeries:
        """T(h)^-1."""
        basis = self._basis.terms
        first = basis[0].inv()
        found = [first]
        for k in range(1, len(basis)):
            total = basis[k] * found[0]
            for i in range(1, k):
                total = total + basis[i] * found[k - i]
            found.append(first * total * -1)
        return MatrixSeries(found)

    @cached_property
    def _slow(self) -> MatrixSeries:
        """A."""
        return MatrixSeries(self._reduced[1])

    @cached_property
    def _fast(self) -> MatrixSeries:
        """N."""
        return MatrixSeries(self._reduced[2])

    @cached_property
    def _covariance(self) -> MatrixSeries:
        return self._inverse * self.series.covariance * self._inverse.transpose()


def _regular(maps: MatrixSeries, right: MatrixSeries) -> list[Matrix]:
    """x with (I - N(h)) x = right."""
    first = maps.terms[0]
    inverse = (unit_matrix(first.nrows(), type(first)) - first).inv()
    found: list[Matrix] = []
    for k, total in enumerate(right.terms[: len(maps.terms)]):
        for i in range(1, k + 1):
            total = total + maps.terms[i] * found[k - i]
        found.append(inverse * total)
    return found


def _sylvester(
    left: MatrixSeries, right: MatrixSeries, sources: Sequence[Matrix], orders: int
) -> list[Matrix]:
    """X with X - L(h) X R(h) = sources, regular at h = 0."""
    first, last = left.terms[0], right.terms[0]
    rows, columns, kind = first.nrows(), last.nrows(), type(first)
    pairs = [(i, j) for i in range(rows) for j in range(columns)]
    system = kind([[int((i, j) == (a, b)) - first[i, a] * last[b, j] for a, b in pairs] for i, j in pairs])
    inverse = system.inv()
    found: list[Matrix] = []
    for k in range(orders):
        total = sources[k]
        for l, known in enumerate(found):
            for i in range(k - l + 1):
                total = total + left.terms[i] * known * right.terms[k - l - i]
        column = inverse * kind(len(pairs), 1, [total[i, j] for i, j in pairs])
        found.append(kind(rows, columns, column.entries()))
    return found


def _diagonal(upper: Matrix, lower: Matrix) -> Matrix:
    kind, m, n = type(upper), upper.nrows(), lower.nrows()
    return block_matrix([[upper, kind(m, n)], [kind(n, m), lower]])


__all__ = ["TwoScaleExpansion", "TwoScaleSeries"]
