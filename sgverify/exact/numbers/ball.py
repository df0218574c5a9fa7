"""Ball arithmetic: exact inputs, a working precision, and answers that carry their own error bound.

A ball `arb` is a midpoint and a radius that together enclose the true number. An evaluation whose balls are
too wide is repeated at twice the precision, from the exact inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb, arb_mat, fmpq

from sgverify.errors import SgverifyError
from sgverify.schemes.definition.mathematics import erf
from sgverify.schemes.numbers.algebraic import Algebraic, Irrational
from sgverify.schemes.numbers.roots import Root
from sgverify.schemes.numbers.rounded import Rounded
from sgverify.targets.potential import ARRAYS

STARTING_BITS = 192
RELATIVE_ERROR = 1e-12
ROUNDS = 4


class PrecisionLostError(SgverifyError):
    """The balls grew too wide at this working precision; `refine` answers it with more bits."""


@dataclass(frozen=True)
class Certified:
    """A float with a rigorous bound: the true number lies in [value - error_bound, value + error_bound].

    `vanishes` says that the ball still held 0 with a radius below 2^(-bits/2) after two precisions: the
    number is zero as far as `bits` bits can tell, and `value` is then 0.0.
    """

    value: float
    error_bound: float
    bits: int
    vanishes: bool
    ball: arb

    @property
    def relative_error(self) -> float:
        """error_bound / |value|; 0 for a number that vanishes."""
        if self.vanishes or self.error_bound == 0.0:
            return 0.0
        return self.error_bound / abs(self.value) if self.value else math.inf


def refine(
    evaluate: Callable[[int], arb],
    *,
    relative: float = RELATIVE_ERROR,
    bits: int = STARTING_BITS,
    rounds: int = ROUNDS,
) -> Certified:
    """Evaluate at `bits`, 2 `bits`, ... until the relative radius is at most `relative`.

    `evaluate(bits)` runs with `flint.ctx.prec == bits`. After `rounds` rounds the last ball is returned with
    its honest, wider bound; `PrecisionLostError` is raised if no round gave a finite ball.
    """
    ball: arb | None = None
    held_zero = False
    lost: PrecisionLostError | None = None
    used = bits
    for attempt in range(rounds):
        used = bits << attempt
        with flint.ctx.workprec(used):
            try:
                ball = evaluate(used)
            except PrecisionLostError as error:
                lost = error
                continue
            if not ball.is_finite():
                lost, ball = PrecisionLostError("a ball without bounds"), None
                continue
            if ball.rad() <= arb(relative) * ball.abs_lower():
                return _certified(ball, used, vanishes=bool(ball.is_zero()))
            if ball.contains(0) and ball.rad() < arb(2) ** (-(used // 2)):
                if held_zero:
                    return _certified(ball, used, vanishes=True)
                held_zero = True
    if ball is None:
        raise lost or PrecisionLostError(f"rounds={rounds}: at least one round is needed")
    return _certified(ball, used, vanishes=False)


def number(value: Any) -> arb:
    """The ball of an int, Fraction, fmpq, float (the dyadic it is) or arb at the working precision."""
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return arb(value)


def enclosed(value: Irrational) -> arb:
    """The ball of an exact irrational number at the working precision, or of an interval."""
    if isinstance(value, Rounded):
        return number(value.low).union(number(value.high))
    assert isinstance(value, Algebraic)
    total = arb(0)
    for monomial, factor in value.terms.items():
        term = number(factor)
        for generator, exponent in monomial:
            if isinstance(generator, Root):
                low, high = generator.enclosure(int(flint.ctx.prec) + 8)
                term *= number(low).union(number(high)) ** int(exponent)
            else:
                term *= arb(generator).root(exponent.denominator) ** exponent.numerator
        total += term
    return total


@dataclass(frozen=True)
class ScalarKind:
    """A kind of number (balls, float64 arrays, ...): its conversion from exact numbers and coefficients, and its functions."""

    number: Callable[[Fraction | Irrational], Any]
    exp: Callable[[Any], Any]
    expm1: Callable[[Any], Any]
    sqrt: Callable[[Any], Any]
    log: Callable[[Any], Any]
    sin: Callable[[Any], Any]
    cos: Callable[[Any], Any]
    erf: Callable[[Any], Any]
    coefficient: Callable[[fmpq], Any]


def _ball(value: Any) -> arb:
    return enclosed(value) if isinstance(value, Irrational) else number(value)


def _float(value: Any) -> float:
    return float(value)


BALLS = ScalarKind(_ball, arb.exp, arb.expm1, arb.sqrt, arb.log, arb.sin, arb.cos, arb.erf, arb)
"""Balls at flint's working precision: every rounding is enclosed."""

FLOATS = ScalarKind(
    _float,
    np.exp,
    np.expm1,
    np.sqrt,
    np.log,
    np.sin,
    np.cos,
    ARRAYS[erf],
    lambda c: int(c.p) / int(c.q),
)
"""float64 arrays, one entry per step size."""


