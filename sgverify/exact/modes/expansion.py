"""Rational functions of a matrix: r(P) X for one matrix P of fractions and few columns X.

The stationary bias at h = 0 on a dense precision, in fractions: its coefficients are functions of the precision.

Where the gradient has no noise, or noise of the covariance c 1, all blocks of M(h), c(h) and Q(h) are polynomials in P
and commute. The equations of `chain.expansion` are then those of one mode over the field of rational functions: solved
once, for every dimension and precision, they give the blocks of m_k and S_k as functions r(P). A coefficient b_k is a sum
of x^T r(P) y over the coefficients of phi, where r = 0 proves that a term vanishes; the others ask for equations in
P with few right-hand sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from flint import arb, arb_mat, fmpq, fmpq_mat, fmpq_poly

from sgverify.exact.affine.model import Model
from sgverify.exact.affine.stability import eigenvalues_of
from sgverify.exact.affine.step_series import StepSeries
from sgverify.exact.chain.chain import QuadraticForm
from sgverify.exact.chain.expansion import ORDERS, AffineSeries, Expansion, SteadyExpansion
from sgverify.exact.chain.lyapunov import require_decay
from sgverify.exact.rings.polynomials import FunctionMatrix, RationalFunction, to_fmpq

__all__ = ["AtMatrix", "ModeExpansion", "common_noise"]


MOST_EXACT = 5_000
"""Columns times coordinates up to which equations are solved in fractions; more are solved in balls."""


@dataclass(frozen=True)
class AtMatrix:
    """The values r(P) x of rational functions at one matrix P of fractions, for columns x; equations are solved once."""

    matrix: fmpq_mat
    _solved: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, rows: Sequence[Sequence[Fraction]]) -> AtMatrix:
        """For a matrix of exact numbers."""
        return cls(fmpq_mat([[fmpq(x.numerator, x.denominator) for x in row] for row in rows]))

    def applied(self, function: RationalFunction, columns: fmpq_mat) -> Any:
        """r(P) X for X of shape (d, m): in fractions, or in balls at the working precision where they would be too many."""
        if function == 0:
            return columns * 0
        value: Any = self._divided(function.below, columns)
        matrix: Any = self.matrix if isinstance(value, fmpq_mat) else arb_mat(self.matrix)
        total = value * 0
        for c in reversed(function.above.coeffs()):
            total = matrix * total + value * c
        return total

    def _divided(self, below: fmpq_poly, columns: fmpq_mat) -> Any:
        if below.degree() == 0:
            return columns
        key = str(below), str(columns)
        if key not in self._solved:
            n = self.matrix.nrows()
            exact = n * columns.ncols() <= MOST_EXACT
            matrix: Any = self.matrix if exact else arb_mat(self.matrix)
            total = matrix * 0
            for c in reversed(below.coeffs()):
                total = total * matrix
                for i in range(n):
                    total[i, i] = total[i, i] + c
            self._solved[key] = total.solve(columns if exact else arb_mat(columns))
        return self._solved[key]


def common_noise(model: Model) -> fmpq | None:
    """c, where the covariance of the gradient's noise is c 1; None where it has another one."""
    own = model.noise.covariance
    if own is None:
        return fmpq(0)
    d = own.nrows()
    same = all(own[i, j] == (own[0, 0] if i == j else 0) for i in range(d) for j in range(d))
    return own[0, 0] if same else None


@dataclass(frozen=True)
class ModeExpansion:
    """The expansion of a model whose gradient noise has a covariance c 1, and whose scheme has no memory.

    Raises `Unreached` where a coefficient of the step is no fraction, and `NotExpandableError` as `StepSeries`.
    """

    model: Model

    @cached_property
    def bias(self) -> Expansion:
        """b_0, ..., b_(ORDERS - 1): the stationary average of phi minus the true one, in powers of h."""
        self._require_decay()
        steady = SteadyExpansion(self._series, self._nothing)
        means, covariances = steady.mean, steady.covariance
        constant, linear, form = self.model.observable.quadratic_form()
        points = [self._points(mean) for mean in means]
        found: list[Any] = []
        for k in range(ORDERS):
            value: Any = to_fmpq(constant) - to_fmpq(self.model.truth) if k == 0 else fmpq(0)
            for place, c in enumerate(linear):
                if c:
                    value = value + to_fmpq(c) * points[k][place]
            for i, row in enumerate(form):
                for j, c in enumerate(row):
                    if c:
                        products = (points[l][i] * points[k - l][j] for l in range(k + 1))
                        value = value + to_fmpq(c) * sum(products, fmpq(0))
            found.append(value + self._traced(form, covariances[k]))
        return Expansion(tuple(found))

    def _points(self, mean: FunctionMatrix) -> list[Any]:
        """m_k over all coordinates; `mean` has the functions that apply to mu and to 1, k x 2."""
        target, values = self.model.target, []
        sources = [
            fmpq_mat(target.dim, 1, [to_fmpq(v) for v in target.mean]),
            fmpq_mat(target.dim, 1, [1] * target.dim),
        ]
        for row in mean.rows:
            parts = [self._at.applied(r, x) for r, x in zip(row, sources, strict=True)]
            values += [a + b for a, b in zip(parts[0].entries(), parts[1].entries(), strict=True)]
        return values

    def _traced(self, form: Sequence[Sequence[Any]], covariance: FunctionMatrix) -> Any:
        """tr(A S_k)."""
        d, total = self.model.target.dim, fmpq(0)
        for a in range(len(form) // d):
            for b in range(len(form) // d):
                block = [row[b * d : (b + 1) * d] for row in form[a * d : (a + 1) * d]]
                columns = [j for j in range(d) if any(row[j] for row in block)]
                if not columns or covariance[a, b] == 0:
                    continue
                units = fmpq_mat(d, len(columns), [int(i == j) for i in range(d) for j in columns])
                value = self._at.applied(covariance[a, b], units)
                for place, j in enumerate(columns):
                    for i in range(d):
                        if block[i][j]:
                            total = total + to_fmpq(block[i][j]) * value[i, place]
        return total

    @cached_property
    def _at(self) -> AtMatrix:
        return AtMatrix.of(self.model.target.precision)

    @property
    def _nothing(self) -> QuadraticForm:
        k = len(self.model.scheme.state)
        return QuadraticForm(fmpq(0), FunctionMatrix(k, 1), FunctionMatrix(k, k))

    @cached_property
    def _series(self) -> AffineSeries:
        """M(h), c(h) and Q(h) as matrices of functions; c(h) of shape k x 2, by what applies to mu and to 1."""
        step = StepSeries(self.model, ORDERS)
        variable = fmpq_poly([0, 1])
        powers = [FunctionMatrix([[variable**k]]) for k in range(step.highest + 1)]
        noise = common_noise(self.model)
        own = None if not noise else FunctionMatrix([[noise]])
        return step.read_with(powers, FunctionMatrix([[1, 0]]), FunctionMatrix([[0, 1]]), own)

    def _require_decay(self) -> None:
        first = self._series.map[0]
        for value in eigenvalues_of(self.model.target.precision):
            require_decay(arb_mat([[entry.at(arb(value)) for entry in row] for row in first.tolist()]))
