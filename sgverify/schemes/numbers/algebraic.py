"""Exact irrational numbers: sums of radicals such as 2^(1/3), or polynomials in one root of a quadratic or cubic.

Equality is equality of numbers because the monomials below are linearly independent over the rationals:
products of fractional powers (exponents in [0, 1)) of distinct primes by the theorem of Besicovitch (1940, Journal
of the London Mathematical Society 15, 3-6), powers 1, g, ... of a root g by the irreducibility of its polynomial.

A real root of an irreducible quadratic or cubic, isolated exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from math import lcm, prod
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.numbers.surd import Combination, Surd, exact, prime_powers, whole_root

LARGEST_COEFFICIENT = 10**9
TELLS_ROOTS_APART = 64


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

    Irreducibility is proved by a prime modulo which the polynomial has no zero; by Chebotarev's theorem a third of all primes
    or more prove it for an irreducible cubic, and half of them for an irreducible quadratic.

    Raises DefinitionError for another degree, a reducible polynomial, or one without a real root (`within` of `near`).
    """
    sign = 1 if coefficients and coefficients[-1] > 0 else -1
    a = [sign * c for c in coefficients]
    degree = len(a) - 1
    if degree not in (2, 3) or max(map(abs, a)) > LARGEST_COEFFICIENT or not _no_rational_root(a):
        raise DefinitionError(
            f"{text}: expected an irreducible polynomial of degree 2 or 3 with whole coefficients up to "
            f"{LARGEST_COEFFICIENT:g}; factor it first, or give a decimal marked ~"
        )
    scale = a[-1]
    powers = tuple(-c * scale ** (degree - 1 - i) for i, c in enumerate(a[:-1]))
    isolated = [_narrowed(powers, low, high, TELLS_ROOTS_APART) for low, high in _isolated(powers)]
    if not isolated:
        raise DefinitionError(f"{text}: the polynomial has no real root; give another one")
    low, high = min(isolated, key=lambda ends: abs(ends[0] - near * scale))
    if within is not None and abs(low - near * scale) > within * scale:
        raise DefinitionError(
            f"{text}: the nearest real root is {float(low / scale):.6g}; expected a decimal within one unit of its last digit of "
            "a root; mend the decimal or the polynomial"
        )
    return Root(powers, low, high, scale, text)


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


def _isolated(powers: Sequence[int]) -> Iterator[tuple[Fraction, Fraction]]:
    """Intervals with one root each: between the turning points, and from them to a bound of all roots.

    The turning points of x^3 - a x^2 - b x - c are those of a quadratic; rationals within 2^-60 of them serve as
    well, unless two roots are closer together than that: then neither shows.
    """
    bound = Fraction(1 + max(abs(c) for c in powers))
    marks = [-bound, bound]
    if len(powers) == 2:
        marks.append(Fraction(powers[1], 2))
    else:
        _, b, a = powers
        inside = a * a + 3 * b
        if inside > 0:
            root = Fraction(whole_root(inside << 128, 2), 1 << 64)
            marks += [(a - root) / 3, (a + root) / 3]
    for low, high in pairwise(sorted(marks)):
        if (_at(powers, low) > 0) != (_at(powers, high) > 0):
            yield low, high


def _no_rational_root(coefficients: Sequence[int]) -> bool:
    for p in range(2, 400):
        if any(p % d == 0 for d in range(2, p)) or coefficients[-1] % p == 0:
            continue
        if all(sum(c * pow(x, i, p) for i, c in enumerate(coefficients)) % p for x in range(p)):
            return True
    return False


MOST_DIMENSIONS = 120
HIGHEST_ROOT = 24


Generator = int | Root
Monomial = tuple[tuple[Generator, Fraction], ...]
"""((g, e), ...) with distinct generators g, ascending, and 0 < e: e < 1 for a prime, a whole number below the degree for a
`Root`. The empty monomial is 1."""

Terms = Mapping[Monomial, Fraction]
Basis = tuple[Monomial, ...]


