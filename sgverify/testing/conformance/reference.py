"""What is the exact result of a definition on given inputs? The reference interpreter runs it on balls.

Every other interpreter is compared with this one. A `TrackedBall` encloses the exact result in a ball, and also
carries a running bound of the error that an evaluation in floating point, operation for operation, may have
(Wilkinson's running error analysis; Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import flint
from flint import arb, fmpq

from sgverify.schemes import dot, exact, exp, expm1, sqrt
from sgverify.schemes.definition.binding import Arithmetic, LiftedArithmetic
from sgverify.schemes.definition.mathematics import (
    TWO_BY_ROOT_PI,
    cos,
    erf,
    first_entry,
    log,
    power,
    register,
    sin,
)
from sgverify.schemes.numbers.algebraic import Algebraic, Irrational
from sgverify.schemes.numbers.constants import constants_like, linear_image, repeated, repeated_rows

DOUBLE = 2.0**-53
"""Unit roundoff of float64."""

SMALLEST = {2.0**-53: 2.0**-1074, 2.0**-24: 2.0**-149}
"""The smallest positive number of each format: what a rounding may be off where results underflow."""

LIBRARY = 2.0
"""Units in the last place that exp, expm1 and sqrt of a numerical library may be off, generously."""

Exact = int | float | Fraction | Irrational


class TrackedBall(LiftedArithmetic):
    """An exact number in a ball, with a bound of the error of its floating-point counterpart."""

    __slots__ = ("error", "unit", "value")

    def __init__(self, value: arb, error: arb, unit: float) -> None:
        self.value = value
        self.error = error
        self.unit = unit

    @classmethod
    def rounded(cls, value: Exact | arb, unit: float) -> TrackedBall:
        """A number that floating point holds to one rounding."""
        ball = value if isinstance(value, arb) else as_ball(value)
        return cls(ball, _size(ball) * arb(unit), unit)

    @classmethod
    def held(cls, value: Exact, unit: float) -> TrackedBall:
        """A number that floating point holds exactly."""
        return cls(as_ball(value), arb(0), unit)

    def lift(self, value: Any) -> TrackedBall | None:
        """A whole number as it is held, any other exact one rounded."""
        if isinstance(value, TrackedBall):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return TrackedBall.held(value, self.unit)
        return TrackedBall.rounded(value, self.unit) if isinstance(value, Exact) else None

    def _made(self, value: arb, error: arb, ulps: float = 1.0) -> TrackedBall:
        """The result of one operation: the propagated errors of its operands, and one rounding of the computed value."""
        rounding = (_size(value) + error) * arb(ulps * self.unit) + arb(SMALLEST.get(self.unit, 0.0))
        return TrackedBall(value, error + rounding, self.unit)

    def __neg__(self) -> TrackedBall:
        return TrackedBall(-self.value, self.error, self.unit)

    def _plus(self, right: TrackedBall) -> TrackedBall:
        return self._made(self.value + right.value, self.error + right.error)

    def _times(self, right: TrackedBall) -> TrackedBall:
        error = _size(self.value) * right.error + _size(right.value) * self.error + self.error * right.error
        return self._made(self.value * right.value, error)

    def _over(self, right: TrackedBall) -> TrackedBall:
        quotient = self.value / right.value
        # x'/y' - x/y = ((x' - x) - (x/y)(y' - y)) / y'.
        error = (self.error + _size(quotient) * right.error) / (_least(right.value) - right.error)
        return self._made(quotient, error)

    def __pow__(self, exponent: Any) -> Any:
        if not isinstance(exponent, int):
            return power(self, exponent)
        result: Any = TrackedBall.held(1, self.unit)
        for _ in range(abs(exponent)):
            result = result * self
        return result if exponent >= 0 else 1 / result


class Numbers(Arithmetic):
    """A vector of the state, entry by entry."""

    __slots__ = ("entries",)

    def __init__(self, entries: Sequence[TrackedBall]) -> None:
        self.entries = list(entries)

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        others = other.entries if isinstance(other, Numbers) else [other] * len(self.entries)
        results = [operation(a, b) for a, b in zip(self.entries, others, strict=True)]
        return NotImplemented if any(result is NotImplemented for result in results) else Numbers(results)

    def __pow__(self, exponent: Any) -> Numbers:
        return Numbers([entry**exponent for entry in self.entries])

    def __neg__(self) -> Numbers:
        return Numbers([-entry for entry in self.entries])


def as_ball(value: Exact) -> arb:
    """The ball of an exact number; a float is the decimal it prints as."""
    number = exact(value)
    if isinstance(number, Algebraic):
        low, high = number.enclosure(int(flint.ctx.prec) + 8)
        return _ratio(low).union(_ratio(high))
    assert isinstance(number, Fraction)
    return _ratio(number)


def _ratio(number: Fraction) -> arb:
    return arb(fmpq(number.numerator, number.denominator))


def _size(value: arb) -> arb:
    return arb(value.abs_upper())


def _least(value: arb) -> arb:
    return arb(value.abs_lower())


@dot.register
def _(left: Numbers, right: Any) -> Any:
    total: Any = None
    for a, b in zip(left.entries, right.entries, strict=True):
        total = a * b if total is None else total + a * b
    return total


@exp.register
def _(value: TrackedBall) -> TrackedBall:
    # |e^x' - e^x| <= e^|x' - x| e^x |x' - x|.
    result = value.value.exp()
    return value._made(result, result * value.error.exp() * value.error, LIBRARY)


@expm1.register
def _(value: TrackedBall) -> TrackedBall:
    result = value.value.expm1()
    return value._made(result, value.value.exp() * value.error.exp() * value.error, LIBRARY)


@sqrt.register
def _(value: TrackedBall) -> TrackedBall:
    # |sqrt x' - sqrt x| = |x' - x| / (sqrt x' + sqrt x) <= |x' - x| / sqrt x.
    result = value.value.sqrt()
    error = value.error / result if value.error != 0 else arb(0)
    return value._made(result, error, LIBRARY)


def _of_bounded_slope(function: Any, value: TrackedBall) -> TrackedBall:
    # Of sin and cos no slope is above 1, of erf none above 2/sqrt(pi).
    return value._made(getattr(value.value, function.__name__)(), value.error * TWO_BY_ROOT_PI, LIBRARY)


register(TrackedBall, _of_bounded_slope, (sin, cos, erf))


@log.register
def _(value: TrackedBall) -> TrackedBall:
    # |log x' - log x| <= |x' - x| / (x - |x' - x|).
    return value._made(value.value.log(), value.error / (_least(value.value) - value.error), LIBRARY)


register(Numbers, lambda function, value: Numbers([function(entry) for entry in value.entries]))


@constants_like.register
def _(like: Numbers, numbers: tuple[Any, ...]) -> Numbers:
    unit = like.entries[0].unit
    return Numbers([TrackedBall.rounded(number, unit) for number in repeated(numbers, len(like.entries))])


@linear_image.register
def _(vector: Numbers, rows: tuple[Any, ...]) -> Numbers:
    size = len(vector.entries)
    return Numbers([dot(constants_like(vector, row), vector) for row in repeated_rows(rows, size)])


@first_entry.register
def _(draw: Numbers) -> TrackedBall:
    return draw.entries[0]
