"""Quadratic functions read off their values: second differences are exact, whatever the step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

from flint import fmpq, fmpq_mat

from sgverify.errors import DefinitionError
from sgverify.targets.potential import Matrix, Vector, constant

Rows = tuple[tuple[Fraction, ...], ...]

_ZERO = fmpq(0)
_CONSTANTS: WeakKeyDictionary[Vector | Matrix, Any] = WeakKeyDictionary()


@dataclass(frozen=True)
class Quadratic:
    """f(z) = value + gradient . z + z^T hessian z / 2, exactly."""

    value: Fraction
    gradient: tuple[Fraction, ...]
    hessian: Rows

    def __call__(self, point: Sequence[Any]) -> Any:
        """The value at `point`, d exact numbers."""
        total = self.value
        for z, slope, row in zip(point, self.gradient, self.hessian, strict=True):
            total += z * (slope + sum(h * w for h, w in zip(row, point, strict=True) if h) / 2)
        return total


def read_quadratic(function: Callable[[Vector], Any], dim: int) -> Quadratic:
    """The coefficients of a quadratic function of `dim` exact coordinates, from its values alone.

    With f_i = f(e_i): H_ii = f(e_i) + f(-e_i) - 2 f(0), H_ij = f(e_i + e_j) - f_i - f_j + f(0),
    g_i = (f(e_i) - f(-e_i))/2. Raises `DefinitionError` where one more point shows that it is not quadratic.
    """

    def at(*places: int, amount: int = 1) -> Fraction:
        return _value(function(_Rational(fmpq(amount) if k in places else _ZERO for k in range(dim))))

    origin = at()
    above = [at(i) for i in range(dim)]
    below = [at(i, amount=-1) for i in range(dim)]
    hessian = [[Fraction(0)] * dim for _ in range(dim)]
    for i in range(dim):
        hessian[i][i] = above[i] + below[i] - 2 * origin
        for j in range(i):
            hessian[i][j] = hessian[j][i] = at(i, j) - above[i] - above[j] + origin
    gradient = tuple((up - down) / 2 for up, down in zip(above, below, strict=True))
    found = Quadratic(origin, gradient, tuple(tuple(row) for row in hessian))
    probe = [i + 2 for i in range(dim)]
    if _value(function(_Rational(map(fmpq, probe)))) != found(probe):
        raise DefinitionError(
            f"the potential {getattr(function, '__name__', function)!r} is not quadratic; expected a quadratic one, "
            "which is what exact precisions and means are read from; use a method that needs no exact law."
        )
    return found


def inverse(rows: Sequence[Sequence[Fraction]]) -> Rows:
    """The exact inverse of a non-singular matrix."""
    dim = len(rows)
    found = _flint(rows, dim).inv()
    return tuple(tuple(_fraction(found[i, j]) for j in range(dim)) for i in range(dim))


def leading_minors(rows: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """The determinants of the upper left blocks; all positive means positive definite (Sylvester)."""
    return [_fraction(_flint(rows, size).det()) for size in range(1, len(rows) + 1)]


class _Rational(Vector):
    """The carrier of this reading: flint's rationals, matrix products in one call; much faster than `Fraction`."""

    def __matmul__(self, matrix: Any) -> Vector:
        return _Rational((fmpq_mat(1, len(self.entries), list(self.entries)) * matrix).entries())


@constant.register
def _(like: _Rational, value: Vector | Matrix) -> Any:
    if value not in _CONSTANTS:
        if isinstance(value, Matrix):
            _CONSTANTS[value] = _flint(value.rows, len(value.rows))
        else:
            _CONSTANTS[value] = _Rational(fmpq(entry.numerator, entry.denominator) for entry in value.entries)
    return _CONSTANTS[value]


def _value(result: Any) -> Fraction:
    return _fraction(result) if isinstance(result, fmpq) else Fraction(result)


def _flint(rows: Sequence[Sequence[Fraction]], size: int) -> fmpq_mat:
    return fmpq_mat(size, size, [fmpq(e.numerator, e.denominator) for row in rows[:size] for e in row[:size]])


def _fraction(number: fmpq) -> Fraction:
    return Fraction(int(number.p), int(number.q))