class Algebraic(Combination):
    """An irrational number as {monomial: rational}; a monomial is a product of g^e, each g a prime or a `Root`."""

    __slots__ = ()

    @classmethod
    def make(cls, terms: Terms) -> Algebraic | Fraction:
        """The number with these terms, as `Fraction` where it is rational."""
        kept = {monomial: r for monomial, r in terms.items() if r}
        return cls(kept) if any(kept) else kept.get((), Fraction(0))

    @staticmethod
    def _terms(value: object) -> Terms | None:
        if isinstance(value, Algebraic):
            return value.terms
        if isinstance(value, int | float | Fraction | Surd) and not isinstance(value, bool):
            number = algebraic(value)
            return number.terms if isinstance(number, Algebraic) else {(): number}
        return None

    @staticmethod
    def _product(left: Monomial, right: Monomial) -> Iterable[tuple[Monomial, int]]:
        return product_of(left, right)

    @staticmethod
    def _inverse(terms: Terms) -> Any:
        """1 / number: the x with x @ R = (1, 0, ...), R the matrix of multiplication."""
        number = Algebraic.make(terms)
        if not isinstance(number, Algebraic):
            if not number:
                raise ZeroDivisionError("division by the exact number 0")
            return 1 / number
        basis = basis_of([number])
        matrix = multiplication(number, basis)
        size = len(basis)
        rows = [[*(matrix[i][j] for i in range(size)), Fraction(int(j == 0))] for j in range(size)]
        for k in range(size):
            pivot = next(i for i in range(k, size) if rows[i][k])
            rows[k], rows[pivot] = rows[pivot], rows[k]
            rows[k] = [entry / rows[k][k] for entry in rows[k]]
            for i in range(size):
                if i != k and rows[i][k]:
                    rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
        return Algebraic.make({monomial: row[-1] for monomial, row in zip(basis, rows, strict=True)})

    @staticmethod
    def _ends(monomial: Monomial, bits: int) -> tuple[Fraction, Fraction]:
        return enclosure_of(monomial, bits)

    def __add__(self, other: Any) -> Any:
        check_together([*self.terms, *(self._terms(other) or ())])
        return super().__add__(other)

    def __lt__(self, other: Any) -> bool:
        return _sign(self - other) < 0

    def __gt__(self, other: Any) -> bool:
        return _sign(self - other) > 0

    def __le__(self, other: Any) -> bool:
        return _sign(self - other) <= 0

    def __ge__(self, other: Any) -> bool:
        return _sign(self - other) >= 0

    def __repr__(self) -> str:
        ordered = sorted(self.terms.items(), key=lambda item: [(str(g), e) for g, e in item[0]])
        pieces = [text_of(monomial, r) for monomial, r in ordered]
        return pieces[0] + "".join(f" - {p[1:]}" if p.startswith("-") else f" + {p}" for p in pieces[1:])


def radical(base: Fraction, exponent: Fraction) -> Algebraic | Fraction:
    """base^exponent for a positive rational base, exactly.

    Raises DefinitionError for a base that is not positive, a root beyond the 24th, or a prime above 1e6.

    >>> radical(Fraction(4), Fraction(1, 3)), radical(Fraction(8, 27), Fraction(2, 3))
    (2^(2/3), Fraction(4, 9))
    """
    if base <= 0 or exponent.denominator > HIGHEST_ROOT or abs(exponent.numerator) > 64:
        raise DefinitionError(
            f"({base})^({exponent}): expected a positive base and a root up to the {HIGHEST_ROOT}th; "
            "for another number give root(polynomial, decimal) or a decimal marked ~"
        )
    value: Any = Fraction(1)
    for number, sign in ((base.numerator, 1), (base.denominator, -1)):
        for prime, power in prime_powers(number):
            whole, rest = divmod(sign * power * exponent, 1)
            value = value * Fraction(prime) ** whole
            if rest:
                value = Algebraic({((prime, rest),): Fraction(1)}) * value
    return value


