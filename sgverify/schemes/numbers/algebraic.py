"""Exact irrational numbers: sums of radicals such as 2^(1/3), or polynomials in one root of a quadratic or cubic.

Equality is equality of numbers because the monomials are linearly independent over the rationals: products of fractional powers
of coprime whole numbers (`roots`), or powers 1, g, ... of a root g by the irreducibility of its polynomial.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, overload

from sgverify.errors import DefinitionError
from sgverify.schemes.numbers.roots import (
    Generator,
    Monomial,
    Root,
    check_together,
    enclosure_of,
    factors,
    isolate,
    product_of,
    text_of,
    with_coprime_bases,
)

MOST_DIMENSIONS = 120
HIGHEST_ROOT = 24
HALF = Fraction(1, 2)

Rational = int | Fraction
Terms = Mapping[Monomial, Fraction]
Basis = tuple[Monomial, ...]


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


class Algebraic(Irrational):
    """An irrational number as {monomial: rational}; a monomial is a product of g^e, each g a whole number or a `Root`.

    Sums, products, quotients and whole powers are exact; a rational result is a `Fraction`, and a result with a rounded float
    is a float. `sqrt(2)*h/3` in a definition stays exact in the exact interpreters and becomes a float64 in the sampler.
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Terms) -> None:
        self.terms = dict(terms)

    @classmethod
    def make(cls, terms: Terms) -> Algebraic | Fraction:
        """The number with these terms, as `Fraction` where it is rational."""
        kept = {monomial: r for monomial, r in terms.items() if r}
        return cls(kept) if any(kept) else kept.get((), Fraction(0))

    @staticmethod
    def _terms(value: object) -> Terms | None:
        """The terms of a number; None for anything else."""
        if isinstance(value, Algebraic):
            return value.terms
        if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
            return {(): exact(value)}
        return None

    def radicands(self) -> dict[int, Fraction] | None:
        """{q: r} with the number sum_q r sqrt(q); None where another root occurs in it."""
        if any(e != HALF or isinstance(g, Root) for monomial in self.terms for g, e in monomial):
            return None
        return {prod(g for g, _ in monomial if isinstance(g, int)): r for monomial, r in self.terms.items()}

    def enclosure(self, bits: int) -> tuple[Fraction, Fraction]:
        """Two rationals around the number, about 2^-bits apart, relative to its largest term."""
        low = high = Fraction(0)
        for monomial, r in self.terms.items():
            ends = [r * end for end in enclosure_of(monomial, bits)]
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

    def __neg__(self) -> Algebraic:
        return Algebraic({monomial: -r for monomial, r in self.terms.items()})

    def __pos__(self) -> Algebraic:
        return self

    def __add__(self, other: Any) -> Any:
        if is_rounded(other):
            return float(self) + other
        right = self._terms(other)
        if right is None:
            return NotImplemented
        check_together([*self.terms, *right])
        left, right = with_coprime_bases(self.terms, right)
        total = dict(left)
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
        left, right = with_coprime_bases(self.terms, right)
        total: dict[Monomial, Fraction] = {}
        for one, r in left.items():
            for monomial, s in right.items():
                for both, factor in product_of(one, monomial):
                    total[both] = total.get(both, Fraction(0)) + r * s * factor
        return self.make(total)

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __truediv__(self, other: Any) -> Any:
        if is_rounded(other):
            return float(self) / other
        right = self._terms(other)
        return NotImplemented if right is None else self * _reciprocal(self.make(right))

    def __rtruediv__(self, other: Any) -> Any:
        if is_rounded(other):
            return other / float(self)
        return NotImplemented if self._terms(other) is None else _reciprocal(self) * other

    def __pow__(self, exponent: int) -> Any:
        if not isinstance(exponent, int):
            return NotImplemented
        base: Any = self if exponent >= 0 else 1 / self
        return math.prod([base] * abs(exponent), start=Fraction(1))

    def __eq__(self, other: object) -> bool:
        right = self._terms(other)
        if right is None:
            return False
        left, right = with_coprime_bases(self.terms, right)
        return {m: r for m, r in left.items() if r} == {m: r for m, r in right.items() if r}

    def __hash__(self) -> int:
        return hash(float(self))  # one number may be written by several bases

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


def _reciprocal(number: Algebraic | Fraction) -> Any:
    """1 / number: square roots leave the denominator by their conjugates, what remains by linear equations."""
    if not number:
        raise ZeroDivisionError("division by the exact number 0")
    above: Any = Fraction(1)
    while isinstance(number, Algebraic):
        generators = {g: e for monomial in number.terms for g, e in monomial}
        single = [g for g in generators if _is_square_root(g, number)]
        if not single:
            return above * _solved(number)
        conjugate = Algebraic(
            {m: -r if any(g == single[0] for g, _ in m) else r for m, r in number.terms.items()}
        )
        above, number = above * conjugate, number * conjugate
    return above / number


def _is_square_root(generator: Generator, number: Algebraic) -> bool:
    exponents = {e for monomial in number.terms for g, e in monomial if g == generator}
    return isinstance(generator, int) and exponents == {HALF}


def _solved(number: Algebraic) -> Any:
    """The x with x @ R = (1, 0, ...), R the matrix of multiplication with the number."""
    from flint import fmpq, fmpq_mat

    basis = basis_of([number])
    size, columns = len(basis), zip(*multiplication(number, basis), strict=True)
    matrix = fmpq_mat(size, size, [fmpq(r.numerator, r.denominator) for column in columns for r in column])
    found = matrix.solve(fmpq_mat(size, 1, [1] + [0] * (size - 1))).entries()
    numbers = (Fraction(int(x.p), int(x.q)) for x in found)
    return Algebraic.make(dict(zip(basis, numbers, strict=True)))


