"""A potential as the polynomial that it is: its exact coefficients, by one evaluation of its definition on polynomials.

Quadratic functions have their linear algebra here: gradient, Hessian, inverse, leading minors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from flint import Ordering, arb_mat, fmpq, fmpq_mat, fmpq_mpoly, fmpq_mpoly_ctx

from sgverify.errors import DefinitionError
from sgverify.schemes.numbers.algebraic import exact
from sgverify.targets.potential import Matrix, Vector, constant

Monomial = tuple[int, ...]
Form = dict[Monomial, fmpq]
"""{exponents of the coordinates: coefficient}, without zeros."""

_CONSTANTS: WeakKeyDictionary[Vector | Matrix, Any] = WeakKeyDictionary()


def read_form(function: Callable[[Vector], Any], variables: int) -> Form:
    """The coefficients of a polynomial function of `variables` exact coordinates.

    Raises `DefinitionError` where the function uses more than sums, products and division by numbers.
    """
    context = fmpq_mpoly_ctx.get([f"z{i}" for i in range(variables)], Ordering.lex)
    try:
        value = function(_Polynomials(context.gens()))
    except (DefinitionError, ArithmeticError, TypeError) as error:
        # Polynomials over the rationals do not meet floats, such as pi.
        reason = str(error).partition(" was called")[0]
        raise DefinitionError(
            f"it is not a polynomial: {reason}; expected sums, products and division by numbers"
        ) from None
    if not isinstance(value, fmpq_mpoly):
        value = context.constant(as_fmpq(value))
    return form_of(value)


def form_of(polynomial: fmpq_mpoly) -> Form:
    """The coefficients of a polynomial of flint's."""
    return {tuple(map(int, exponents)): c for exponents, c in polynomial.to_dict().items()}


class _Polynomials(Vector):
    """Vectors of flint's polynomials over the rationals, on which `read_form` evaluates a potential."""

    def __mul__(self, number: Any) -> Vector:
        factor = number if isinstance(number, fmpq_mpoly) else as_fmpq(number)
        return self._made(a * factor for a in self.entries)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> Vector:
        return self * (1 / as_fmpq(number))


@constant.register
def _(like: _Polynomials, value: Vector | Matrix) -> Any:
    if value not in _CONSTANTS:
        if isinstance(value, Matrix):
            _CONSTANTS[value] = Matrix([as_fmpq(entry) for entry in row] for row in value.rows)
        else:
            _CONSTANTS[value] = Vector(as_fmpq(entry) for entry in value.entries)
    return _CONSTANTS[value]


def as_fmpq(number: Any) -> fmpq:
    """An exact rational number for flint. Raises `DefinitionError` for an irrational one."""
    if isinstance(number, fmpq):
        return number
    fraction = exact(number)
    if not isinstance(fraction, Fraction):
        raise DefinitionError(f"{number!r} is not rational; expected rational constants in a potential")
    return fmpq(fraction.numerator, fraction.denominator)


Rows = tuple[tuple[Fraction, ...], ...]

_FAR = 1e-250


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
        number = as_fraction(coefficient)
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
    return tuple(tuple(as_fraction(found[i, j]) for j in range(dim)) for i in range(dim))


def inverse_in_balls(rows: Sequence[Sequence[Fraction]]) -> arb_mat:
    """The same as balls of the working precision: of 200 coupled coordinates the long fractions take a minute."""
    return arb_mat(_flint(rows, len(rows))).inv()


def solved(rows: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """x with A x = b, exactly, for a non-singular A. Shapes (d, d), (d,) -> (d,)."""
    column = fmpq_mat(len(right), 1, [fmpq(e.numerator, e.denominator) for e in right])
    found = _flint(rows, len(right)).solve(column)
    return tuple(as_fraction(entry) for entry in found.entries())


def certainly_positive_definite(rows: Sequence[Sequence[Fraction]]) -> bool:
    """Whether a Cholesky factorisation in float64 proves a symmetric matrix positive definite; False proves nothing.

    With u = 2^-53 and c = (2 n + 8) u tr A let B be A - c 1 rounded, so that A = B + c 1 + D with |D|_F <= u |A|_F + 2 u tr A +
    O(u^2) <= 3 u tr A + O(u^2), as |A|_F <= tr A for a positive semidefinite A; where it is larger, the second test below
    fails. If the factorisation of B runs to its end with the factor R, then R^T R = B + F, |F| <= g |R^T| |R| entry by entry
    with g = (n + 1) u/(1 - (n + 1) u) (Higham 2002, Accuracy and Stability of Numerical Algorithms, theorem 10.3), and
    |r_j|^2 <= b_jj/(1 - g) gives |F|_F <= g/(1 - g) tr B. R^T R being positive semidefinite, the least eigenvalue of A is at
    least c - 3 u tr A - g/(1 - g) tr A > 0.
    """
    array = np.array([[float(entry) for entry in row] for row in rows])
    trace, size = float(np.trace(array)), len(array)
    # Far from the ends of float64 nothing underflows, and n is far below 1/u.
    if not (_FAR < trace < 1 / _FAR and np.diag(array).min() > 0 and np.linalg.norm(array) <= trace):
        return False
    shift = (2 * size + 8) * 2.0**-53 * trace
    try:
        np.linalg.cholesky(array - shift * np.eye(size))
    except np.linalg.LinAlgError:
        return False
    return True


def leading_minors(rows: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """The determinants of the upper left blocks; all positive means positive definite (Sylvester)."""
    return [as_fraction(_flint(rows, size).det()) for size in range(1, len(rows) + 1)]


def _flint(rows: Sequence[Sequence[Fraction]], size: int) -> fmpq_mat:
    return fmpq_mat(size, size, [fmpq(e.numerator, e.denominator) for row in rows[:size] for e in row[:size]])


def as_fraction(number: fmpq) -> Fraction:
    """A rational number of flint's."""
    return Fraction(int(number.p), int(number.q))
