"""Exact numbers with square roots: finite sums of r * sqrt(q), r rational, q a square-free integer."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self, overload

from sgverify.errors import DefinitionError

LARGEST_FACTOR = 10**5


def whole_root(value: int, n: int) -> int:
    """The largest integer r with r^n <= value, for value >= 0.

    >>> whole_root(26, 3)
    2
    """
    if not value:
        return 0
    r = 1 << -(-value.bit_length() // n)
    while True:  # Newton's method from above falls until it has arrived
        better = ((n - 1) * r + value // r ** (n - 1)) // n
        if better >= r:
            return r
        r = better


def prime_powers(number: int) -> Iterator[tuple[int, int]]:
    """The primes of a positive number with their exponents, ascending.

    Raises DefinitionError where two prime factors or more are above 1e5.

    >>> list(prime_powers(360))
    [(2, 3), (3, 2), (5, 1)]
    """
    whole, prime = number, 2
    while number > 1:
        if prime > LARGEST_FACTOR and prime * prime <= number:
            raise DefinitionError(
                f"{whole} under a root: expected a number whose prime factors are below {LARGEST_FACTOR:g}; "
                "give a decimal marked ~"
            )
        if prime * prime > number:
            prime = number
        power = 0
        while number % prime == 0:
            number //= prime
            power += 1
        if power:
            yield prime, power
        prime += 1


Rational = int | Fraction


class Irrational:
    """An exact irrational number; carriers convert it as they convert int, float and Fraction."""

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


class Combination(Irrational):
    """A number sum_m r_m m, r_m rational, m monomials that are independent over the rationals: stored as {m: r_m}.

    Sums, products, quotients and whole powers are exact; a rational result is a `Fraction`, and a result with a rounded float
    is a float. A subclass defines how its monomials are multiplied and enclosed.
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Any, Fraction]) -> None:
        self.terms = dict(terms)

    @classmethod
    def make(cls, terms: Mapping[Any, Fraction]) -> Any:
        """The number with these terms, as `Fraction` where it is rational."""
        raise NotImplementedError

    @staticmethod
    def _terms(value: object) -> Mapping[Any, Fraction] | None:
        """The terms of a number of this kind or below; None for anything else."""
        raise NotImplementedError

    @staticmethod
    def _product(left: Any, right: Any) -> Iterable[tuple[Any, int]]:
        """The product of two monomials as a sum of monomials with whole coefficients."""
        raise NotImplementedError

    @staticmethod
    def _inverse(terms: Mapping[Any, Fraction]) -> Any:
        raise NotImplementedError

    @staticmethod
    def _ends(monomial: Any, bits: int) -> tuple[Fraction, Fraction]:
        """Two rationals around a monomial, each factor enclosed to 2^-bits."""
        raise NotImplementedError

    def enclosure(self, bits: int) -> tuple[Fraction, Fraction]:
        """Two rationals around the number, about 2^-bits apart, relative to its largest term."""
        low = high = Fraction(0)
        for monomial, r in self.terms.items():
            ends = [r * end for end in self._ends(monomial, bits)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def __float__(self) -> float:
        # Terms of opposite sign may nearly cancel: bits are added until both ends round to one float.
        bits = 64
        while True:
            low, high = map(float, self.enclosure(bits))
            if low == high:
                return low
            bits *= 2

    def __neg__(self) -> Self:
        return type(self)({monomial: -r for monomial, r in self.terms.items()})

    def __pos__(self) -> Self:
        return self

    def __add__(self, other: Any) -> Any:
        if is_rounded(other):
            return float(self) + other
        right = self._terms(other)
        if right is None:
            return NotImplemented
        total = dict(self.terms)
        for monomial, r in right.items():
            total[monomial] = total.get(monomial, Fraction(0)) + r
        return self.make(total)

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if self._terms(other) is None else self + -other

    def __rsub__(self, other: Any) -> Any:
        return NotImplemented if self._terms(other) is None else -self + other

    def __mul__(self, other: Any) -> Any:
        if is_rounded(other):
            return float(self) * other
        right = self._terms(other)
        if right is None:
            return NotImplemented
        total: dict[Any, Fraction] = {}
        for left, r in self.terms.items():
            for monomial, s in right.items():
                for product, factor in self._product(left, monomial):
                    total[product] = total.get(product, Fraction(0)) + r * s * factor
        return self.make(total)

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __truediv__(self, other: Any) -> Any:
        if is_rounded(other):
            return float(self) / other
        right = self._terms(other)
        return NotImplemented if right is None else self * self._inverse(right)

    def __rtruediv__(self, other: Any) -> Any:
        if is_rounded(other):
            return other / float(self)
        return NotImplemented if self._terms(other) is None else self._inverse(self.terms) * other

    def __pow__(self, exponent: int) -> Any:
        if not isinstance(exponent, int):
            return NotImplemented
        base: Any = self if exponent >= 0 else 1 / self
        return math.prod([base] * abs(exponent), start=Fraction(1))

    def __eq__(self, other: object) -> bool:
        right = self._terms(other)
        return right is not None and self.terms == {m: r for m, r in right.items() if r}

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))


