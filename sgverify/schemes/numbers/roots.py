"""What stands under a root: whole numbers without a common factor, and real roots of quadratics and cubics.

A whole number is factored as far as division by the primes below 1e5 goes; what is left stays one base, which no arithmetic asks
to be factored: bases are made coprime where they meet. Coprime whole numbers of which none is a power of another number serve as
primes do: the products of their fractional powers (exponents in [0, 1)) are linearly independent over the rationals, as no
quotient of two of them is rational (Mordell 1953, Pacific Journal of Mathematics 3, 625-630).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import Any

from sgverify.errors import DefinitionError

LARGEST_FACTOR = 10**5
PRIMES = 9592
"""The primes below `LARGEST_FACTOR`."""
LARGEST_COEFFICIENT = 10**9
TELLS_ROOTS_APART = 64

SMALL = 1000
"""Numbers below are factored here."""


def whole_root(value: int, n: int) -> int:
    """The largest integer r with r^n <= value, for value >= 0."""
    if n == 2 or value < 2:
        return math.isqrt(value)
    # Newton's method from above, in whole numbers: `import sgverify` does not wait for flint.
    root = 1 << -(-value.bit_length() // n)
    while (lower := ((n - 1) * root + value // root ** (n - 1)) // n) < root:
        root = lower
    return root


Factors = tuple[tuple[int, int], ...]


@lru_cache(maxsize=4096)
def factors(number: int) -> Factors:
    """The primes of a positive number below 1e5 with their exponents, ascending; what is left is one factor more.

    >>> factors(360), factors(2 * 23949436547772383**2)
    (((2, 3), (3, 2), (5, 1)), ((2, 1), (23949436547772383, 2)))
    """
    if number < SMALL:
        # `import sgverify` factors such numbers alone, in words of the catalogue, and does not wait for flint.
        return _small_factors(number)
    from flint import fmpz

    found = [(int(base), int(power)) for base, power in fmpz(number).factor(trial_limit=PRIMES)]
    bases = ((*_as_power(base), power) for base, power in found)
    return tuple((base, inner * power) for base, inner, power in bases)


def _small_factors(number: int) -> Factors:
    found, prime = [], 2
    while number > 1:
        prime = next(k for k in range(prime, number + 1) if number % k == 0)
        power = next(k for k in count(1) if number % prime ** (k + 1))
        found.append((prime, power))
        number //= prime**power
    return tuple(found)


def _as_power(number: int) -> tuple[int, int]:
    """(b, k) with number = b^k, k as large as it can be, for a number without a prime below 1e5, or a prime."""
    for k in range(int(math.log(number, LARGEST_FACTOR)), 1, -1):
        root = whole_root(number, k)
        if root**k == number:
            return root, k
    return number, 1


@lru_cache(maxsize=4096)
def coprime(numbers: frozenset[int]) -> Mapping[int, Factors]:
    """The numbers that share a factor with another one, as products of powers of coprime bases.

    >>> coprime(frozenset({6, 9, 5})) == {6: ((2, 1), (3, 1)), 9: ((3, 2),)}
    True
    """
    pieces: list[int] = []
    left = list(numbers)
    while left:
        number = left.pop()
        for k, piece in enumerate(pieces):
            common = math.gcd(number, piece)
            if common > 1:
                del pieces[k]
                left += [common, number // common, piece // common]
                break
        else:
            pieces += [number] * (number > 1)
    bases = sorted(_as_power(piece)[0] for piece in pieces)
    found = {}
    for number in numbers:
        powers = ((base, _multiplicity(base, number)) for base in bases)
        parts = tuple((base, power) for base, power in powers if power)
        if parts != ((number, 1),):
            found[number] = parts
    return found


def _multiplicity(base: int, number: int) -> int:
    power = 0
    while number % base == 0:
        number //= base
        power += 1
    return power


@dataclass(frozen=True)
class Root:
    """A real root g of a polynomial sum_i a_i x^i of degree n = 2 or 3, kept as the algebraic integer a_n g.

    powers: (a_n g)^n as a combination of the lower powers, lowest first. low, high: they enclose a_n g and no other
    root. scale: a_n > 0. text: how g is written, such as `root(48x^3-72x^2+38x-5, 0.19)`.
    """

    powers: tuple[int, ...]
    low: Fraction
    high: Fraction
    scale: int = field(compare=False)
    text: str = field(compare=False)

    def __lt__(self, other: object) -> bool:
        return False  # a root stands alone, so that there is nothing to sort it among

    def enclosure(self, bits: int) -> tuple[Fraction, Fraction]:
        """Two rationals around a_n g, at most 2^-bits apart."""
        return _narrowed(self.powers, self.low, self.high, bits)


def isolate(coefficients: Sequence[int], near: Fraction, text: str, within: Fraction | None = None) -> Root:
    """The real root nearest to `near` of sum_i coefficients[i] x^i.

    Raises DefinitionError for another degree, a reducible polynomial, or one without a real root (`within` of `near`).
    """
    from flint import ctx, fmpz_poly

    sign = 1 if coefficients and coefficients[-1] > 0 else -1
    a = [sign * c for c in coefficients]
    degree = len(a) - 1
    if (
        degree not in (2, 3)
        or max(map(abs, a)) > LARGEST_COEFFICIENT
        or [part.degree() for part, _ in fmpz_poly(a).factor()[1]] != [degree]
    ):
        raise DefinitionError(
            f"{text}: expected an irreducible polynomial of degree 2 or 3 with whole coefficients up to "
            f"{LARGEST_COEFFICIENT:g}; factor it first, or give a decimal marked ~"
        )
    scale = a[-1]
    powers = tuple(-c * scale ** (degree - 1 - i) for i, c in enumerate(a[:-1]))
    with ctx.workprec(256):
        roots: Any = fmpz_poly([*(-c for c in powers), 1]).complex_roots()
        isolated = [_cell(powers, root.real) for root, _ in roots if root.imag == 0]
    if not isolated:
        raise DefinitionError(f"{text}: the polynomial has no real root; give another one")
    low, high = min(isolated, key=lambda ends: abs(ends[0] - near * scale))
    if within is not None and abs(low - near * scale) > within * scale:
        raise DefinitionError(
            f"{text}: the nearest real root is {float(low / scale):.6g}; expected a decimal within one unit of its last digit of "
            "a root; mend the decimal or the polynomial"
        )
    return Root(powers, low, high, scale, text)


def _cell(powers: tuple[int, ...], ball: Any) -> tuple[Fraction, Fraction]:
    """The multiples of 2^-64 below and above the root in a ball of flint's, which is far narrower."""
    mantissa, exponent = ball.mid().man_exp()
    unit = Fraction(1, 1 << TELLS_ROOTS_APART)
    low = Fraction(int(mantissa)) * Fraction(2) ** int(exponent) // unit * unit
    if (_at(powers, low) > 0) is (_at(powers, low + unit) > 0):
        low += unit if (_at(powers, low + unit) > 0) is not (_at(powers, low + 2 * unit) > 0) else -unit
    return low, low + unit


