"""The truncated free associative algebra: over the rationals in integers, over a number field in its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, factorial, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