def _sign(value: Algebraic | Fraction | float) -> int:
    if isinstance(value, Fraction | float):
        return (value > 0) - (value < 0)
    bits = 64
    while True:  # an irrational number is not 0
        low, high = value.enclosure(bits)
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        bits *= 2


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
    return _exact_float(float(value)) if isinstance(value, float) else Fraction(value)


@lru_cache(maxsize=2**17)
def _exact_float(value: float) -> Fraction:
    # A dense precision of 200 coordinates is read four times, 40,000 numbers each.
    decimal = Fraction(repr(value))
    if decimal.denominator > LONGEST_DECIMAL and math.isfinite(value):
        simple = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
        if simple and float(simple) == value:
            return simple
    return decimal


def is_rounded(value: object) -> bool:
    """Whether `value` is a float that is neither a short decimal nor a simple fraction, so that its exact number is unknown."""
    if not isinstance(value, float) or value.is_integer():
        return False
    number, decimal = exact(value), Decimal(repr(float(value)))
    if number.denominator > LONGEST_DECIMAL:
        return True
    # exp(10) has twelve places as well, and sixteen digits.
    return number == Fraction(decimal) and len(decimal.as_tuple().digits) > MOST_DIGITS


def sqrt_of_rational(value: Rational) -> Algebraic | Fraction:
    """sqrt(value) exactly, for value >= 0.

    >>> sqrt_of_rational(Fraction(9, 4)), sqrt_of_rational(Fraction(1, 2))
    (Fraction(3, 2), 1/2*2^(1/2))
    """
    value = Fraction(value)
    if value < 0:
        raise ValueError(f"square root of the negative number {value}")
    return radical(value, HALF) if value else value


def radical(base: Fraction, exponent: Fraction) -> Algebraic | Fraction:
    """base^exponent for a positive rational base, exactly.

    Raises DefinitionError for a base that is not positive, or a root beyond the 24th.

    >>> radical(Fraction(4), Fraction(1, 3)), radical(Fraction(8, 27), Fraction(2, 3))
    (2^(2/3), Fraction(4, 9))
    """
    if base <= 0 or exponent.denominator > HIGHEST_ROOT or abs(exponent.numerator) > 64:
        raise DefinitionError(
            f"({base})^({exponent}): expected a positive base and a root up to the {HIGHEST_ROOT}th; "
            "for another number give root(polynomial, decimal) or a decimal marked ~"
        )
    value, monomial = Fraction(1), []
    for number, sign in ((base.numerator, 1), (base.denominator, -1)):
        for factor, power in factors(number):
            whole, rest = divmod(sign * power * exponent, 1)
            value *= Fraction(factor) ** whole
            if rest:
                monomial.append((factor, rest))
    return Algebraic({tuple(sorted(monomial)): value}) if monomial else value


def real_root(
    coefficients: Sequence[int], near: Fraction, text: str, within: Fraction | None = None
) -> Algebraic:
    """The real root nearest to `near` of the polynomial sum_i coefficients[i] x^i of degree 2 or 3, exactly.

    Raises DefinitionError for another degree, a reducible polynomial, or one without a real root (`within` of `near`).
    """
    root = isolate(coefficients, near, text, within)
    return Algebraic({((root, Fraction(1)),): Fraction(1, root.scale)})


def basis_of(numbers: Iterable[Algebraic | Fraction]) -> Basis:
    """A basis over Q, of algebraic integers and 1 first, of a field that holds all `numbers`.

    Raises DefinitionError for a field of more than 120 dimensions, or a `Root` beside other irrational numbers.
    """
    sums = with_coprime_bases(*(number.terms for number in numbers if isinstance(number, Algebraic)))
    monomials = [monomial for terms in sums for monomial in terms]
    check_together(monomials)
    basis: list[Monomial] = [()]
    for monomial in monomials:
        # The products of the monomials, but for rational factors: a group, to which this one adds the cosets of its powers.
        known, power = list(basis), monomial
        while power not in basis and len(basis) <= MOST_DIMENSIONS**2:
            basis += [_times(one, power) for one in known]
            power = _times(power, monomial)
    if len(basis) > MOST_DIMENSIONS:
        raise DefinitionError(
            f"the coefficients span a field of {len(basis)} dimensions; expected at most {MOST_DIMENSIONS}; give decimals "
            "marked ~ instead"
        )
    return tuple(basis)


def _times(left: Monomial, right: Monomial) -> Monomial:
    """The leading monomial of a product."""
    return product_of(left, right)[-1][0]


def coordinates(number: Algebraic | Fraction, basis: Basis) -> list[Fraction]:
    """The coordinates of `number` in a basis that `basis_of` gave."""
    terms, _ = with_coprime_bases(Algebraic._terms(number) or {}, dict.fromkeys(basis, Fraction(1)))
    return [terms.get(monomial, Fraction(0)) for monomial in basis]


def multiplication(number: Algebraic | Fraction, basis: Basis) -> list[list[Fraction]]:
    """The matrix R with coordinates(x * number) = coordinates(x) @ R."""
    return [coordinates(Algebraic({monomial: Fraction(1)}) * number, basis) for monomial in basis]