def real_root(
    coefficients: Sequence[int], near: Fraction, text: str, within: Fraction | None = None
) -> Algebraic:
    """The real root nearest to `near` of the polynomial sum_i coefficients[i] x^i of degree 2 or 3, exactly.

    Raises DefinitionError for another degree, a reducible polynomial, or one without a real root (`within` of `near`).
    """
    root = isolate(coefficients, near, text, within)
    return Algebraic({((root, Fraction(1)),): Fraction(1, root.scale)})


def algebraic(value: Any) -> Algebraic | Fraction:
    """An exact number of any of our kinds as `Fraction` or `Algebraic`; a float as `exact` reads it."""
    if isinstance(value, Algebraic):
        return value
    number = exact(value)
    if isinstance(number, Surd):
        half = Fraction(1, 2)
        return sum((radical(Fraction(q), half) * r for q, r in number.terms.items()), Fraction(0))
    assert isinstance(number, Fraction)
    return number


def basis_of(numbers: Iterable[Algebraic | Fraction]) -> Basis:
    """A basis over Q, of algebraic integers and 1 first, of a field that holds all `numbers`.

    Raises DefinitionError for a field of more than 120 dimensions, or a `Root` beside other irrational numbers.
    """
    indices: dict[Generator, int] = {}
    monomials = [m for number in numbers if isinstance(number, Algebraic) for m in number.terms]
    check_together(monomials)
    for generator, exponent in (factor for monomial in monomials for factor in monomial):
        order = len(generator.powers) if isinstance(generator, Root) else exponent.denominator
        indices[generator] = lcm(indices.get(generator, 1), order)
    if prod(indices.values()) > MOST_DIMENSIONS:
        raise DefinitionError(
            f"the coefficients span a field of {prod(indices.values())} dimensions; expected at most "
            f"{MOST_DIMENSIONS}; give decimals marked ~ instead"
        )
    generators = sorted(indices)
    steps = [1 if isinstance(g, Root) else Fraction(1, indices[g]) for g in generators]
    return tuple(
        tuple((g, Fraction(n * step)) for g, n, step in zip(generators, choice, steps, strict=True) if n)
        for choice in product(*(range(indices[g]) for g in generators))
    )


def coordinates(number: Algebraic | Fraction, basis: Basis) -> list[Fraction]:
    """The coordinates of `number` in a basis that `basis_of` gave."""
    terms = Algebraic._terms(number) or {}
    return [terms.get(monomial, Fraction(0)) for monomial in basis]


def multiplication(number: Algebraic | Fraction, basis: Basis) -> list[list[Fraction]]:
    """The matrix R with coordinates(x * number) = coordinates(x) @ R."""
    return [coordinates(Algebraic({monomial: Fraction(1)}) * number, basis) for monomial in basis]


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
def product_of(left: Monomial, right: Monomial) -> tuple[tuple[Monomial, int], ...]:
    """The product of two monomials as a sum of monomials with whole coefficients."""
    exponents: defaultdict[Generator, Fraction] = defaultdict(Fraction)
    for generator, exponent in (*left, *right):
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


def _sign(value: Algebraic | Fraction | float) -> int:
    if isinstance(value, Fraction | float):
        return (value > 0) - (value < 0)
    bits = 64
    while True:  # an irrational number is not 0
        low, high = value.enclosure(bits)
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        bits *= 2


def _reduced(generator: Generator, exponent: Fraction) -> list[tuple[Fraction, int]]:
    if not isinstance(generator, Root):
        whole, rest = divmod(exponent, 1)
        return [(rest, generator**whole)]
    vector = [1] + [0] * (len(generator.powers) - 1)
    for _ in range(int(exponent)):
        top = vector[-1]
        vector = [below + top * c for below, c in zip([0, *vector[:-1]], generator.powers, strict=True)]
    return [(Fraction(i), c) for i, c in enumerate(vector) if c]
