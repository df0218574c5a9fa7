"""A printed decimal, or a float that Python has rounded, as what it says: some number in an interval with rational ends."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sgverify.schemes.algebraic import Algebraic
from sgverify.schemes.surd import Irrational, Surd

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
        ends = _ends(other)
        return NotImplemented if ends is None else Rounded(self.low + ends[0], self.high + ends[1])

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        ends = _ends(other)
        return NotImplemented if ends is None else Rounded(self.low - ends[1], self.high - ends[0])

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        ends = _ends(other)
        if ends is None:
            return NotImplemented
        if not any(ends):
            # Known exactly, whatever the number is.
            return Fraction(0)
        products = [a * b for a in (self.low, self.high) for b in ends]
        return Rounded(min(products), max(products))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        ends = _ends(other)
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
        """Whether it is the same interval, as data: that the two numbers are equal nobody knows."""
        return isinstance(other, Rounded) and (self.low, self.high) == (other.low, other.high)

    def __hash__(self) -> int:
        return hash((self.low, self.high))

    def __str__(self) -> str:
        return f"{float(self.middle):.12g} +/- {float(self.radius):.1e}"

    def __repr__(self) -> str:
        return f"Rounded({self.low}, {self.high})"


def _ends(value: object) -> tuple[Fraction, Fraction] | None:
    if isinstance(value, Rounded):
        return value.low, value.high
    if isinstance(value, Algebraic | Surd):
        return value.enclosure(BITS)
    if isinstance(value, int | Fraction):
        return Fraction(value), Fraction(value)
    return None


def _reciprocal(low: Fraction, high: Fraction) -> Rounded:
    if low <= 0 <= high:
        raise ZeroDivisionError("division by an interval that holds 0")
    return Rounded(1 / high, 1 / low)
