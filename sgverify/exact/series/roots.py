"""Roots of numbers as free symbols of a ring: which ones there must be, and what their powers are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.schemes import Surd
from sgverify.schemes.algebraic import Algebraic, Generator, Monomial, radical
from sgverify.schemes.real_root import Root
from sgverify.schemes.rounded import Rounded
from sgverify.schemes.whole_numbers import prime_powers


@dataclass(frozen=True, eq=False)
class Opaque:
    """What an opaque element of a ring stands for: a "number", or the "root" or "exp" of the ring's element `argument`."""

    kind: str
    text: str
    argument: Any = None
    number: SimpleRoot | Interval | None = None


@dataclass(frozen=True)
class Interval:
    """A float that stands for no simple number: a symbol without relations, of which an interval is known."""

    number: Rounded


@dataclass(frozen=True)
class SimpleRoot:
    """base^(1/index), the index a power of one `prime`; or a root of a cubic or quadratic, its own base.

    Roots of one prime number with indices that are coprime are free of one another; with indices that are powers of
    the same prime they are not, which is why `key` leaves the index out.
    """

    base: Generator
    prime: int
    index: int

    @property
    def key(self) -> tuple[Generator, int]:
        """What one symbol of the ring is taken for."""
        return self.base, self.prime

    @property
    def relation(self) -> tuple[int, ...]:
        """(c_0, ..., c_(n-1)) with g^n = sum_i c_i g^i."""
        if isinstance(self.base, Root):
            return self.base.powers
        return (self.base, *(0 for _ in range(self.index - 1)))

    @property
    def text(self) -> str:
        """How the symbol prints."""
        if isinstance(self.base, Root):
            return f"({self.base.scale}*{self.base.text})" if self.base.scale != 1 else self.base.text
        return f"sqrt({self.base})" if self.index == 2 else f"{self.base}^(1/{self.index})"

    @property
    def number(self) -> Any:
        """What it is."""
        if isinstance(self.base, Root):
            return Algebraic({((self.base, Fraction(1)),): Fraction(1)})
        return radical(Fraction(self.base), Fraction(1, self.index))


def monomials_of(number: Surd | Algebraic) -> Iterator[tuple[Monomial, Fraction]]:
    """The terms of an irrational number; of a square root of q one factor for each prime of q."""
    if isinstance(number, Algebraic):
        yield from number.terms.items()
        return
    half = Fraction(1, 2)
    for radicand, factor in number.terms.items():
        yield tuple((prime, half) for prime in prime_factors(radicand)), factor


def simple_roots(base: Generator, exponent: Fraction) -> tuple[Fraction, list[tuple[SimpleRoot, int]]]:
    """(r, [(root, power), ...]) with base^exponent = r * the product of root^power.

    2^(5/6) is 2^(1/2) 2^(1/3): the exponent is split into fractions over powers of distinct primes.
    """
    if isinstance(base, Root):
        return Fraction(1), [(SimpleRoot(base, 0, len(base.powers)), int(exponent))]
    parts = []
    for prime, power in prime_powers(exponent.denominator):
        index = prime**power
        part = exponent.numerator * pow(exponent.denominator // index, -1, index) % index
        exponent -= Fraction(part, index)
        parts.append((SimpleRoot(base, prime, index), part))
    return Fraction(base) ** int(exponent), parts


def prime_factors(n: int) -> list[int]:
    """The primes of a square-free n (a large unfactored part counts as one)."""
    factors, p = [], 2
    while p * p <= n and p < 100_000:
        if n % p == 0:
            factors.append(p)
            n //= p
        else:
            p += 1
    return [*factors, n] if n > 1 else factors
