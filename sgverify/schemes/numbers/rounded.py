"""Rounded numbers as intervals with rational ends: a printed decimal, or a float that Python has rounded.

`math.sqrt(2)` stands for a root and 1 - 0.9 for a tenth; read as the decimals that they print as, they would make a correct
step wrong by 1e-16. No run of a step distinguishes numbers that are so near: the value read differs from the float by less
than the roundings of the few operations that made it. A float that stands for no simple number, such as math.cos(0.3), is
an interval of these roundings: cos^2 + sin^2 = 1 is then neither proved nor false, and holds up to rounding.

A difference has the roundings of its operands: 1 - 0.9999 is off by as much as 0.9999, which is 1e-12 of the difference. The
cancelled bits are zeros at the end of the float.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sgverify.schemes.numbers.algebraic import Algebraic, Irrational, exact, is_rounded, sqrt_of_rational

BITS = 256  # how sharply an irrational number is enclosed where it meets an interval


class Rounded(Irrational):
    """Some number in [low, high]; sums, products and quotients enclose every value that they can take.

    Two occurrences of one interval are two numbers: nothing cancels, and what is enclosed may be wider than needed.
    """

    __slots__ = ("high", "low")

    def __init__(self, low: Fraction, high: Fraction) -> None:
        self.low = low
        self.high = high

    @property
    def middle(self) -> Fraction:
        """The middle of the interval: the decimal that was printed, or the float."""
        return (self.low + self.high) / 2

    @property
    def radius(self) -> Fraction:
        """Half the width: half a unit in the last place that was printed, or the roundings behind a float."""
        return (self.high - self.low) / 2

    def __float__(self) -> float:
        return float(self.middle)

    def __neg__(self) -> Rounded:
        return Rounded(-self.high, -self.low)

    def __add__(self, other: Any) -> Any:
        ends = ends_of(other)
        return NotImplemented if ends is None else Rounded(self.low + ends[0], self.high + ends[1])

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        ends = ends_of(other)
        return NotImplemented if ends is None else Rounded(self.low - ends[1], self.high - ends[0])

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        ends = ends_of(other)
        if ends is None:
            return NotImplemented
        if not any(ends):
            # Known exactly, whatever the number is.
            return Fraction(0)
        products = [a * b for a in (self.low, self.high) for b in ends]
        return Rounded(min(products), max(products))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        ends = ends_of(other)
        return NotImplemented if ends is None else self * _reciprocal(*ends)

    def __rtruediv__(self, other: Any) -> Any:
        return _reciprocal(self.low, self.high) * other

    def __pow__(self, exponent: int) -> Any:
        base = self if exponent >= 0 else _reciprocal(self.low, self.high)
        result: Any = Fraction(1)
        for _ in range(abs(exponent)):
            result = base * result
        return result

    def __bool__(self) -> bool:
        return bool(self.low or self.high)

    def __eq__(self, other: object) -> bool:
        """Whether the two intervals are the same data; the numbers in them may still differ."""
        return isinstance(other, Rounded) and (self.low, self.high) == (other.low, other.high)

    def __hash__(self) -> int:
        return hash((self.low, self.high))

    def __str__(self) -> str:
        return f"{float(self.middle):.12g} +/- {float(self.radius):.1e}"

    def __repr__(self) -> str:
        return f"Rounded({self.low}, {self.high})"


def ends_of(value: object) -> Any:
    """Rationals around an exact number, (low, high); None for anything else."""
    if isinstance(value, Rounded):
        return value.low, value.high
    if isinstance(value, Algebraic):
        return value.enclosure(BITS)
    if isinstance(value, int | Fraction):
        return Fraction(value), Fraction(value)
    return None


def _reciprocal(low: Fraction, high: Fraction) -> Rounded:
    if low <= 0 <= high:
        raise ZeroDivisionError("division by an interval that holds 0")
    return Rounded(1 / high, 1 / low)


ROUNDINGS = 8
"""The largest number of operations behind a float; each may be off by 2^-53 of its result."""

FEW = ROUNDINGS * 2.0**-53

LARGEST_DENOMINATOR = 1000
DIGITS = 9
"""The digits of a short decimal, at most."""

CHANCE = 1e-3
"""With which a number that stands for nothing may be as near to a simple one: of 1e8, half a unit is within the roundings."""

CANCELLED, SURELY = 8, 256
"""Units in the last place that a float is a multiple of where a difference has left it; one in 8 others, and one in 256, is too.

