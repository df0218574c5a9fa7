"""The truncated free associative algebra: over the rationals in integers, over a number field in its numbers.

A splitting word with its coefficients, read and checked: exp(c1 X1) exp(c2 X2) ..., from left to right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, product
from math import comb, factorial, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgverify.errors import ConfigurationError, DefinitionError, shown
from sgverify.schemes.compositions import read_coefficients
from sgverify.schemes.numbers.rounded import Rounded
from sgverify.schemes.numbers.text import Number

Component = NDArray[
    Any
]  # dtype object: Python integers, so no entry can overflow, or exact irrational numbers


@dataclass(frozen=True, eq=False)
class FreeSeries:
    """A noncommutative power series, known through a degree.

    The coefficient of a word w of d letters is components[d][index(w)] / (scale * denominator**d * d!), where
    index(w) is the number whose digits in base k are the letters of w, and k is the number of letters.

    letters: the alphabet, sorted.
    denominator, scale: positive integers that keep the components integral.
    components: one array for each degree 0, 1, ...; shape: (k**d,). Integers for rational coefficients.
    """

    letters: tuple[str, ...]
    denominator: int
    components: tuple[Component, ...]
    scale: int = 1

    @property
    def degree(self) -> int:
        """The highest degree that is known."""
        return len(self.components) - 1

    def component(self, degree: int) -> dict[str, Any]:
        """Return the part of one degree: each word with its coefficient, zeros left out."""
        divisor = self.scale * self.denominator**degree * factorial(degree)
        words = product(self.letters, repeat=degree)
        return {
            "".join(word): Fraction(entry, divisor)
            if isinstance(entry, int)
            else entry * Fraction(1, divisor)
            for word, entry in zip(words, self.components[degree].tolist(), strict=True)
            if entry
        }


def product_of_exponentials(word: Sequence[str], coefficients: Sequence[Any], degree: int) -> FreeSeries:
    """Return exp(c1 X1) exp(c2 X2) ... through a degree, for the word X1 X2 ... read from left to right.

    A factor exp(c X) only appends powers of one letter: with q a common denominator of the coefficients,
    c = a/q and P the product so far,

        q^d d! (P exp(c X))_d = sum_n binomial(d, n) a^n [q^(d-n) (d-n)! P_(d-n)] X^n,

    so that every entry is an integer, and the words that end in X^n are every k^n-th one: one strided slice.
    Irrational coefficients stay what they are, with q = 1.
    """
    letters = tuple(sorted(set(word)))
    size = len(letters)
    rational = all(isinstance(coefficient, Fraction) for coefficient in coefficients)
    denominator = lcm(1, *(coefficient.denominator for coefficient in coefficients)) if rational else 1
    components = [np.zeros(size**d, dtype=object) for d in range(degree + 1)]
    components[0][0] = 1
    for letter, coefficient in zip(word, coefficients, strict=True):
        numerator = int(coefficient * denominator) if rational else coefficient
        digit = letters.index(letter)
        components = [_append_powers(components, d, digit, numerator, size) for d in range(degree + 1)]
    return FreeSeries(letters, denominator, tuple(components))


def logarithm(series: FreeSeries) -> FreeSeries:
    """Return log P = sum_n (-1)^(n+1) (P - 1)^n / n of a series P with constant term 1.

    By Horner's rule, with the fractions 1/n brought to the common denominator lcm(1, ..., degree). The n-th
    power starts at degree n, so the innermost factors are needed through low degrees only.

    Raises ValueError if the constant term is not 1.
    """
    if series.scale != 1 or series.components[0][0] != 1:
        raise ValueError("the logarithm of a free series needs scale=1 and the constant term 1")
    degree = series.degree
    common = lcm(*range(1, degree + 1))
    shifted = (np.zeros(1, dtype=object), *series.components[1:])
    size = len(series.letters)
    horner: list[Component] = []  # after the pass n: sum over m >= n of (-1)^(m+1) common/m (P - 1)^(m-n)
    for n in range(degree, 0, -1):
        horner = [_product_component(shifted, horner, d, size) for d in range(degree - n + 1)]
        horner[0] = horner[0] + (common // n if n % 2 else -(common // n))
    components = tuple(_product_component(shifted, horner, d, size) for d in range(degree + 1))
    return FreeSeries(series.letters, series.denominator, components, scale=common)


def _append_powers(
    components: Sequence[Component], degree: int, digit: int, numerator: Any, size: int
) -> Component:
    """One degree of (series) * exp(numerator/q * letter)."""
    result = components[degree].copy()
    power: Any = 1
    ending = 0  # the index of the word X^n
    for n in range(1, degree + 1):
        power *= numerator
        ending = ending * size + digit
        result[ending :: size**n] += comb(degree, n) * power * components[degree - n]
    return result


def _product_component(
    left: Sequence[Component], right: Sequence[Component], degree: int, size: int
) -> Component:
    """One degree of left * right, where left has no constant term."""
    result = np.zeros(size**degree, dtype=object)
    for n in range(1, degree + 1):
        result += comb(degree, n) * np.multiply.outer(left[n], right[degree - n]).ravel()
    return result


MOST_LETTERS = 8
LONGEST_WORD = 5000  # a second or two
DEFAULT_DEGREE = 8
MOST_WORDS = 2**16  # letters**degree stays within this, seconds of work: degree 16, 10, 8, 6, 6, 5, 5
DECIMALS = ("exact", "rounded")


@dataclass(frozen=True)
class Splitting:
    """The product exp(c1 X1) exp(c2 X2) ... of a word X1 X2 ... with coefficients c1, c2, ...."""

    word: str
    coefficients: tuple[Number, ...]

    @property
    def letters(self) -> tuple[str, ...]:
        """The distinct letters, sorted."""
        return tuple(sorted(set(self.word)))

    @property
    def rounded(self) -> bool:
        """Whether a coefficient is a printed decimal, known to its last place only."""
        return any(isinstance(c, Rounded) for c in self.coefficients)

    @property
    def shares(self) -> dict[str, Any]:
        """The sum of the coefficients of each letter."""
        shares: dict[str, Any] = dict.fromkeys(self.letters, Fraction(0))
        for letter, coefficient in zip(self.word, self.coefficients, strict=True):
            shares[letter] = shares[letter] + coefficient
        return shares

    @property
    def inconsistent(self) -> dict[str, Any]:
        """The sums that are not 1; of printed decimals, those that cannot be 1."""
        return {letter: share for letter, share in self.shares.items() if not _may_be_one(share)}

    @property
    def joined(self) -> Splitting:
        """The same product with no zero coefficient and no two equal letters in a row."""
        factors = list(zip(self.word, self.coefficients, strict=True))
        while True:
            merged = [
                (letter, share)
                for letter, run in groupby(factors, key=lambda factor: factor[0])
                if (share := sum((coefficient for _, coefficient in run), Fraction(0)))
            ]
            if len(merged) == len(factors):
                return Splitting("".join(letter for letter, _ in merged), tuple(c for _, c in merged))
            factors = merged

    @property
    def symmetric(self) -> bool:
        """Whether it is a palindrome, equal neighbours joined and zero coefficients dropped.

        Printed decimals count as equal where they are printed alike.
        """
        joined = self.joined
        return joined.word == joined.word[::-1] and joined.coefficients == joined.coefficients[::-1]


def read_splitting(
    word: object, coefficients: Sequence[Any] | str | None = None, *, decimals: str = "exact"
) -> Splitting:
    """The splitting of a word and its coefficients; by default 1/k for a letter that occurs k times.

    decimals: "exact", or "rounded": decimals in texts are printed ones, as if a ~ stood before them.
    Raises DefinitionError for a malformed word or coefficients, ConfigurationError for another `decimals`.
    """
    if decimals not in DECIMALS:
        raise ConfigurationError(f"decimals={decimals!r}: expected 'exact' or 'rounded'; give one of these")
    text = _word(word)
    if coefficients is None:
        occurrences = Counter(text)
        return Splitting(text, tuple(Fraction(1, occurrences[letter]) for letter in text))
    return Splitting(text, read_coefficients(text, coefficients, rounded=decimals == "rounded"))


def read_degree(degree: int | None, letters: int, default: int = DEFAULT_DEGREE) -> int:
    """The last degree to look at: as given, or the default where that is affordable.

    Raises ConfigurationError for a degree out of range.
    """
    # One letter has a single word at each degree; counted as two letters it is bounded as well.
    affordable = [d for d in range(1, MOST_WORDS.bit_length()) if max(letters, 2) ** d <= MOST_WORDS]
    if degree is None:
        return min(default, affordable[-1])
    if isinstance(degree, bool) or not isinstance(degree, int) or degree not in affordable:
        raise ConfigurationError(
            f"degree={degree!r} is out of range: expected an integer from 1 to {affordable[-1]} for a word "
            f"of {letters} distinct letters; give one of these, or leave it out for the default"
        )
    return degree


def _word(word: object) -> str:
    if not isinstance(word, str) or not re.fullmatch("[A-Z]+", word):
        raise DefinitionError(
            f"word={word!r} is malformed: expected one capital letter A to Z for each sub-flow; "
            "write it like 'ABA', without blanks, digits or lower case"
        )
    if len(word) > LONGEST_WORD:
        raise DefinitionError(
            f"word={shown(word)} has {len(word)} letters: expected at most {LONGEST_WORD}; shorten it"
        )
    distinct = len(set(word))
    if distinct > MOST_LETTERS:
        raise DefinitionError(
            f"word={word!r} has {distinct} distinct letters: expected at most {MOST_LETTERS}; "
            "join sub-flows that commute into one letter"
        )
    return word


def _may_be_one(share: Any) -> bool:
    if isinstance(share, Rounded):
        return share.low <= 1 <= share.high
    return bool(share == 1)
