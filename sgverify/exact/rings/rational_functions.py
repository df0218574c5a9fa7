"""Rational functions of one variable over the fractions, and matrices of them.

Zero is recognised as zero, so that what vanishes is proved to vanish wherever the function is defined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import fmpq, fmpq_poly

from sgverify.schemes.definition.arithmetic import LiftedArithmetic


class RationalFunction(LiftedArithmetic):
    """above/below in lowest terms, below monic: polynomials over the fractions."""

    __slots__ = ("above", "below")

    def __init__(self, above: Any, below: Any = 1) -> None:
        above, below = fmpq_poly(above), fmpq_poly(below)
        common = above.gcd(below)
        if common.degree() > 0:
            above, below = above // common, below // common
        lead = below[below.degree()]
        self.above = above / lead
        self.below = below / lead

    def lift(self, value: Any) -> RationalFunction | None:
        """A function, a polynomial or a fraction as a function; None for anything else."""
        if isinstance(value, RationalFunction):
            return value
        if isinstance(value, int | fmpq | fmpq_poly):
            return RationalFunction(value)
        return None

    def _plus(self, other: RationalFunction) -> RationalFunction:
        if self.below == other.below:
            return RationalFunction(self.above + other.above, self.below)
        return RationalFunction(self.above * other.below + other.above * self.below, self.below * other.below)

    def _times(self, other: RationalFunction) -> RationalFunction:
        return RationalFunction(self.above * other.above, self.below * other.below)

    def _over(self, other: RationalFunction) -> RationalFunction:
        return RationalFunction(self.above * other.below, self.below * other.above)

    def __neg__(self) -> RationalFunction:
        return RationalFunction(-self.above, self.below)

    def at(self, number: Any) -> Any:
        """The value at a number of any kind."""
        return _horner(self.above, number) / _horner(self.below, number)

    def __eq__(self, other: object) -> bool:
        lifted = self.lift(other)
        return lifted is not None and self.above == lifted.above and self.below == lifted.below

    def __hash__(self) -> int:
        return hash((str(self.above), str(self.below)))

    def __repr__(self) -> str:
        return f"RationalFunction({self.above!s}, {self.below!s})"


class FunctionMatrix:
    """A matrix of rational functions, with the operations that the expansions of `chain` ask of flint's matrices.

    Made from rows, or from its shape and, row by row, its entries.
    """

    __slots__ = ("rows",)

    def __init__(self, rows: Any, columns: int | None = None, entries: Sequence[Any] | None = None) -> None:
        if columns is not None:
            flat = [0] * (rows * columns) if entries is None else list(entries)
            rows = [flat[i * columns : (i + 1) * columns] for i in range(rows)]
        self.rows = [[_lifted(entry) for entry in row] for row in rows]

    def nrows(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def ncols(self) -> int:
        """The number of columns."""
        return len(self.rows[0])

    def tolist(self) -> list[list[RationalFunction]]:
        """The rows."""
        return [list(row) for row in self.rows]

    def entries(self) -> list[RationalFunction]:
        """The entries, row by row."""
        return [entry for row in self.rows for entry in row]

    def transpose(self) -> FunctionMatrix:
        """The transpose."""
        return FunctionMatrix(list(zip(*self.rows, strict=True)))

    def __getitem__(self, place: tuple[int, int]) -> RationalFunction:
        return self.rows[place[0]][place[1]]

    def __add__(self, other: FunctionMatrix) -> FunctionMatrix:
        pairs = zip(self.rows, other.rows, strict=True)
        return FunctionMatrix([[a + b for a, b in zip(*rows, strict=True)] for rows in pairs])

    def __sub__(self, other: FunctionMatrix) -> FunctionMatrix:
        return self + other * -1

    def __mul__(self, other: Any) -> FunctionMatrix:
        if not isinstance(other, FunctionMatrix):
            return FunctionMatrix([[entry * other for entry in row] for row in self.rows])
        columns = other.transpose().rows
        return FunctionMatrix([[_inner(row, column) for column in columns] for row in self.rows])

    def inv(self) -> FunctionMatrix:
        """The inverse, by elimination; raises `ZeroDivisionError` where there is none."""
        n = self.nrows()
        rows = [[*row, *(_lifted(int(i == j)) for j in range(n))] for i, row in enumerate(self.rows)]
        for k in range(n):
            pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
            if pivot is None:
                raise ZeroDivisionError("a singular matrix of functions")
            rows[k], rows[pivot] = rows[pivot], rows[k]
            rows[k] = [entry / rows[k][k] for entry in rows[k]]
            for i in range(n):
                if i != k and rows[i][k] != 0:
                    rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
        return FunctionMatrix([row[n:] for row in rows])


def _lifted(entry: Any) -> RationalFunction:
    return entry if isinstance(entry, RationalFunction) else RationalFunction(entry)


def _inner(left: Sequence[RationalFunction], right: Sequence[RationalFunction]) -> RationalFunction:
    total = RationalFunction(0)
    for a, b in zip(left, right, strict=True):
        if a != 0 and b != 0:
            total = total + a * b
    return total


def _horner(polynomial: fmpq_poly, number: Any) -> Any:
    total = 0 * number
    for c in reversed(polynomial.coeffs()):
        total = total * number + c
    return total
