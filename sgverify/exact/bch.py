"""Baker-Campbell-Hausdorff, exact: the order and the leading error of a splitting word.

A word X1 X2 ... with rational coefficients c1, c2, ... is read from left to right,

    exp(c1 X1) exp(c2 X2) ... = exp(Z),

and compared with the sum S of its distinct letters. Z is a Lie series; the word has order p when Z - S starts
at degree p + 1, which is the power of h there when every letter carries one factor h. A step that moves with
X1 first has this very operator on test functions: (exp(c1 X1) exp(c2 X2) ... f)(x_0) = E[f(x_1) | x_0].

For the order no logarithm is needed. Let Z = S + E + (higher degrees), E of degree d. In exp(Z) a product of
n factors with at least one E among them has degree d + n - 1 or more, hence degree d only for n = 1: the
factor E alone. So exp(Z) - exp(S) = E + (higher degrees), and the first degree at which the product differs
from exp(S) is the leading error itself. `bch` reads it there; `bch_series` takes the whole logarithm and must
agree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from numbers import Rational

from sgverify.errors import ConfigurationError, DefinitionError
from sgverify.exact.free_algebra import difference_from_flow, logarithm, product_of_exponentials
from sgverify.exact.lyndon import expand, lyndon_coefficients

MOST_LETTERS = 8
DEFAULT_DEGREE = 8
MOST_WORDS = 2**16  # letters**degree stays within this, seconds of work: degree 16, 10, 8, 6, 6, 5, 5

Coefficient = int | float | Fraction | str

# The exponent is short because "1e999999999" would be written out digit by digit.
_NUMBER = re.compile(r"[+-]?([0-9]+/[0-9]+|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?)")


@dataclass(frozen=True)
class LeadingTerm:
    """One commutator of the Lyndon basis and its exact coefficient; a lone letter at degree 1."""

    commutator: str
    coefficient: Fraction

    def __str__(self) -> str:
        return f"{self.coefficient} {self.commutator}"


@dataclass(frozen=True)
class BCHResult:
    """What BCH says about a word.

    word, coefficients: the splitting exp(c1 X1) exp(c2 X2) ..., read from left to right.
    order: p when Z - S starts at degree p + 1; 0 for an inconsistent word; None when Z = S at every degree;
        `degree`, as a lower bound, when there is no error through that degree (see `order_is_lower_bound`).
    leading: the part of Z - S of degree p + 1 in the Lyndon basis with standard bracketing.
    degree: the last degree that was examined; degree p + 1 where there is a leading error.
    reason: one sentence.
    """

    word: str
    coefficients: tuple[Fraction, ...]
    order: int | None
    leading: tuple[LeadingTerm, ...]
    degree: int
    reason: str

    @property
    def letters(self) -> tuple[str, ...]:
        """The distinct letters, sorted."""
        return tuple(sorted(set(self.word)))

    @property
    def shares(self) -> dict[str, Fraction]:
        """The sum of the coefficients of each letter."""
        return _shares(self.word, self.coefficients)

    @property
    def consistent(self) -> bool:
        """Whether the coefficients of each letter sum to 1."""
        return all(share == 1 for share in self.shares.values())

    @property
    def symmetric(self) -> bool:
        """Whether the splitting is a palindrome, equal neighbours merged and zero coefficients dropped.

        Then reversing time inverts it, Z is an odd function of the letters, and a consistent word has even
        order.
        """
        reduced = _reduced(self.word, self.coefficients)
        return reduced == reduced[::-1]

    @property
    def order_is_lower_bound(self) -> bool:
        """Whether `order` means "at least": no error through `degree`, and nothing known beyond it."""
        return self.order is not None and not self.leading


def bch(
    word: str, coefficients: Sequence[Coefficient] | str | None = None, degree: int | None = None
) -> BCHResult:
    """Return the order of a splitting word and its leading error, exactly.

    word: capital letters, at most 8 distinct ones, read from left to right.
    coefficients: one for each letter of the word: int, Fraction, text ("1/2", or "0.25", read exactly) or
        float (read as the decimal it prints as); or one text with commas. Default: equal shares, 1/k for a
        letter that occurs k times; those of a palindromic word are palindromic.
    degree: how far to look; default 8, less beyond 4 letters. The search stops at the first error.

    Raises DefinitionError for a malformed word or coefficients, ConfigurationError for a degree out of range.
    Source: Hairer, Lubich, Wanner 2006, Geometric Numerical Integration, sections III.4 and III.5.

    >>> [str(term) for term in bch("ABA").leading]
    ['-1/24 [A,[A,B]]', '1/12 [[A,B],B]']
    """
    word, exact = _word(word), _coefficients(word, coefficients)
    shares = _shares(word, exact)
    last = _degree(degree, len(shares))
    wrong = ", ".join(f"those of {letter} sum to {share}" for letter, share in shares.items() if share != 1)
    if len(shares) == 1 and not wrong:
        return BCHResult(word, exact, None, (), last, f"the word is exp({word[0]}), exact at every degree")
    for examined in range(1, last + 1):
        # Started afresh: the last degree costs more than all below it together, and most words stop early.
        defect = difference_from_flow(product_of_exponentials(word, exact, examined), examined)
        if defect:
            leading = tuple(LeadingTerm(*term) for term in lyndon_coefficients(defect).items())
            reason = (
                f"inconsistent, the coefficients of each letter must sum to 1: {wrong}"
                if wrong
                else f"the first commutators that do not vanish have degree {examined}"
            )
            return BCHResult(word, exact, examined - 1, leading, examined, reason)
    reason = f"no error through degree {last}: the order is at least {last}"
    return BCHResult(word, exact, last, (), last, reason)


def bch_series(
    word: str, coefficients: Sequence[Coefficient] | str | None = None, degree: int | None = None
) -> dict[int, dict[str, Fraction]]:
    """Return Z = log(exp(c1 X1) exp(c2 X2) ...) in the Lyndon basis: degree -> commutator -> coefficient.

    Arguments and errors are those of `bch`. Every degree from 1 through `degree` is there, empty where Z has
    no part.

    >>> bch_series("AB", degree=2)
    {1: {'A': Fraction(1, 1), 'B': Fraction(1, 1)}, 2: {'[A,B]': Fraction(1, 2)}}
    """
    word, exact = _word(word), _coefficients(word, coefficients)
    last = _degree(degree, len(set(word)))
    series = logarithm(product_of_exponentials(word, exact, last))
    return {d: lyndon_coefficients(series.component(d)) for d in range(1, last + 1)}


def as_operator_words(result: BCHResult) -> dict[str, Fraction]:
    """Return the leading error as associative words; "AB" is the operator product, (AB)f = A(Bf).

    >>> as_operator_words(bch("AB"))
    {'AB': Fraction(1, 2), 'BA': Fraction(-1, 2)}
    """
    return expand({term.commutator: term.coefficient for term in result.leading})


def _word(word: object) -> str:
    if not isinstance(word, str) or not re.fullmatch("[A-Z]+", word):
        raise DefinitionError(
            f"word={word!r} is malformed: expected one capital letter A to Z for each sub-flow; "
            "write it like 'ABA', without blanks, digits or lower case"
        )
    distinct = len(set(word))
    if distinct > MOST_LETTERS:
        raise DefinitionError(
            f"word={word!r} has {distinct} distinct letters: expected at most {MOST_LETTERS}; "
            "join sub-flows that commute into one letter"
        )
    return word


def _coefficients(word: str, given: Sequence[Coefficient] | str | None) -> tuple[Fraction, ...]:
    if given is None:
        occurrences = Counter(word)
        return tuple(Fraction(1, occurrences[letter]) for letter in word)
    if not isinstance(given, Sequence):
        raise DefinitionError(
            f"coefficients={given!r} is not a sequence: expected one rational number for each letter of "
            f"word={word!r}; give a tuple, or one text with commas such as '1/2,1,1/2'"
        )
    exact = tuple(_rational(value) for value in (given.split(",") if isinstance(given, str) else given))
    if len(exact) != len(word):
        raise DefinitionError(
            f"coefficients={','.join(map(str, exact))!r} has {len(exact)} entries: expected {len(word)}, "
            f"one for each letter of word={word!r}; give that many, or leave them out for equal shares"
        )
    return exact


def _rational(value: object) -> Fraction:
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))
    # A float is read as the decimal it prints as, so that 0.1 is 1/10; nan and inf print as no number.
    text = repr(float(value)) if isinstance(value, float) else value
    if isinstance(text, str) and _NUMBER.fullmatch(text.strip()):
        try:
            return Fraction(text.strip())
        except (ZeroDivisionError, ValueError):  # "1/0", or more digits than Python reads
            pass
    raise DefinitionError(
        f"coefficient={value!r} is not a rational number: expected an integer, a fraction such as 1/2 or a "
        "decimal such as 0.25; write an irrational one as a fraction close to it"
    )


def _degree(degree: int | None, letters: int) -> int:
    # One letter has a single word at each degree; counted as two letters it is bounded as well.
    affordable = [d for d in range(1, MOST_WORDS.bit_length()) if max(letters, 2) ** d <= MOST_WORDS]
    if degree is None:
        return min(DEFAULT_DEGREE, affordable[-1])
    if isinstance(degree, bool) or not isinstance(degree, int) or degree not in affordable:
        raise ConfigurationError(
            f"degree={degree!r} is out of range: expected an integer from 1 to {affordable[-1]} for a word "
            f"of {letters} distinct letters; give one of these, or leave it out for the default"
        )
    return degree


def _shares(word: str, coefficients: Sequence[Fraction]) -> dict[str, Fraction]:
    shares = dict.fromkeys(sorted(set(word)), Fraction(0))
    for letter, coefficient in zip(word, coefficients, strict=True):
        shares[letter] += coefficient
    return shares


def _reduced(word: str, coefficients: Sequence[Fraction]) -> tuple[tuple[str, Fraction], ...]:
    """The same product of exponentials with no zero coefficient and no two equal letters in a row."""
    factors = list(zip(word, coefficients, strict=True))
    while True:
        merged = [
            (letter, share)
            for letter, run in groupby(factors, key=lambda factor: factor[0])
            if (share := sum((coefficient for _, coefficient in run), Fraction(0)))
        ]
        if len(merged) == len(factors):
            return tuple(merged)
        factors = merged
