"""What a float in a definition stands for: Python has rounded it before anyone sees it.

`math.sqrt(2)` stands for a root and 1 - 0.9 for a tenth, and read as the decimals that they print as they would make a right
step one that is wrong by 1e-16. No run of a step tells numbers apart that are so near: what is read changes by less than
the roundings of the few operations that made the float. A float that stands for no simple number, such as math.cos(0.3), is
some number within these roundings, an interval: cos^2 + sin^2 = 1 is then neither proved nor false, and holds up to rounding.

What a difference leaves has the roundings of what it was taken of: 1 - 0.9999 is off by as much as 0.9999, 1e-12 of itself. It
shows in the float: the bits that cancelled are zeros at its end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sgverify.schemes.rounded import Rounded
from sgverify.schemes.surd import Irrational, Surd, exact, is_rounded, sqrt_of_rational

ROUNDINGS = 8
"""Operations of Python behind a float, at most: each may be off by 2^-53 of it."""

FEW = ROUNDINGS * 2.0**-53

LARGEST_DENOMINATOR = 1000
DIGITS = 9
"""Of a short decimal."""

CHANCE = 1e-3
"""With which a number that stands for nothing may be as near to a simple one: of 1e8, half a unit is within the roundings."""

CANCELLED, SURELY = 8, 256
"""Units in the last place that a float is a multiple of where a difference has left it; one in 8 others, and one in 256, is too.

The first is asked of one that is near a simple number, which few are by chance.
"""

LARGEST_LOSS = 1e-9
"""Of a float, by a difference: what has lost more is the float that it is."""

LEADING, LINEAR = 48, 96
"""The largest coefficients of a quadratic equation that a float is recognised as a root of."""


_MET: ContextVar[dict[float, None] | None] = ContextVar("met", default=None)


@contextmanager
def intervals_met() -> Iterator[dict[float, None]]:
    """Within, every float that is read as an interval is kept."""
    found: dict[float, None] = {}
    token = _MET.set(found)
    try:
        yield found
    finally:
        _MET.reset(token)


def literal(value: Any) -> Fraction | Irrational:
    """The exact number that a literal stands for: as `exact`, and of a float that is no short decimal the nearest simple number.

    A fraction, a decimal of a few digits, the root of a fraction, or the root of a small quadratic equation; where there is none
    within `ROUNDINGS` roundings it is the interval of these.

    >>> import math
    >>> literal(0.1 + 0.2), literal(1 - 0.9), literal(math.sqrt(2)), str(literal(math.cos(0.3)))
    (Fraction(3, 10), Fraction(1, 10), 1*sqrt(2), '0.955336489126 +/- 8.5e-16')
    >>> literal(1 - 0.9999), literal(1 - 0.9 - 0.1)
    (Fraction(1, 10000), Fraction(0, 1))
    """
    found = exact(value)
    if not is_rounded(value):
        return found
    simple = _simple(value)
    return _interval(value) if simple is None else simple


def _interval(value: float) -> Rounded:
    met = _MET.get()
    if met is not None:
        met[abs(value)] = None
    middle, radius = Fraction(value), Fraction(rounding_of(value))
    return Rounded(middle - radius, middle + radius)


def rounding_of(value: float, cancelled: int = SURELY) -> float:
    """How far the roundings behind a float may have moved it: its own, or those of what it was left of by a difference."""
    own = FEW * abs(value)
    # What was rounded to multiples of this float's lowest bit is off by half of it each time.
    last = 1 / value.as_integer_ratio()[1]
    lost = last * ROUNDINGS / 2
    return (
        max(own, lost) if last >= cancelled * math.ulp(value) and lost <= LARGEST_LOSS * abs(value) else own
    )


@lru_cache(maxsize=1024)
def _simple(value: float) -> Fraction | Surd | None:
    # Nothing but roundings of numbers about 1 is left, where all of them cancels.
    if abs(value) < 2.0**-52 and abs(value) % 2.0**-55 == 0:
        return Fraction(0)
    return next((number for number in _candidates(value) if _near(float(number), value)), None)


def _candidates(value: float) -> Iterator[Fraction | Surd]:
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
