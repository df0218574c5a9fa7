"""Baker-Campbell-Hausdorff: the order and the leading error of a splitting word, exactly.

A word X1 X2 ... with coefficients c1, c2, ... is read from left to right,

    exp(c1 X1) exp(c2 X2) ... = exp(Z),

and compared with the sum S of its distinct letters. Z is a Lie series; the word has order p when Z - S starts
at degree p + 1, which is the power of h there when every letter carries one factor h. A step that moves with
X1 first has this very operator on test functions: (exp(c1 X1) exp(c2 X2) ... f)(x_0) = E[f(x_1) | x_0].

For the order no logarithm is needed, and of each degree the Lyndon words only (`order_conditions`). A palindrome needs the
odd degrees only: reversing its factors and their signs inverts it, so Z changes its sign with h and has no even part.
`bch_series` takes the whole logarithm and must agree.

Coefficients are rational, or exact roots such as 1/(2 - 2^(1/3)), and then the verdict is a proof; or printed decimals
(~0.2146), known to half a unit in their last place: these can refute an order, never prove one (`printed_decimals`).

Sources: Hairer, Lubich, Wanner 2006, Geometric Numerical Integration, sections III.4 and III.5; McLachlan 1995, SIAM
Journal on Scientific Computing 16, 151-168; Blanes and Moan 2002, Journal of Computational and Applied Mathematics
142, 313-330.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgverify.errors import DefinitionError
from sgverify.exact.splittings.lyndon import from_lyndon_words, lyndon_coefficients
from sgverify.exact.splittings.order_conditions import defect_of, vanishes
from sgverify.exact.splittings.splitting import (
    Splitting,
    logarithm,
    product_of_exponentials,
    read_degree,
    read_splitting,
)
from sgverify.schemes.numbers.text import Number

if TYPE_CHECKING:
    from sgverify.exact.splittings.printed_decimals import WithinRounding

MODIFIED_DEGREE = 5


@dataclass(frozen=True)
class LeadingTerm:
    """One commutator of the Lyndon basis and its coefficient; a lone letter at degree 1.

    The coefficient is exact, or a `Rounded` interval where the splitting has printed decimals.
    """

    commutator: str
    coefficient: Any

    def __str__(self) -> str:
        shown = str(self.coefficient)
        return f"({shown}) {self.commutator}" if " " in shown else f"{shown} {self.commutator}"


@dataclass(frozen=True)
class BCHResult:
    """What BCH says about a word.

    word, coefficients: the splitting exp(c1 X1) exp(c2 X2) ..., read from left to right.
    order: p when Z - S starts at degree p + 1; 0 for an inconsistent word; None when Z = S at every degree;
        `degree`, as a lower bound, when there is no error through that degree (see `order_is_lower_bound`). With
        printed decimals the highest order that is not refuted.
    leading: the part of Z - S of degree p + 1 in the Lyndon basis with standard bracketing. With printed decimals
        the commutators whose enclosure excludes 0.
    degree: the last degree that was examined; degree p + 1 where there is a leading error.
    reason: one sentence.
    proved: whether `order` is proved; printed decimals prove no order above 0.
    rounding: of printed decimals, the order that they are consistent with, or that they are too short to tell it.
    """

    word: str
    coefficients: tuple[Number, ...]
    order: int | None
    leading: tuple[LeadingTerm, ...]
    degree: int
    reason: str
    proved: bool = True
    rounding: WithinRounding | None = None

    def __str__(self) -> str:
        """The order, the reason, and a line for each leading commutator."""
        order = "exact" if self.order is None else f"order {self.order}"
        return "\n".join((f"{self.word}: {order}; {self.reason}", *(f"  {term}" for term in self.leading)))

    __repr__ = __str__

    @property
    def letters(self) -> tuple[str, ...]:
        """The distinct letters, sorted."""
        return self._splitting.letters

    @property
    def shares(self) -> dict[str, Any]:
        """The sum of the coefficients of each letter."""
        return self._splitting.shares

    @property
    def consistent(self) -> bool:
        """Whether the coefficients of each letter sum to 1; of printed decimals, whether they may."""
        return not self._splitting.inconsistent

    @property
    def symmetric(self) -> bool:
        """Whether the splitting is a palindrome, equal neighbours joined and zero coefficients dropped.

        Then reversing time inverts it, Z is an odd function of the letters, and a consistent word has even
        order.
        """
        return self._splitting.symmetric

    @property
    def rounded(self) -> bool:
        """Whether a coefficient is a printed decimal, known to its last place only."""
        return self._splitting.rounded

    @property
    def order_is_lower_bound(self) -> bool:
        """Whether `order` means "at least": no error through `degree`, and nothing known beyond it."""
        return self.order is not None and not self.leading

    @property
    def _splitting(self) -> Splitting:
        return Splitting(self.word, self.coefficients)


def bch(
    word: str,
    coefficients: Sequence[Any] | str | None = None,
    degree: int | None = None,
    *,
    decimals: str = "exact",
) -> BCHResult:
    """Return the order of a splitting word and its leading error: exactly, or what printed decimals refute.

    word: capital letters, at most 8 distinct ones, read from left to right.
    coefficients: one for each letter of the word: int, Fraction, float (the decimal it prints as), exact root, or
        text ("1/2", "0.25", read exactly, "1/(2-2^(1/3))", "~0.2146"); one text with commas; or the name of a
        composition, such as "yoshida4" (`sgverify.schemes.compositions`). Default: equal shares, 1/k for a
        letter that occurs k times; those of a palindromic word are palindromic.
    degree: how far to look; default 8, less beyond 4 letters. The search stops at the first error.
    decimals: "exact", or "rounded": every decimal in a text is a printed one, as if it were marked ~.

    Raises DefinitionError for a malformed word or coefficients, ConfigurationError for a degree out of range.

    >>> [str(term) for term in bch("ABA").leading]
    ['-1/24 [A,[A,B]]', '1/12 [[A,B],B]']
    >>> bch("ABABABA", "yoshida4").order
    4
    """
    splitting = read_splitting(word, coefficients, decimals=decimals)
    last = read_degree(degree, len(splitting.letters))
    if splitting.rounded:
        return _refute(splitting, last)
    return _prove(splitting, last)


def bch_series(
    word: str,
    coefficients: Sequence[Any] | str | None = None,
    degree: int | None = None,
    *,
    decimals: str = "exact",
) -> dict[int, dict[str, Any]]:
    """Return Z = log(exp(c1 X1) exp(c2 X2) ...) in the Lyndon basis: degree -> commutator -> coefficient.

    Z is the modified generator: the word solves it exactly. Arguments and errors are those of `bch`; printed decimals
    have no exact Z and are refused. Every degree from 1 through `degree` is there, empty where Z has no part.

    >>> bch_series("AB", degree=2)
    {1: {'A': Fraction(1, 1), 'B': Fraction(1, 1)}, 2: {'[A,B]': Fraction(1, 2)}}
    """
    splitting = _exact_splitting(word, coefficients, decimals)
    last = read_degree(degree, len(splitting.letters))
    series = logarithm(product_of_exponentials(splitting.word, splitting.coefficients, last))
    return {d: lyndon_coefficients(series.component(d)) for d in range(1, last + 1)}


def first_even_degree(
    word: str, coefficients: Sequence[Any] | str | None = None, degree: int | None = None
) -> int | None:
    """Return the first even degree at which Z does not vanish; None where it is odd through `degree`.

    A splitting is time-symmetric, P(h) P(-h) = 1, if and only if Z is odd. Below the first even part Z_e of Z the
    factors of exp(Z(h)) exp(Z(-h)) cancel, and 2 Z_e is what they leave: the product is compared with 1 as `bch`
    compares it with exp(S). Palindromes are time-symmetric at every degree; this looks at any word.

    Arguments and errors are those of `bch`; printed decimals are refused.

    >>> first_even_degree("ABA"), first_even_degree("AB")
    (None, 2)
    """
    splitting = _exact_splitting(word, coefficients)
    letters = "".join(splitting.letters)
    there = splitting.joined
    coefficients_there: list[Any] = list(there.coefficients)
    there_and_back = [*coefficients_there, *(-c for c in coefficients_there)]
    for examined in range(1, read_degree(degree, len(letters)) + 1):
        if not vanishes(there.word * 2, there_and_back, examined, letters=letters, identity=True):
            return examined
    return None


def _prove(splitting: Splitting, last: int) -> BCHResult:
    word, coefficients = splitting.word, splitting.coefficients
    wrong = _wrong_shares(splitting)
    if len(splitting.letters) == 1 and not wrong:
        return BCHResult(
            word, coefficients, None, (), last, f"the word is exp({word[0]}), exact at every degree"
        )
    letters, joined, symmetric = "".join(splitting.letters), splitting.joined, splitting.symmetric
    for examined in range(1, last + 1):
        if symmetric and examined % 2 == 0:
            continue
        defect = defect_of(joined.word, joined.coefficients, examined, letters=letters)  # type: ignore[arg-type]
        if defect:
            leading = tuple(LeadingTerm(*term) for term in from_lyndon_words(defect, examined).items())
            reason = (
                f"inconsistent, the coefficients of each letter must sum to 1: {wrong}"
                if wrong
                else f"the first commutators that do not vanish have degree {examined}"
            )
            return BCHResult(word, coefficients, examined - 1, leading, examined, reason)
    reason = f"no error through degree {last}: the order is at least {last}"
    return BCHResult(word, coefficients, last, (), last, reason)


def _refute(splitting: Splitting, last: int) -> BCHResult:
    from sgverify.exact.splittings.printed_decimals import WithinRounding, enclosures

    word, coefficients = splitting.word, splitting.coefficients
    found = enclosures(splitting, last)
    within = WithinRounding.of(found)
    wrong = _wrong_shares(splitting)
    reason = (
        f"inconsistent, the coefficients of each letter must sum to 1: {wrong}" if wrong else within.reason
    )
    leading = tuple(LeadingTerm(*term) for term in found.commutators.items())
    examined = last if found.refuted is None else found.refuted
    return BCHResult(
        word, coefficients, found.held, leading, examined, reason, found.refuted == 1, rounding=within
    )


def _wrong_shares(splitting: Splitting) -> str:
    return ", ".join(f"those of {letter} sum to {share}" for letter, share in splitting.inconsistent.items())


def _exact_splitting(
    word: str, coefficients: Sequence[Any] | str | None, decimals: str = "exact"
) -> Splitting:
    splitting = read_splitting(word, coefficients, decimals=decimals)
    if splitting.rounded:
        raise DefinitionError(
            f"coefficients={f'{coefficients!r}':.100}: printed decimals have no exact generator; expected exact numbers; "
            "leave out the ~, or --decimals rounded, to read the decimals as exact"
        )
    return splitting
