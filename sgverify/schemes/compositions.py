"""Splittings of higher order, and the exact coefficients of a splitting.

Coefficients are given as numbers, texts or names of compositions, and read into exact numbers. A composition repeats a
palindromic splitting of order 2 in steps of several lengths:
a symmetric step of order 2k has an error of degree 2k + 1 that scales with the power 2k + 1 of the step. Steps of the
lengths w_1, ..., w_n in a palindromic arrangement have order 2k + 2 when sum w_i = 1 and sum w_i^(2k+1) = 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.numbers.algebraic import Algebraic, exact, radical
from sgverify.schemes.numbers.rounded import Rounded
from sgverify.schemes.numbers.text import Number, read_number, split_numbers

MOST_FLOWS = 150
"""The most letters of a word: compositions of order 10 have 35 palindromes of order 2, of four letters each but for the last."""


def read_coefficients(word: str, given: Sequence[Any] | str, *, rounded: bool = False) -> tuple[Number, ...]:
    """One number for each letter of `word`: a sequence, a text with commas, or the name of a composition.

    Raises DefinitionError for an entry that is no number, and where there is not one entry for each letter.

    >>> read_coefficients("ABA", "0.5, 1, 3/6")
    (Fraction(1, 2), Fraction(1, 1), Fraction(1, 2))
    """
    if not isinstance(given, Sequence):
        raise DefinitionError(
            f"coefficients={given!r} is not a sequence: expected one number for each letter of word={word!r}; "
            "give a tuple, or one text with commas such as '1/2,1,1/2'"
        )
    if isinstance(given, str) and given.strip() in COMPOSITIONS:
        return shares_of(given.strip(), word)
    values = split_numbers(given) if isinstance(given, str) else given
    numbers = tuple(read_coefficient(value, rounded=rounded) for value in values)
    if len(numbers) != len(word):
        raise DefinitionError(
            f"coefficients={','.join(map(str, values))!r} has {len(numbers)} entries: expected {len(word)}, "
            f"one for each letter of word={word!r}; give that many, or leave them out for equal shares"
        )
    return numbers


def read_coefficient(value: Any, *, rounded: bool = False) -> Number:
    """An int, Fraction, exact root, float or text as an exact number; a decimal marked ~ as an interval.

    A float is read as `sgverify.schemes.exact` reads it: the decimal it prints as, 1/3 where it is a third's
    rounding. rounded: take every text with a decimal point for a printed decimal, as if a ~ stood before it.

    Raises DefinitionError for anything else.
    """
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Algebraic | Rounded):
        return value
    try:
        if isinstance(value, float):
            return exact(value)
        if isinstance(value, str):
            return read_number(value, rounded=rounded)
        reason = "it is neither a number nor a text"
    except (ValueError, OverflowError) as error:
        reason = "nan and inf are no numbers" if isinstance(value, float) else str(error)
    shown = f"{value!r:.60}"
    raise DefinitionError(
        f"coefficient={shown} is not an exact number: expected one such as 1/2, 0.25, sqrt(3)/6, "
        f"1/(2-2^(1/3)) or a printed decimal ~0.2146; {reason}; write it like one of these"
    )


COMPOSITIONS = {
    "yoshida4": "the triple jump (Yoshida 1990; Creutz and Gocksch 1989; Forest and Ruth 1990)",
    "suzuki4": "the five-fold composition (Suzuki 1990)",
    "yoshida6": "the triple jump of a triple jump (Yoshida 1990)",
    "suzuki6": "the five-fold composition of a five-fold composition (Suzuki 1990)",
}


def lengths_of(name: str) -> tuple[Any, ...]:
    """The lengths of the steps, exactly: w, 1 - 2w, w with w = 1/(2 - 2^(1/3)) for "yoshida4".

    Sources: Yoshida 1990, Physics Letters A 150, 262-268; Suzuki 1990, Physics Letters A 146, 319-323: s, s, 1 - 4s,
    s, s with s = 1/(4 - 4^(1/3)). For order 6 the same once more with fifth roots; Hairer, Lubich, Wanner 2006,
    Geometric Numerical Integration, section II.4, examples 4.2 and 4.3.
    """
    lengths: list[Any] = [Fraction(1)]
    outer = 1 if name.startswith("yoshida") else 2
    for order in range(2, int(name[-1]), 2):
        w = 1 / (2 * outer - radical(Fraction(2 * outer), Fraction(1, order + 1)))
        scales = [w] * outer + [1 - 2 * outer * w] + [w] * outer
        lengths = [scale * length for scale in scales for length in lengths]
    return tuple(lengths)


def shares_of(name: str, word: str) -> tuple[Any, ...]:
    """The coefficients that make `word` the composition `name` of a palindromic word with equal shares.

    word: the copies written out (ABAABAABA) or with equal neighbours joined (ABABABA).
    Raises DefinitionError for a word that is not made of that many copies.

    >>> [str(share) for share in shares_of("yoshida4", "ABABABA")][:2]
    ['1/3 + 1/6*2^(1/3) + 1/12*2^(2/3)', '2/3 + 1/3*2^(1/3) + 1/6*2^(2/3)']
    """
    lengths = lengths_of(name)
    count = len(lengths)
    for joined in (True, False):
        size = (len(word) - joined) // count + joined
        base, following = word[:size], word[joined:size]
        if size > 1 and base == base[::-1] and word == base + following * (count - 1):
            return _shares(base, lengths, joined)
    raise DefinitionError(
        f"coefficients={name!r} with word={word!r}: expected {count} copies of one palindrome, such as "
        f"{'ABA' + 'BA' * (count - 1)!r} for 'ABA'; write that word, or give one coefficient for each letter"
    )


def _shares(base: str, lengths: tuple[Any, ...], joined: bool) -> tuple[Any, ...]:
    counts = Counter(base)
    shares: list[Any] = []
    for length in lengths:
        step = [length * Fraction(1, counts[letter]) for letter in base]
        if joined and shares:
            shares[-1] = shares[-1] + step.pop(0)
        shares += step
    return tuple(shares)
