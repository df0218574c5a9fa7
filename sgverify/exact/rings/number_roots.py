"""Roots of numbers as generators of a ring: which are free of one another, and the relations of their powers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sgverify.schemes.numbers.algebraic import Algebraic
from sgverify.schemes.numbers.roots import LARGEST_FACTOR, Generator, Root, coprime
from sgverify.schemes.numbers.roots import factors as factors_of


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
        """The key under which the ring has one symbol for this root."""
        return self.base, self.prime

    @property
    def relation(self) -> tuple[int, ...]:
        """(c_0, ..., c_(n-1)) with g^n = sum_i c_i g^i."""
        if isinstance(self.base, Root):
            return self.base.powers
        return (self.base, *(0 for _ in range(self.index - 1)))

    @property
    def text(self) -> str:
        """The printed name of the symbol."""
        if isinstance(self.base, Root):
            return f"({self.base.scale}*{self.base.text})" if self.base.scale != 1 else self.base.text
        return f"sqrt({self.base})" if self.index == 2 else f"{self.base}^(1/{self.index})"

    @property
    def number(self) -> Algebraic:
        """The exact number."""
        if isinstance(self.base, Root):
            return Algebraic({((self.base, Fraction(1)),): Fraction(1)})
        return Algebraic({((self.base, Fraction(1, self.index)),): Fraction(1)})


def simple_roots(base: Generator, exponent: Fraction) -> tuple[Fraction, list[tuple[SimpleRoot, int]]]:
    """(r, [(root, power), ...]) with base^exponent = r * the product of root^power.

    2^(5/6) is 2^(1/2) 2^(1/3): the exponent is split into fractions over powers of distinct primes.
    """
    if isinstance(base, Root):
        return Fraction(1), [(SimpleRoot(base, 0, len(base.powers)), int(exponent))]
    parts = []
    for prime, power in factors_of(exponent.denominator):
        index = prime**power
        part = exponent.numerator * pow(exponent.denominator // index, -1, index) % index
        exponent -= Fraction(part, index)
        parts.append((SimpleRoot(base, prime, index), part))
    return Fraction(base) ** int(exponent), parts


class CoprimeBases:
    """The bases of a ring's roots of numbers: free of one another, though they were not factored."""

    def __init__(self) -> None:
        # Coprime numbers, each as the product of bases that stand under a root; most are one themselves.
        self._pieces: dict[int, dict[Generator, int]] = {}

    def product(self, base: Generator) -> Mapping[Generator, int]:
        """{g: k} with base = prod_g g^k; where it shares a factor with earlier bases, these are among them."""
        if isinstance(base, Root) or base <= LARGEST_FACTOR:
            return {base: 1}
        split = coprime(frozenset({*self._pieces, base}))
        for piece, parts in split.items():
            # What is known stays as it is: of its parts all but one are new bases, and the last one is a quotient.
            last = next((part for part, power in parts if power == 1), None)
            if piece in self._pieces and last is not None:
                known = self._pieces.pop(piece)
                others = {part: power for part, power in parts if part != last}
                self._pieces |= {part: {part: 1} for part in others}
                self._pieces[last] = known | {part: -power for part, power in others.items()}
        total: dict[Generator, int] = {}
        for part, power in split.get(base, ((base, 1),)):
            for generator, k in self._pieces.setdefault(part, {part: 1}).items():
                total[generator] = total.get(generator, 0) + k * power
        return total
