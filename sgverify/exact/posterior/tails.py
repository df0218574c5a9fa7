"""Bounds of tails: polynomial bounds of a potential on a whole half-line, and of the integral beyond a cut.

The potential is evaluated on x = c + s t with s = 1 or -1, and every value carries polynomials in t with

    lower(t) <= value <= upper(t)    for all t >= 0,

exact ones (lower = upper) for sums, products and quotients by numbers, and bounds for other functions:

- exp is convex and increasing: exp(v) >= exp(l(t)) >= e^(l_0) (1 + l(t) - l_0), its tangent at l_0 = l(0);
- so is softplus: softplus(v) >= softplus(l_0) + (l(t) - l_0)/(1 + e^(-l_0)); and its slope is between 0 and 1, so
  softplus(v) <= softplus(u_0) + sum_(j >= 1) max(u_j, 0) t^j, as u(t) - u_0 <= that sum.

- the sine and the cosine are between -1 and 1.

The first two are sharp at t = 0 in value and slope. So a polynomial's tail is its own Taylor polynomial at c; log(1 + e^v) in
a likelihood gives the tangent, a Gaussian prior its parabola, and a mixture, -log sum, the tail of its widest Gaussian.
Where the lower bound of U/T has l_1 > 0 and l_j >= 0 beyond, U/T >= l_0 + l_1 t on the half-line, and

    int |x|^k e^(-U/T) <= e^(-l_0) int_0^oo (|c| + t)^k e^(-l_1 t) dt = e^(-l_0) sum_i C(k, i) |c|^(k-i) i!/l_1^(i+1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flint import arb

from sgverify.errors import DefinitionError
from sgverify.exact.posterior.panels import as_ball
from sgverify.schemes.definition.mathematics import cos, exp, log, sin, softplus, sqrt
from sgverify.targets import Matrix, Vector, constant

Polynomial = tuple[arb, ...]


class Bounds:
    """A function of t >= 0 between two polynomials in t; `upper` is None where there is none above."""

    __slots__ = ("lower", "upper")

    def __init__(self, lower: Polynomial, upper: Polynomial | None) -> None:
        self.lower = lower
        self.upper = upper

    @property
    def exact(self) -> bool:
        """Whether lower and upper bound are one polynomial, the function itself."""
        return self.upper is self.lower

    def __add__(self, other: Any) -> Bounds:
        other = _bounds(other)
        if self.exact and other.exact:
            return exactly(*_sum(self.lower, other.lower))
        above = None if self.upper is None or other.upper is None else _sum(self.upper, other.upper)
        return Bounds(_sum(self.lower, other.lower), above)

    __radd__ = __add__

    def __neg__(self) -> Bounds:
        return self * -1

    def __sub__(self, other: Any) -> Bounds:
        return self + -_bounds(other)

    def __rsub__(self, other: Any) -> Bounds:
        return -self + other

    def __mul__(self, other: Any) -> Bounds:
        other = _bounds(other)
        if self.exact and other.exact:
            return exactly(*_product(self.lower, other.lower))
        if self.exact:
            return other * self
        if not other.exact or len(other.lower) > 1:
            raise DefinitionError("a product of two functions that are no polynomials has no bound here")
        factor = other.lower[0]
        ends = [self.lower, self.upper] if factor >= 0 else [self.upper, self.lower]
        if not (factor >= 0 or factor <= 0):
            raise DefinitionError("a factor of unknown sign")
        scaled = [None if end is None else tuple(c * factor for c in end) for end in ends]
        return Bounds(_NOTHING if scaled[0] is None else scaled[0], scaled[1])

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Bounds:
        divisor = _bounds(other)
        if not divisor.exact or len(divisor.lower) > 1:
            raise DefinitionError("a quotient by a function of theta has no bound here")
        return self * exactly(1 / divisor.lower[0])

    def __pow__(self, exponent: int) -> Bounds:
        if not isinstance(exponent, int) or exponent < 1:
            raise DefinitionError(f"the power {exponent!r} has no bound here")
        value = self
        for _ in range(exponent - 1):
            value = value * self
        return value


class Tails(Vector):
    """A vector of `Bounds`, on which a potential is evaluated."""

    def __mul__(self, number: Any) -> Vector:
        return self._made(entry * number for entry in self.entries)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> Vector:
        return self._made(entry / number for entry in self.entries)


def exactly(*coefficients: arb) -> Bounds:
    """The polynomial in t with these coefficients, itself both of its bounds."""
    return Bounds(coefficients, coefficients)


def beyond(energy: Callable[[Bounds], Bounds], cut: arb, side: int, top: int) -> list[arb] | None:
    """Bounds of int |x|^k e^(-E(x)) dx over the half-line beyond the cut, k = 0..top; None where none is found."""
    lower = energy(exactly(cut, arb(side))).lower
    if len(lower) < 2 or not lower[1] > 0 or not all(c >= 0 for c in lower[2:]):
        return None
    height, slope, reach = (-lower[0]).exp(), lower[1], abs(cut)
    return [
        (
            height
            * sum(
                (
                    math.comb(k, i) * math.factorial(i) * reach ** (k - i) / slope ** (i + 1)
                    for i in range(k + 1)
                ),
                arb(0),
            )
        ).upper()
        for k in range(top + 1)
    ]


@constant.register
def _(like: Tails, value: Vector | Matrix) -> Any:
    if isinstance(value, Matrix):
        return Matrix([_bounds(entry) for entry in row] for row in value.rows)
    return Tails(_bounds(entry) for entry in value.entries)


@exp.register
def _(value: Bounds) -> Bounds:
    start = value.lower[0].exp()
    lower = (start, *(start * c for c in value.lower[1:]))
    if value.upper is not None and all(c <= 0 for c in value.upper[1:]):
        return Bounds(lower, (value.upper[0].exp(),))
    return Bounds(lower, None)


@softplus.register
def _(value: Bounds) -> Bounds:
    start = value.lower[0]
    slope = 1 / (1 + (-start).exp())
    lower = (softplus(start), *(slope * c for c in value.lower[1:]))
    if value.upper is None:
        return Bounds(lower, None)
    return Bounds(lower, (softplus(value.upper[0]), *(c.max(arb(0)) for c in value.upper[1:])))


@sin.register
@cos.register
def _(value: Bounds) -> Bounds:
    return Bounds((arb(-1),), (arb(1),))


@log.register
def _(value: Bounds) -> Bounds:
    return exactly(_number(value).log())


@sqrt.register
def _(value: Bounds) -> Bounds:
    return exactly(_number(value).sqrt())


def _number(value: Bounds) -> arb:
    if not value.exact or len(value.lower) > 1:
        raise DefinitionError("a logarithm or root of theta has no bound here")
    return value.lower[0]


def _bounds(value: Any) -> Bounds:
    return value if isinstance(value, Bounds) else exactly(as_ball(value))


def _sum(left: Polynomial, right: Polynomial) -> Polynomial:
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    return (*(a + b for a, b in zip(longer, shorter, strict=False)), *longer[len(shorter) :])


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    total = [arb(0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            total[i + j] = total[i + j] + a * b
    return tuple(total)


_NOTHING: Polynomial = (arb.neg_inf(),)
