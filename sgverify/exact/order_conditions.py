"""The order conditions of a splitting word: polynomial equations in its coefficients, one for each Lyndon word.

The word X1 X2 ... with unknown coefficients has order p if and only if in exp(c1 X1) exp(c2 X2) ... every Lyndon word
of d = 1, ..., p letters has the coefficient 1/d!, as it has in exp(S). That is enough by induction (`word_defect`):
once the conditions through degree d - 1 hold, what is left at degree d is a Lie polynomial, and its coefficients at
Lyndon words determine it. There are as many conditions as dimensions of the free Lie algebra (Witt's formula), so
none is superfluous for a generic word.

Source: Hairer, Lubich, Wanner 2006, Geometric Numerical Integration, section III.5; the conditions themselves are the
ones of the coefficients of words there, before logarithms.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb, factorial
from typing import Any

import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx
from numpy.typing import NDArray

from sgverify.errors import ConfigurationError, DefinitionError
from sgverify.exact.lyndon_table import lyndon_table
from sgverify.exact.series.polynomials import to_fraction
from sgverify.exact.splitting import read_degree, read_splitting
from sgverify.exact.word_defect import spread

DEFAULT_DEGREE = 3
MOST_MONOMIALS = 20_000


@dataclass(frozen=True)
class OrderCondition:
    """polynomial = value: what the coefficients must satisfy at one Lyndon word.

    polynomial: in the unknowns, as text. terms: {exponents: coefficient}, one exponent for each unknown.
    """

    degree: int
    word: str
    unknowns: tuple[str, ...]
    polynomial: str
    value: Fraction
    terms: dict[tuple[int, ...], Fraction] = field(repr=False, compare=False)

    def residual(self, *values: Any) -> Any:
        """polynomial - value at one number for each unknown; exact where the numbers are."""
        if len(values) != len(self.unknowns):
            raise DefinitionError(
                f"{len(values)} numbers for {len(self.unknowns)} unknowns; give one for each of {', '.join(self.unknowns)}"
            )
        total: Any = -self.value
        for exponents, coefficient in self.terms.items():
            term: Any = coefficient
            for value, exponent in zip(values, exponents, strict=True):
                for _ in range(exponent):
                    term = term * value
            total = total + term
        return total

    def __str__(self) -> str:
        return f"{self.polynomial} = {self.value}"


def order_conditions(
    word: str, degree: int | None = None, *, symmetric: bool = False
) -> tuple[OrderCondition, ...]:
    """Return the order conditions of a word through a degree, 3 by default.

    The unknowns are named after the letters: ABA has a1, b1, a2. symmetric: the coefficients of a palindromic word
    mirror one another; the unknowns are those of its first half, and odd degrees suffice, because a time-symmetric
    word has even order.

    Raises DefinitionError for a malformed word, or one that is no palindrome where `symmetric` asks for it, and
    ConfigurationError for a degree out of range or conditions of more than 20,000 monomials.

    >>> [str(condition) for condition in order_conditions("ABA", 2)]
    ['a1 + a2 = 1', 'b1 = 1', 'a1*b1 = 1/2']
    """
    splitting = read_splitting(word)
    if symmetric and word != word[::-1]:
        raise DefinitionError(
            f"word={word!r} is no palindrome: expected one for symmetric conditions; mirror it, or ask for all"
        )
    last = read_degree(degree, len(splitting.letters), DEFAULT_DEGREE)
    names = _names(word)
    if symmetric:
        names = [names[min(i, len(word) - 1 - i)] for i in range(len(word))]
    unknowns = tuple(dict.fromkeys(names))
    if (monomials := comb(len(unknowns) + last - 1, last)) > MOST_MONOMIALS:
        raise ConfigurationError(
            f"degree={last}: conditions in {len(unknowns)} unknowns may have {monomials} monomials, expected at most "
            f"{MOST_MONOMIALS}; lower the degree or shorten the word"
        )
    context = fmpq_mpoly_ctx.get(unknowns, Ordering.deglex)
    generators = dict(zip(unknowns, context.gens(), strict=True))
    letters = "".join(splitting.letters)
    conditions = []
    for d in range(1, last + 1):
        if symmetric and d % 2 == 0:
            continue
        polynomials = _polynomials(word, [generators[name] for name in names], letters, d)
        for lyndon_word, polynomial in polynomials.items():
            conditions.append(_condition(d, lyndon_word, unknowns, polynomial))
    return tuple(conditions)


def _polynomials(word: str, unknowns: list[fmpq_mpoly], letters: str, degree: int) -> dict[str, fmpq_mpoly]:
    table = lyndon_table(letters, degree)
    one = unknowns[0] * 0 + 1
    powers = [_array([one * unknown**n for n in range(degree + 1)]) for unknown in unknowns]
    start = _array([one] + [one * 0] * (table.size - 1))

    def times(i: int, values: NDArray[Any], n: NDArray[np.intp]) -> NDArray[Any]:
        product: NDArray[Any] = values * powers[i][n]
        return product

    scaled = spread(table, word, start, times)[table.places]
    return {
        text: polynomial * fmpq(1, factorial(degree))
        for text, polynomial in zip(table.words, scaled.tolist(), strict=True)
    }


def _array(polynomials: list[fmpq_mpoly]) -> NDArray[Any]:
    # numpy would take a polynomial for a sequence of its terms.
    array = np.empty(len(polynomials), dtype=object)
    for i, polynomial in enumerate(polynomials):
        array[i] = polynomial
    return array


def _condition(degree: int, word: str, unknowns: tuple[str, ...], polynomial: fmpq_mpoly) -> OrderCondition:
    terms = {
        tuple(int(e) for e in exponents): to_fraction(c) for exponents, c in polynomial.to_dict().items()
    }
    return OrderCondition(degree, word, unknowns, str(polynomial), Fraction(1, factorial(degree)), terms)


def _names(word: str) -> list[str]:
    seen: Counter[str] = Counter()
    names = []
    for letter in word:
        seen[letter] += 1
        names.append(f"{letter.lower()}{seen[letter]}")
    return names