The first is asked of one that is near a simple number, which few are by chance.
"""

LARGEST_LOSS = 1e-9
"""The largest relative rounding that a difference may have left; a float that lost more is read as it is."""

LEADING, LINEAR = 48, 96
"""The largest coefficients of a quadratic equation that a float is recognised as a root of."""


_MET: ContextVar[dict[float, None] | None] = ContextVar("met", default=None)


@contextmanager
def intervals_met() -> Iterator[dict[float, None]]:
    """Context that collects every float which is read as an interval."""
    found: dict[float, None] = {}
    token = _MET.set(found)
    try:
        yield found
    finally:
        _MET.reset(token)


def literal(value: Any) -> Fraction | Irrational:
    """The exact number that a literal stands for: as `exact` reads it, or, for a float that is no short decimal, a simple number.

    Simple numbers are fractions, decimals of a few digits, roots of fractions, and roots of small quadratic equations. Where
    none lies within `ROUNDINGS` roundings of the float, the literal is the interval of these roundings.

    >>> import math
    >>> literal(0.1 + 0.2), literal(1 - 0.9), literal(math.sqrt(2)), str(literal(math.cos(0.3)))
    (Fraction(3, 10), Fraction(1, 10), 2^(1/2), '0.955336489126 +/- 8.5e-16')
    >>> literal(1 - 0.9999), literal(1 - 0.9 - 0.1)
    (Fraction(1, 10000), Fraction(0, 1))
    """
    if type(value) is Fraction:
        return value
    # A definition meets the same few literals in every step: 2, 0.5, h/2.
    found = _read(value) if type(value) in (int, float) else _as_read(value)
    return _interval(value) if found is None else found


def _as_read(value: Any) -> Fraction | Irrational | None:
    """The exact number of a literal; None for a float that is near no simple one."""
    return _simple(value) if is_rounded(value) else exact(value)


_read = lru_cache(maxsize=4096, typed=True)(_as_read)


def _interval(value: float) -> Rounded:
    met = _MET.get()
    if met is not None:
        met[abs(value)] = None
    middle, radius = Fraction(value), Fraction(rounding_of(value))
    return Rounded(middle - radius, middle + radius)


def rounding_of(value: float, cancelled: int = SURELY) -> float:
    """A bound of the roundings behind a float: those of its size, or of the size of the terms whose difference it is."""
    own = FEW * abs(value)
    # What was rounded to multiples of this float's lowest bit is off by half of it each time.
    last = 1 / value.as_integer_ratio()[1]
    lost = last * ROUNDINGS / 2
    return (
        max(own, lost) if last >= cancelled * math.ulp(value) and lost <= LARGEST_LOSS * abs(value) else own
    )


@lru_cache(maxsize=1024)
def _simple(value: float) -> Fraction | Algebraic | None:
    # Nothing but roundings of numbers about 1 is left, where all of them cancels.
    if abs(value) < 2.0**-52 and abs(value) % 2.0**-55 == 0:
        return Fraction(0)
    return next((number for number in _candidates(value) if _near(float(number), value)), None)


def _candidates(value: float) -> Iterator[Fraction | Algebraic]:
    most = _largest_denominator(value, rounding_of(value, CANCELLED))
    if most:
        yield Fraction(value).limit_denominator(most)
    digits = min(DIGITS, int(math.log10(CHANCE / 2 * abs(value) / rounding_of(value, CANCELLED))))
    yield Fraction(f"{value:.{digits - 1}e}")
    most = _largest_denominator(value * value, 0.0)
    square = Fraction(value * value).limit_denominator(most) if most else Fraction(0)
    if square and abs(float(square) - value * value) <= FEW * value * value:
        yield sqrt_of_rational(square) * (1 if value > 0 else -1)
    # Each of the equations is near by chance with its largest terms times a few roundings.
    if 4 * LEADING**2 * LINEAR * value * value * FEW > CHANCE:
        return
    for a in range(1, LEADING + 1):
        for b in range(-LINEAR, LINEAR + 1):
            t = a * value * value + b * value
            c = round(t)
            # A root of a v^2 + b v = c is off by the residual over the slope.
            slope = abs(2 * a * value + b) * abs(value)
            if c and abs(t - c) <= 2 * FEW * (slope + abs(t)) and b * b + 4 * a * c > 0:
                root = sqrt_of_rational(Fraction(b * b + 4 * a * c))
                sign = 1 if 2 * a * value + b > 0 else -1
                yield (root * sign - b) * Fraction(1, 2 * a)


def _largest_denominator(value: float, near: float) -> int:
    """There are about q^2 / 3 fractions with denominators up to q between two whole numbers."""
    return int(min(LARGEST_DENOMINATOR, (CHANCE / max(FEW, FEW * abs(value), near)) ** 0.5))


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= rounding_of(other, CANCELLED)
