"""Rational functions of a matrix: r(P) X for one matrix P of fractions and few columns X."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from flint import arb_mat, fmpq, fmpq_mat, fmpq_poly

from sgverify.exact.rings.rational_functions import RationalFunction

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


__all__ = ["AtMatrix"]
