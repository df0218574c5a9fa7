"""The truncated free associative algebra, over numbers of any kind.

A splitting word with its coefficients, read and checked: exp(c1 X1) exp(c2 X2) ..., from left to right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, product
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from sgverify.errors import ConfigurationError, DefinitionError, shown
from sgverify.exact.rings.polynomials import to_fmpq, to_fraction
from sgverify.schemes.compositions import read_coefficients
from sgverify.schemes.numbers.rounded import Rounded
from sgverify.schemes.numbers.text import Number


@dataclass(frozen=True, eq=False)
class FreeSeries:
    """A noncommutative power series, known through a degree.

    `components[d]` holds the coefficients of the words of d letters, in the order of `letters`. Rational ones are flint's.
    """

    letters: tuple[str, ...]
    components: list[NDArray[Any]]

    def component(self, degree: int) -> dict[str, Any]:
        """Return the part of one degree: each word with its coefficient, zeros left out."""
        words = product(self.letters, repeat=degree)
        return {
            "".join(word): to_fraction(entry) if isinstance(entry, int | fmpq) else entry
            for word, entry in zip(words, self.components[degree].tolist(), strict=True)
            if entry
        }


def product_of_exponentials(
    word: Sequence[str], coefficients: Sequence[Any], degree: int, letters: Sequence[str] | None = None
) -> FreeSeries:
    """Return exp(c1 X1) exp(c2 X2) ... through a degree, for the word X1 X2 ... read from left to right, in any numbers.

    A factor exp(c X) only appends powers of one letter, and the words that end in X^n are every k^n-th one: one strided slice.
    `letters`: those of the series; default, the word's, sorted.
    """
    letters = tuple(sorted(set(word)) if letters is None else letters)
    size, kind = len(letters), float if all(isinstance(c, float) for c in coefficients) else object
    components = [np.zeros(size**d, dtype=kind) for d in range(degree + 1)]
    components[0][0] = 1
    rational = all(isinstance(c, Fraction) for c in coefficients)
    for letter, coefficient in zip(word, coefficients, strict=True):
        share = to_fmpq(coefficient) if rational else coefficient
        digit, powers = letters.index(letter), [share]
        for n in range(2, degree + 1):
            powers.append(powers[-1] * share / n)
        for d in range(degree, 0, -1):
            ending = 0  # the index of the word X^n
            for n, power in enumerate(powers[:d], start=1):
                ending = ending * size + digit
                components[d][ending :: size**n] += components[d - n] * power
    return FreeSeries(letters, components)


def logarithm(series: FreeSeries) -> FreeSeries:
    """Return log P = sum_n (-1)^(n+1) (P - 1)^n / n of a series P with constant term 1, by Horner's rule.

    The n-th power starts at degree n, so the innermost factors are needed through low degrees only. Raises ValueError if the
    constant term is not 1.
    """
    if series.components[0][0] != 1:
        raise ValueError("the logarithm of a free series needs the constant term 1")
    degree = len(series.components) - 1
    rational = any(isinstance(entry, fmpq) for entry in series.components[-1])
    unit: Any = fmpq(1) if rational else Fraction(1)
    horner: list[NDArray[Any]] = []  # after the pass n: sum over m >= n of (-1)^(m+1)/m (P - 1)^(m-n)
    for n in range(degree, -1, -1):
        found = []
        for d in range(degree - n + 1):
            total = np.zeros(len(series.components[d]), dtype=object)
            for k in range(1, d + 1):
                total += np.multiply.outer(series.components[k], horner[d - k]).ravel()
            found.append(total)
        if n:
            found[0][0] += unit / (n if n % 2 else -n)
        horner = found
    return FreeSeries(series.letters, horner)


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
