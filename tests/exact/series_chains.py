"""Random affine chains whose map, shift and noise are short polynomials in the step size, in fractions."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from flint import arb_mat, fmpq, fmpq_mat

from sgverify.exact.chain.chain import AffineChain, ChainProblem, QuadraticForm
from sgverify.exact.chain.expansion import AffineSeries, Expansion, expand_bias, expand_decay
from sgverify.exact.numbers.ball import number


@dataclass
class SeriesChain:
    """M = I + h M_1 + h^2 M_2, c = h c_1 + h^2 c_2, Q = h Q_1 + h^2 Q_2; M_1 is stable."""

    maps: list[fmpq_mat]
    shifts: list[fmpq_mat]
    covariances: list[fmpq_mat]
    observable: QuadraticForm
    target: fmpq
    start: fmpq_mat
    start_covariance: fmpq_mat

    def series(self, orders: int) -> AffineSeries:
        def padded(matrices: list[fmpq_mat]) -> list[fmpq_mat]:
            return (matrices + [matrices[0] * 0] * orders)[:orders]

        return AffineSeries(padded(self.maps), padded(self.shifts), padded(self.covariances))

    def problem(self, step: fmpq, target: object | None = None) -> ChainProblem:
        """The chain at one step size, in balls at the working precision."""
        n = self.start.nrows()
        unit = fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
        m, c, q = (a * step + b * step**2 for a, b in (self.maps, self.shifts, self.covariances))
        chain = AffineChain(
            arb_mat(unit + m), arb_mat(c), arb_mat(q), arb_mat(self.start), arb_mat(self.start_covariance)
        )
        phi = self.observable
        observable = QuadraticForm(number(phi.constant), arb_mat(phi.linear), arb_mat(phi.quadratic))
        return ChainProblem(chain, observable, number(self.target if target is None else target))


def expand(series: Any, observable: QuadraticForm, target: Any) -> Expansion:
    """b_0, b_1, ... of a step in powers of h."""
    return expand_bias(series.steady(observable), target)


def expand_transient(series: Any, observable: QuadraticForm, *start: Any) -> Expansion:
    """tau_0, tau_1, ..."""
    return expand_decay(series.steady(observable), *start)


def random_series_chain(size: int, seed: int, *, coupled: bool = True) -> SeriesChain:
    """Coefficients are tenths; uncoupled chains have diagonal matrices throughout."""
    draw = random.Random(seed)

    def some(rows: int, columns: int) -> fmpq_mat:
        entries = [
            fmpq(draw.randint(-9, 9), 10) if coupled or i == j or columns == 1 else fmpq(0)
            for i in range(rows)
            for j in range(columns)
        ]
        return fmpq_mat(rows, columns, entries)

    def positive() -> fmpq_mat:
        root = some(size, size)
        return root * root.transpose()

    unit = fmpq_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])
    form = some(size, size)
    return SeriesChain(
        maps=[some(size, size) - unit * (size + 1), some(size, size)],
        shifts=[some(size, 1), some(size, 1)],
        covariances=[positive() + unit, positive()],
        observable=QuadraticForm(fmpq(3, 7), some(size, 1), form + form.transpose()),
        target=fmpq(1, 5),
        start=some(size, 1),
        start_covariance=positive(),
    )
