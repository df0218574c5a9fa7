"""The carrier of balls: a potential read on real balls, on complex boxes and on power series of balls.

On a complex box a function with a branch cut answers with a ball without bounds where its argument may meet the cut,
so that a finite answer says that the potential is analytic on the box, and is the continuation of the real one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import acb, arb, arb_series, fmpq

from sgverify.schemes.mathematics import cos, exp, expm1, log, sin, softplus, sqrt
from sgverify.targets import Matrix, Vector, constant


class Balls(Vector):
    """A vector of real balls (`arb`), complex boxes (`acb`) or power series of balls (`arb_series`)."""

    def __mul__(self, number: Any) -> Vector:
        factor = as_ball(number)
        return self._made(entry * factor for entry in self.entries)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> Vector:
        divisor = as_ball(number)
        return self._made(entry / divisor for entry in self.entries)


def as_ball(number: Any) -> Any:
    """An exact number as a ball at the working precision; a ball as it is."""
    if isinstance(number, Fraction):
        return arb(fmpq(number.numerator, number.denominator))
    return arb(number) if isinstance(number, int | float) else number


@constant.register
def _(like: Balls, value: Vector | Matrix) -> Any:
    if isinstance(value, Matrix):
        return Matrix([as_ball(entry) for entry in row] for row in value.rows)
    return Balls(as_ball(entry) for entry in value.entries)


@exp.register(arb)
@exp.register(acb)
@exp.register(arb_series)
def _(value: Any) -> Any:
    return value.exp()


@expm1.register(arb)
@expm1.register(acb)
@expm1.register(arb_series)
def _(value: Any) -> Any:
    return value.exp() - 1


@sin.register(arb)
@sin.register(acb)
@sin.register(arb_series)
def _(value: Any) -> Any:
    return value.sin()


@cos.register(arb)
@cos.register(acb)
@cos.register(arb_series)
def _(value: Any) -> Any:
    return value.cos()


@log.register(arb)
@log.register(arb_series)
def _(value: Any) -> Any:
    return value.log()


@log.register(acb)
def _(value: acb) -> acb:
    return value.log() if _off_the_cut(value) else _WITHOUT_BOUNDS


@sqrt.register(arb)
@sqrt.register(arb_series)
def _(value: Any) -> Any:
    return value.sqrt()


@sqrt.register(acb)
def _(value: acb) -> acb:
    return value.sqrt() if _off_the_cut(value) else _WITHOUT_BOUNDS


@softplus.register(arb)
@softplus.register(acb)
@softplus.register(arb_series)
def _(value: Any) -> Any:
    # Both forms are the real function's continuation. Right of 0 the second has no cut, however high the box is, and
    # its series does not lose tiny coefficients in a quotient of huge ones.
    start = value.real if isinstance(value, acb) else value[0] if isinstance(value, arb_series) else value
    return value + log(1 + (-value).exp()) if start > 0 else log(1 + value.exp())


def _off_the_cut(value: acb) -> bool:
    """Whether no point of the box lies on (-oo, 0], where log and sqrt are not analytic."""
    return bool(value.real > 0) or not bool(value.imag.contains(0))


_WITHOUT_BOUNDS = acb(arb.nan(), arb.nan())