@lru_cache(maxsize=256)
def _narrowed(powers: tuple[int, ...], low: Fraction, high: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    rising = _at(powers, high) > 0
    while (high - low) * (1 << bits) > 1:
        middle = (low + high) / 2
        if (_at(powers, middle) > 0) is rising:
            high = middle
        else:
            low = middle
    return low, high


def _at(powers: Sequence[int], x: Fraction) -> Fraction:
    """x^n - sum_i powers[i] x^i, which is 0 for no rational x."""
    return x ** len(powers) - sum((c * x**i for i, c in enumerate(powers)), Fraction(0))


Generator = int | Root
Monomial = tuple[tuple[Generator, Fraction], ...]
"""((g, e), ...) with distinct generators g, ascending, and 0 < e: e < 1 for a whole number, a whole number below the degree for a
`Root`. The empty monomial is 1."""

Sum = tuple[tuple[Monomial, int], ...]
"""A sum of monomials with whole coefficients."""


def check_together(monomials: Iterable[Monomial]) -> None:
    """Raise DefinitionError where a `Root` stands beside another generator: independence is not proved there."""
    generators = {generator for monomial in monomials for generator, _ in monomial}
    roots = [generator for generator in generators if isinstance(generator, Root)]
    if roots and len(generators) > 1:
        raise DefinitionError(
            f"{roots[0].text} stands beside another irrational number; expected one root(...) alone, written the "
            "same way each time; give decimals marked ~ instead"
        )


def enclosure_of(monomial: Monomial, bits: int) -> tuple[Fraction, Fraction]:
    """Two rationals around the monomial, each factor enclosed to 2^-bits."""
    low = high = Fraction(1)
    for generator, exponent in monomial:
        if isinstance(generator, Root):
            one = generator.enclosure(bits)
            ends = (Fraction(1), Fraction(1))
            for _ in range(int(exponent)):
                products = [a * b for a in ends for b in one]
                ends = min(products), max(products)
        else:
            n = exponent.denominator
            root = whole_root(generator**exponent.numerator << n * bits, n)
            ends = Fraction(root, 1 << bits), Fraction(root + 1, 1 << bits)
        products = [a * b for a in (low, high) for b in ends]
        low, high = min(products), max(products)
    return low, high


@lru_cache(maxsize=100_000)
def product_of(*monomials: Monomial) -> Sum:
    """The product of monomials over coprime bases."""
    exponents: defaultdict[Generator, Fraction] = defaultdict(Fraction)
    for monomial in monomials:
        for generator, exponent in monomial:
            exponents[generator] += exponent
    check_together([tuple(exponents.items())])
    sums: list[tuple[Monomial, int]] = [((), 1)]
    for generator in sorted(exponents):
        reduced = _reduced(generator, exponents[generator])
        sums = [
            ((*monomial, (generator, rest)) if rest else monomial, factor * whole)
            for monomial, factor in sums
            for rest, whole in reduced
        ]
    return tuple(sums)


def _reduced(generator: Generator, exponent: Fraction) -> list[tuple[Fraction, int]]:
    if not isinstance(generator, Root):
        whole, rest = divmod(exponent, 1)
        return [(rest, generator**whole)]
    vector = [1] + [0] * (len(generator.powers) - 1)
    for _ in range(int(exponent)):
        top = vector[-1]
        vector = [below + top * c for below, c in zip([0, *vector[:-1]], generator.powers, strict=True)]
    return [(Fraction(i), c) for i, c in enumerate(vector) if c]


def text_of(monomial: Monomial, factor: Fraction) -> str:
    """factor * monomial as `read_number` reads it back."""
    shown = []
    for generator, exponent in monomial:
        if isinstance(generator, Root):
            factor *= generator.scale ** int(exponent)
            shown.append(generator.text if exponent == 1 else f"{generator.text}^{exponent}")
        else:
            shown.append(f"{generator}^({exponent})")
    if not shown:
        return str(factor)
    front = {1: "", -1: "-"}.get(factor) if factor.denominator == 1 else None  # type: ignore[call-overload]
    return (f"{factor}*" if front is None else front) + "*".join(shown)


def with_coprime_bases(*numbers: Mapping[Monomial, Fraction]) -> Sequence[Mapping[Monomial, Fraction]]:
    """Sums of monomials {m: r}, written by bases that are coprime."""
    large = frozenset(
        generator
        for terms in numbers
        for monomial in terms
        for generator, _ in monomial
        if isinstance(generator, int) and generator > LARGEST_FACTOR
    )
    split = coprime(large) if len(large) > 1 else {}
    return [_split(terms, split) for terms in numbers] if split else numbers


def _split(terms: Mapping[Monomial, Fraction], split: Mapping[int, Factors]) -> Mapping[Monomial, Fraction]:
    total: defaultdict[Monomial, Fraction] = defaultdict(Fraction)
    for monomial, r in terms.items():
        powers = [
            ((base, power * exponent),)
            for generator, exponent in monomial
            for base, power in (split.get(generator) if isinstance(generator, int) else None)
            or ((generator, 1),)
        ]
        for product, whole in product_of(*powers):
            total[product] += r * whole
    return total
