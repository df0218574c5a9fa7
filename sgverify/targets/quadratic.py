"""Quadratic functions by their exact coefficients, and the linear algebra that goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mat

from sgverify.errors import DefinitionError
from sgverify.targets.form import Form

Rows = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Quadratic:
    """f(z) = value + gradient . z + z^T hessian z / 2, exactly."""

    value: Fraction
    gradient: tuple[Fraction, ...]
    hessian: Rows

    def __call__(self, point: Sequence[Any]) -> Any:
        """The value at `point`, d exact numbers."""
        total = self.value
        for z, gradient, row in zip(point, self.gradient, self.hessian, strict=True):
            total += z * (gradient + sum(h * w for h, w in zip(row, point, strict=True) if h) / 2)
        return total


def quadratic_of(form: Form, dim: int) -> Quadratic:
    """The polynomial `form` of degree 2 in `dim` coordinates by value, gradient and Hessian at 0."""
    value, gradient = Fraction(0), [Fraction(0)] * dim
    hessian = [[Fraction(0)] * dim for _ in range(dim)]
    for monomial, coefficient in form.items():
        number = _fraction(coefficient)
        match [place for place, power in enumerate(monomial) for _ in range(power)]:
            case []:
                value = number
            case [i]:
                gradient[i] = number
            case [i, j]:
                hessian[i][j] = hessian[j][i] = 2 * number if i == j else number
            case _:
                raise DefinitionError(
                    f"it is not quadratic: it has a term of degree {sum(monomial)}; expected at most 2"
                )
    return Quadratic(value, tuple(gradient), tuple(tuple(row) for row in hessian))


def inverse(rows: Sequence[Sequence[Fraction]]) -> Rows:
    """The exact inverse of a non-singular matrix."""
    dim = len(rows)
    found = _flint(rows, dim).inv()
    return tuple(tuple(_fraction(found[i, j]) for j in range(dim)) for i in range(dim))


def leading_minors(rows: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """The determinants of the upper left blocks; all positive means positive definite (Sylvester)."""
    return [_fraction(_flint(rows, size).det()) for size in range(1, len(rows) + 1)]


def _flint(rows: Sequence[Sequence[Fraction]], size: int) -> fmpq_mat:
    return fmpq_mat(size, size, [fmpq(e.numerator, e.denominator) for row in rows[:size] for e in row[:size]])


def _fraction(number: fmpq) -> Fraction:
    return Fraction(int(number.p), int(number.q))
