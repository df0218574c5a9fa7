"""Exact answers about chains of many coordinates, in the eigenvectors of the precision where these decouple them.

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

import flint
from flint import arb, arb_mat, fmpq, fmpq_mat, fmpq_poly

from sgverify.errors import Unreached
from sgverify.exact.affine.model import Model, StepSize
from sgverify.exact.affine.stability import eigenvalues_of
from sgverify.exact.affine.step_series import StepSeries
from sgverify.exact.answers.normal_modes import NormalModes, Turned, stationary_average
from sgverify.exact.answers.quadratic import QuadraticAnswers
from sgverify.exact.answers.questions import Coefficients
from sgverify.exact.chain.chain import QuadraticForm
from sgverify.exact.chain.expansion import EXPANSION_BITS, ORDERS, AffineSeries, Expansion, SteadyExpansion
from sgverify.exact.chain.lyapunov import require_decay
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import Certified, PrecisionLostError, refine
from sgverify.exact.numbers.matrix_series import ones_column, rational_column, rational_matrix
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
        return cls(rational_matrix(rows))

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
        sources = [rational_column(target.mean), ones_column(target.dim)]
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


@dataclass(frozen=True)
class ModeAnswers(QuadraticAnswers):
    """The answers of `QuadraticAnswers`: the stationary bias mode by mode, its expansion by functions of the precision."""

    _turned: dict[int, Turned] = field(default_factory=dict, repr=False, compare=False)

    def stationary_bias(self, step: StepSize, position: int | None = None) -> Certified:
        """See `Answers`."""
        try:
            return refine(lambda bits: self._in_modes(bits, step()))
        except PrecisionLostError:
            # Eigenvalues so near one another that their eigenvectors are not found: the chain as a whole remains.
            return super().stationary_bias(step, position)

    def _in_modes(self, bits: int, step: arb) -> arb:
        if bits not in self._turned:
            self._turned[bits] = Turned.of(self.model)
        return stationary_average(NormalModes(self._turned[bits], step)) - ball.number(self.truth)

    def expansion_at(self, position: int | None) -> Coefficients:
        """See `Answers`."""
        with flint.ctx.workprec(EXPANSION_BITS):
            expansion = self._of_functions
        return super().expansion_at(position) if expansion is None else expansion

    @cached_property
    def _of_functions(self) -> Coefficients | None:
        """The expansion in fractions; None for a memory, an irrational step, or noise that is not the same in all directions."""
        if self.model.scheme.memory or common_noise(self.model) is None:
            return None
        try:
            return Coefficients.of(ModeExpansion(self.model).bias)
        except Unreached:
            return None

    @property
    def arithmetic(self) -> str | None:
        """See `Answers`."""
        where = (
            "values at a step size: balls of at least 192 bits in the eigenvectors of the precision, with a proved bound of "
            "what these leave coupled"
        )
        return (
            where
            if self._of_functions is None
            else f"{where}; coefficients: rational functions of the precision, in fractions"
        )