class Surd(Combination):
    """An element of the field Q(sqrt 2, sqrt 3, ...) that is not rational, stored as {q: r}.

    `sqrt(2)*h/3` in a definition stays exact in the exact interpreters and becomes a float64 in the sampler.
    """

    __slots__ = ()

    @classmethod
    def make(cls, terms: Mapping[int, Fraction]) -> Surd | Fraction:
        """The number with these terms, as `Fraction` where it is rational."""
        kept = {q: r for q, r in terms.items() if r}
        return kept.get(1, Fraction(0)) if all(q == 1 for q in kept) else cls(kept)

    @staticmethod
    def _terms(value: object) -> Mapping[int, Fraction] | None:
        if isinstance(value, Surd):
            return value.terms
        if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
            return {1: exact(value)}
        return None

    @staticmethod
    def _product(left: int, right: int) -> Iterable[tuple[int, int]]:
        common = math.gcd(left, right)
        return (((left // common) * (right // common), common),)

    @staticmethod
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

    @staticmethod
    def _ends(monomial: int, bits: int) -> tuple[Fraction, Fraction]:
        root = math.isqrt(monomial << 2 * bits)
        return Fraction(root, 1 << bits), Fraction(root + 1, 1 << bits)

    def __repr__(self) -> str:
        return " + ".join(f"{r}" if q == 1 else f"{r}*sqrt({q})" for q, r in sorted(self.terms.items()))


Number = int | float | Fraction | Irrational

LARGEST_DENOMINATOR = 1000
"""The largest denominator of a fraction that a float is recognised as."""

MOST_DIGITS = 12
"""The digits of a decimal that a person has written, at most; a computed float has sixteen, but for zeros at the end."""

LONGEST_DECIMAL = 10**12
"""Decimals of at most twelve places are read literally: 0.333 is 333/1000."""


@overload
def exact(value: int | float | Fraction) -> Fraction: ...
@overload
def exact(value: Any) -> Any: ...
def exact(value: Any) -> Any:
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
    """Whether `value` is a float that is neither a short decimal nor a simple fraction, so that its exact number is unknown."""
    if not isinstance(value, float) or value.is_integer():
        return False
    number, decimal = exact(value), Decimal(repr(float(value)))
    if number.denominator > LONGEST_DECIMAL:
        return True
    # exp(10) has twelve places as well, and sixteen digits.
    return number == Fraction(decimal) and len(decimal.as_tuple().digits) > MOST_DIGITS


def _a_divisor(radicands: Collection[int]) -> int:
    """A number above 1 that divides some radicands and is coprime to the others.

    It serves in place of a prime, whose root may change sign alone, and no number has to be factored.
    """
    part = max(radicands)
    while True:
        shared = [math.gcd(part, q) for q in radicands]
        smaller = [common for common in shared if 1 < common < part]
        if not smaller:
            return part
        part = min(smaller)