def column(values: Iterable[Any]) -> arb_mat:
    """An n x 1 matrix of balls."""
    entries = [number(value) for value in values]
    return arb_mat(len(entries), 1, entries)


def matrix(rows: Iterable[Sequence[Any]]) -> arb_mat:
    """A matrix of balls from its rows."""
    return arb_mat([[number(value) for value in row] for row in rows])


def identity(size: int) -> arb_mat:
    """The size x size unit matrix, exactly."""
    return arb_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])


def reshaped(values: arb_mat, rows: int, columns: int) -> arb_mat:
    """The same entries in row-major order under another shape."""
    return arb_mat(rows, columns, values.entries())


def inner(left: arb_mat, right: arb_mat) -> arb:
    """sum_ij left_ij right_ij, for two matrices of one shape."""
    return (left.transpose() * right).trace()


def frobenius(values: arb_mat) -> arb:
    """An upper bound of the Frobenius norm, which is sub-multiplicative and at least the spectral norm."""
    # Upper bounds are squared: the square of a ball around 0 reaches below 0, where the root has no bounds.
    return sum((entry.abs_upper() ** 2 for entry in values.entries()), arb(0)).sqrt().upper()


def euclidean(values: Iterable[arb]) -> arb:
    """The Euclidean norm of the entries as a ball; the ball contains 0 only where every entry may vanish."""
    entries = list(values)
    low = sum((entry.abs_lower() ** 2 for entry in entries), arb(0)).sqrt()
    high = sum((entry.abs_upper() ** 2 for entry in entries), arb(0)).sqrt()
    return low.union(high)


def widened(values: arb_mat, radius: arb) -> arb_mat:
    """Every entry of `values` enlarged by +- `radius`."""
    rows, columns = values.nrows(), values.ncols()
    slack = arb(0, radius.upper())
    return values + arb_mat(rows, columns, [slack] * (rows * columns))


def _certified(ball: arb, bits: int, *, vanishes: bool) -> Certified:
    value = 0.0 if vanishes else float(ball.mid())
    with flint.ctx.workprec(max(bits, 64)):
        gap = (ball - arb(value)).abs_upper()
    # float() rounds to nearest: one step up keeps the bound a bound.
    bound = 0.0 if gap.is_zero() else math.nextafter(float(gap), math.inf)
    return Certified(value=value, error_bound=bound, bits=bits, vanishes=vanishes, ball=ball)


_ITERATIONS = 200


def cholesky(matrix: arb_mat) -> arb_mat:
    """The lower triangular L with L L^T = A; that every pivot is positive proves A positive definite.

    shape: n x n, symmetric. Raises `PrecisionLostError` where a pivot is not certainly positive.
    """
    n = matrix.nrows()
    rows = [[arb(0)] * n for _ in range(n)]
    for j in range(n):
        for i in range(j, n):
            value = matrix[i, j] - sum((rows[i][k] * rows[j][k] for k in range(j)), arb(0))
            if i > j:
                rows[i][j] = value / rows[j][j]
            elif value > 0:
                rows[j][j] = value.sqrt()
            else:
                raise PrecisionLostError(f"pivot={value.str(5)}: not certainly positive")
    return arb_mat(rows)


def square_root(matrix: arb_mat) -> arb_mat:
    """The symmetric positive semidefinite B with B B = A, for A positive semidefinite; shape: n x n.

    An approximation X that is proved positive definite is enough: D = B - X solves the Sylvester equation
    B D + D X = A - X X, so |D|_F <= |A - X X|_F / lambda_min(X) <= |A - X X|_F |X^-1|_F. Raises
    `PrecisionLostError` where A is singular as far as the working precision can tell, unless it is 0.
    """
    if all(entry == 0 for entry in matrix.entries()):
        return matrix
    root = _approximate_root(symmetric_middle(matrix))
    cholesky(root)
    return widened(root, frobenius(matrix - root * root) * frobenius(root.inv()))


def _approximate_root(matrix: arb_mat) -> arb_mat:
    """Denman and Beavers' iteration Y' = (Y + Z^-1)/2, Z' = (Z + Y^-1)/2 on midpoints: Y -> A^(1/2)."""
    y, z = matrix, identity(matrix.nrows())
    # It converges quadratically: once a step changes less than half the digits, the next one gives them all.
    enough = arb(2) ** -(flint.ctx.prec // 2)
    for _ in range(_ITERATIONS):
        try:
            following = symmetric_middle((y + z.inv()) / 2), symmetric_middle((z + y.inv()) / 2)
        except ZeroDivisionError as error:
            raise PrecisionLostError("a matrix that is singular to the working precision") from error
        moved = frobenius(following[0] - y)
        y, z = following
        if moved <= enough * frobenius(y):
            following = symmetric_middle((y + z.inv()) / 2), z
            return following[0]
    raise PrecisionLostError(f"no square root after {_ITERATIONS} iterations")


def symmetric_middle(matrix: arb_mat) -> arb_mat:
    """The midpoints of (A + A^T)/2."""
    return ((matrix + matrix.transpose()) / 2).mid()
