"""Exact numbers with square roots: finite sums of r * sqrt(q), r rational, q a square-free integer."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

Rational = int | Fraction


class Irrational:
    """An exact number that is no fraction: what carriers lift beside int, float and Fraction."""

    __slots__ = ()

    def __float__(self) -> float:
        raise NotImplementedError

    def __neg__(self) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return NotImplemented

    def __mul__(self, other: Any) -> Any:
        return NotImplemented

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented


class Surd(Irrational):
    """An element of the field Q(sqrt 2, sqrt 3, ...) that is not rational, stored as {q: r}.

    `sqrt(2)*h/3` in a definition must stay exact in the exact readings and become a float64 in the
    sampled one; this is the number that can do both. Sums, products and quotients by a single root
    are closed; a rational result is handed back as `Fraction`. Beside a float that is itself rounded it is a float too.
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[int, Fraction]) -> None:
        self.terms = dict(terms)

    @staticmethod
    def make(terms: Mapping[int, Fraction]) -> Surd | Fraction:
        """The number with these terms, as `Fraction` where it is rational."""
        kept = {q: r for q, r in terms.items() if r}
        if all(q == 1 for q in kept):
            return kept.get(1, Fraction(0))
        return Surd(kept)

    def __float__(self) -> float:
        # Roots of opposite sign may nearly cancel: bits are added until they no longer do.
        weight = sum(abs(r) for r in self.terms.values())
        bits = 64
        while True:
            roots = {q: Fraction(math.isqrt(q << 2 * bits), 1 << bits) for q in self.terms}
            value = sum((r * roots[q] for q, r in self.terms.items()), Fraction(0))
            if abs(value) * (1 << bits) > weight * (1 << 64) or bits > 10_000:
                return float(value)
            bits *= 2

    def enclosure(self, bits: int) -> tuple[Fraction, Fraction]:
        """Two rationals around the number, about 2^-bits apart, relative to its largest term."""
        low = high = Fraction(0)
        for q, r in self.terms.items():
            root = math.isqrt(q << 2 * bits)
            ends = [r * Fraction(end, 1 << bits) for end in (root, root + 1)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def __neg__(self) -> Surd:
        return Surd({q: -r for q, r in self.terms.items()})

    def __pos__(self) -> Surd:
        return self

    def __add__(self, other: Any) -> Any:
        if is_rounded(other):
            return float(self) + other
        right = _terms(other)
        if right is None:
            return NotImplemented
        total = dict(self.terms)
        for q, r in right.items():
            total[q] = total.get(q, Fraction(0)) + r
        return Surd.make(total)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if is_rounded(other):
            return float(self) - other
        right = _terms(other)
        return NotImplemented if right is None else self + Surd.make({q: -r for q, r in right.items()})

    def __rsub__(self, other: Any) -> Any:
        return NotImplemented if _terms(other) is None else -self + other

    def __mul__(self, other: Any) -> Any:
        if is_rounded(other):
            return float(self) * other
        right = _terms(other)
        if right is None:
            return NotImplemented
        total: dict[int, Fraction] = {}
        for q, r in self.terms.items():
            for p, s in right.items():
                common = math.gcd(p, q)
                key = (p // common) * (q // common)
                total[key] = total.get(key, Fraction(0)) + r * s * common
        return Surd.make(total)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if is_rounded(other):
            return float(self) / other
        right = _terms(other)
        return NotImplemented if right is None else self * _inverse(right)

    def __rtruediv__(self, other: Any) -> Any:
        if is_rounded(other):
            return other / float(self)
        left = _terms(other)
        return NotImplemented if left is None else Surd.make(left) * _inverse(self.terms)

    def __pow__(self, exponent: int) -> Any:
        if not isinstance(exponent, int):
            return NotImplemented
        base: Any = self if exponent >= 0 else 1 / self
        result: Any = Fraction(1)
        for _ in range(abs(exponent)):
            result = result * base
        return result

    def __eq__(self, other: object) -> bool:
        right = _terms(other)
        return right is not None and self.terms == right

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __repr__(self) -> str:
        return " + ".join(f"{r}" if q == 1 else f"{r}*sqrt({q})" for q, r in sorted(self.terms.items()))


Number = int | float | Fraction | Irrational

LARGEST_DENOMINATOR = 1000
"""The largest denominator of a fraction that a float is recognised as."""

MOST_DIGITS = 12
"""Of a decimal that somebody has written; what Python has computed has sixteen, but for zeros at the end."""

LONGEST_DECIMAL = 10**12
"""Decimals of at most twelve places are what they say: 0.333 is 333/1000."""


def exact(value: Any) -> Fraction | Irrational:
    """The exact number that a literal stands for.

    A float is read as the decimal it prints as, or, where it is what a simple fraction rounds to, as that
    fraction: 1/3 in a definition is evaluated by Python before anyone can see it, and means a third.

    >>> exact(0.1), exact(1 / 3)
    (Fraction(1, 10), Fraction(1, 3))
    """
    if isinstance(value, Irrational | Fraction):
        return value
    if not isinstance(value, float):
        return Fraction(value)
    decimal = Fraction(repr(float(value)))
    if decimal.denominator > LONGEST_DECIMAL and math.isfinite(value):
        simple = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
        if simple and float(simple) == value:
            return simple
    return decimal


def sqrt_of_rational(value: Rational) -> Fraction | Surd:
    """sqrt(value) exactly, for value >= 0.

    >>> sqrt_of_rational(Fraction(9, 4))
    Fraction(3, 2)
    >>> sqrt_of_rational(Fraction(1, 2))
    1/2*sqrt(2)
    """
    value = Fraction(value)
    if value < 0:
        raise ValueError(f"square root of the negative number {value}")
    # sqrt(a/b) = sqrt(ab)/b keeps one square-free radical.
    root, radical = _square_part(value.numerator * value.denominator)
    return Surd.make({radical: Fraction(root, value.denominator)})


@lru_cache(maxsize=4096)
def _square_part(n: int) -> tuple[int, int]:
    """(s, q) with n = s^2 q; q is square-free as far as trial division to 1e5 can see.

    A prime beyond that stays squared inside q only beside another such prime; it costs no more than a missed
    simplification.
    """
    if n == 0:
        return 0, 1
    root, radical, rest, factor = 1, 1, n, 2
    while factor * factor <= rest and factor < 100_000:
        power = 0
        while rest % factor == 0:
            rest //= factor
            power += 1
        root *= factor ** (power // 2)
        radical *= factor ** (power % 2)
        factor += 1 if factor == 2 else 2
    whole = math.isqrt(rest)
    return (root * whole, radical) if whole * whole == rest else (root, radical * rest)


def is_rounded(value: object) -> bool:
    """Whether it is a float that is neither a short decimal nor a simple fraction: what it was rounded from it does not say."""
    if not isinstance(value, float) or value.is_integer():
        return False
    number, decimal = exact(value), Decimal(repr(float(value)))
    assert isinstance(number, Fraction)  # of a float
    if number.denominator > LONGEST_DECIMAL:
        return True
    # exp(10) has twelve places as well, and sixteen digits.
    return number == Fraction(decimal) and len(decimal.as_tuple().digits) > MOST_DIGITS


def _terms(value: object) -> Mapping[int, Fraction] | None:
    if isinstance(value, Surd):
        return value.terms
    if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
        number = exact(value)
        assert isinstance(number, Fraction)
        return {1: number}
    return None


def _inverse(terms: Mapping[int, Fraction]) -> Any:
    """1 / (sum of roots), by multiplying with conjugates until the denominator is rational."""
    if not any(terms.values()):
        raise ZeroDivisionError("division by the exact number 0")
    numerator: Any = Fraction(1)
    denominator: Any = Surd.make(terms)
    while isinstance(denominator, Surd):
        part = _a_divisor(denominator.terms)
        conjugate = Surd.make({q: -r if q % part == 0 else r for q, r in denominator.terms.items()})
        numerator, denominator = numerator * conjugate, denominator * conjugate
    return numerator / denominator


def _a_divisor(radicands: Collection[int]) -> int:
    """A number above 1 that divides some radicands and is coprime to the others.

    It plays the part of a prime (its root may change sign alone) without any number being factored.
    """
    part = max(radicands)
    while True:
        shared = [math.gcd(part, q) for q in radicands]
        smaller = [common for common in shared if 1 < common < part]
        if not smaller:
            return part
        part = min(smaller)
