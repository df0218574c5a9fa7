"""Printed decimals: which order can a splitting have whose coefficients are known to the last printed place?

A decimal with n places stands for every number within half a unit of its last place. The order conditions are enclosed over
these intervals, degree by degree: P - exp(S) at the Lyndon words (`order_conditions`). An enclosure without 0 refutes the order,
for all numbers that round to the decimals. Enclosures with 0 are what true coefficients of that order give too: the decimals
are consistent with the order, which is no proof of it.

Where a decimal has few places its enclosures hold 0 whatever the method is. A condition is therefore asked of decimals only
where the enclosure's radius is small beside 1/d!, the value that every word of d letters has in exp(S) and that the
products of the coefficients must sum to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import factorial
from typing import Any

import flint
import numpy as np
from flint import arb, fmpq

from sgverify.exact.splittings.lyndon import from_lyndon_words, lyndon_table
from sgverify.exact.splittings.order_conditions import spread
from sgverify.exact.splittings.splitting import Splitting, read_degree, read_splitting
from sgverify.schemes.compositions import COMPOSITIONS
from sgverify.schemes.numbers.algebraic import Algebraic
from sgverify.schemes.numbers.rounded import BITS, Rounded
from sgverify.schemes.numbers.text import Number, split_numbers

CLOSE = Fraction(1, 1000)
"""The largest radius of a condition that decides something, in units of 1/d!.

Published splittings that were optimised for small errors fail a condition beyond their order by some thousandths of 1/d! (Blanes
and Moan 2002, S6 of order 4: 0.009 at degree 5). A wider enclosure would hold 0 for them as well.
"""

_DECIMAL = re.compile(r"root\([^()]*\)|(?:~\s*[-+]?\s*)?[0-9]*[.][0-9]+(?:[eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True)
class Enclosures:
    """The order conditions of a splitting over the intervals of its decimals, up to the first degree that is refuted.

    radii: the widest enclosure of each degree that holds 0 at all of its words, in units of 1/d!, from degree 1 on.
    refuted: the degree at which an enclosure excludes 0; None where none does through `last`.
    defect: the enclosures at that degree, for each Lyndon word.
    """

    radii: tuple[Fraction, ...]
    refuted: int | None
    last: int
    defect: dict[str, arb] = field(default_factory=dict, compare=False, repr=False)

    @property
    def held(self) -> int:
        """The last degree whose enclosures all hold 0: the highest order that is not refuted."""
        return len(self.radii)

    @property
    def telling(self) -> int:
        """The last degree through which every enclosure that holds 0 is narrow enough to say something."""
        return next((d for d, radius in enumerate(self.radii) if radius > CLOSE), self.held)

    @property
    def widest(self) -> Fraction:
        """The largest of `radii`; 0 where there are none."""
        return max(self.radii, default=Fraction(0))

    @property
    def commutators(self) -> dict[str, Rounded]:
        """The part of Z - S at the refuted degree, in the Lyndon basis: the terms that exclude 0, or all if none does alone."""
        if self.refuted is None:
            return {}
        terms = from_lyndon_words(self.defect, self.refuted)
        apart = {text: ball for text, ball in terms.items() if not ball.contains(0)} or terms
        return {text: interval(ball) for text, ball in apart.items()}


@dataclass(frozen=True)
class WithinRounding:
    """What is known of the order of a splitting whose decimals were printed.

    order: the highest order that no condition refutes, where the decimals are long enough to ask all conditions up to it; None
        where they are too short. It is consistent with the decimals, and not proved.
    refuted: the order that is refuted, `order` + 1; None where none is through the degree examined, and `order` is then a
        lower bound of what is consistent.
    relative_radius: the widest enclosure of the conditions that hold, in units of 1/d!.
    reason: one sentence.
    """

    order: int | None
    refuted: int | None
    relative_radius: float
    reason: str
    leading: dict[str, Rounded] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def of(found: Enclosures) -> WithinRounding:
        """The answer that the enclosures give."""
        telling, held = found.telling, found.held
        if telling < held:
            which = f"order {telling} from order {telling + 1}" if telling else "any order"
            reason = (
                f"the decimals are too short to tell {which}: they determine the conditions of degree {telling + 1} only to "
                f"{_text(found.radii[telling])} of their size"
            )
            if found.refuted is not None:
                reason += f"; order {found.refuted} is refuted"
            return WithinRounding(None, found.refuted, float(found.widest), reason)
        if found.refuted == 1:
            reason = "no numbers that round to these decimals have shares that sum to 1 for each letter"
        elif found.refuted is not None:
            reason = f"{_held(found)}; order {found.refuted} is refuted: no numbers that round to these decimals have it"
        else:
            reason = f"{_held(found)}; no higher degree was examined"
        return WithinRounding(held, found.refuted, float(found.widest), reason, found.commutators)


def within_rounding(
    word: str, coefficients: Sequence[Any] | str | None = None, degree: int | None = None
) -> WithinRounding | None:
    """Return the order of a splitting within the rounding of its decimals; None where it has no printed ones.

    Arguments and errors are those of `bch`. Which decimals count as printed: `mark`.

    >>> found = within_rounding("ABA", "0.2113248654,1,0.7886751346")
    >>> found.order, found.refuted
    (1, 2)
    >>> within_rounding("ABA", "0.5,1,0.5") is None
    True
    """
    splitting = read_splitting(word, mark(coefficients))
    if not splitting.rounded:
        return None
    return WithinRounding.of(enclosures(splitting, read_degree(degree, len(splitting.letters))))


def mark(coefficients: Sequence[Any] | str | None) -> Sequence[Any] | str | None:
    """The coefficients with a ~ before each decimal that stands for numbers which round to it.

    Not marked are decimals that are binary fractions, such as 0.5 and 1.0, and those of at most half the places that the
    longest one has: they are meant as they are printed. Floats count as the decimals that they print as.

    >>> mark("0.2146, 0.5, 1-2*0.2146")
    '~0.2146, 0.5, 1-2*~0.2146'
    """
    if isinstance(coefficients, str):
        named = coefficients.strip() in COMPOSITIONS
        return coefficients if named else ",".join(_marked(split_numbers(coefficients)))
    return _marked(coefficients) if isinstance(coefficients, Sequence) else coefficients


def enclosures(splitting: Splitting, last: int) -> Enclosures:
    """Enclose the order conditions of a splitting degree by degree, until one is refuted or `last` is reached."""
    letters, joined = "".join(splitting.letters), splitting.joined
    radii: list[Fraction] = []
    for examined in range(1, last + 1):
        balls = rounded_defect(joined.word, joined.coefficients, examined, letters)
        if not all(ball.contains(0) for ball in balls.values()):
            return Enclosures(tuple(radii), examined, last, balls)
        radii.append(max(interval(ball).radius for ball in balls.values()) * factorial(examined))
    return Enclosures(tuple(radii), None, last)


def rounded_defect(word: str, coefficients: Sequence[Number], degree: int, letters: str) -> dict[str, arb]:
    """Return enclosures of exp(c1 X1) exp(c2 X2) ... - exp(S) at all Lyndon words of one degree.

    letters: the sorted alphabet, which S sums. The balls are made with 256 bits, so that their radii are those of
    the coefficients. See `order_conditions` for what the Lyndon words say.
    """
    table = lyndon_table(letters, degree)
    with flint.ctx.workprec(BITS):
        balls = [_ball(c) for c in coefficients]
        powers = [np.array([ball**n for n in range(degree + 1)], dtype=object) for ball in balls]
        start = np.zeros(table.size, dtype=object)
        start[0] = 1
        scaled = spread(table, word, powers, start)
        return {
            text: (arb(value) - 1) / factorial(degree)
            for text, value in zip(table.words, scaled.tolist(), strict=True)
        }


def interval(ball: arb) -> Rounded:
    """The ends of a ball as exact numbers."""
    with flint.ctx.workprec(2 * BITS):
        return Rounded(_rational(ball.lower()), _rational(ball.upper()))


def _held(found: Enclosures) -> str:
    return (
        f"the decimals are consistent with the conditions through degree {found.held}, to {_text(found.widest)} of "
        "their size"
    )


def _text(radius: Fraction) -> str:
    return f"{float(radius):.1e}"


def _marked(entries: Sequence[Any]) -> list[Any]:
    texts = [repr(entry) if isinstance(entry, float) else entry for entry in entries]
    tokens = [t for text in texts if isinstance(text, str) for t in _DECIMAL.findall(text) if _plain(t)]
    longest = max(map(_places, tokens), default=0)

    def marked(found: re.Match[str]) -> str:
        token = found[0]
        meant = not _plain(token) or _binary(token) or 2 * _places(token) <= longest
        return token if meant else f"~{token}"

    return [_DECIMAL.sub(marked, text) if isinstance(text, str) else text for text in texts]


def _plain(token: str) -> bool:
    """Is the token a decimal without a ~, and no argument of a root?"""
    return token[0] == "." or token[0].isdigit()


def _places(token: str) -> int:
    mantissa, _, exponent = token.lower().partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0)


def _binary(token: str) -> bool:
    denominator = Fraction(token).denominator
    return denominator & (denominator - 1) == 0


def _ball(value: Number) -> arb:
    low, high = (
        (value.low, value.high)
        if isinstance(value, Rounded)
        else value.enclosure(BITS)
        if isinstance(value, Algebraic)
        else (value, value)
    )
    return arb(fmpq(low.numerator, low.denominator)).union(arb(fmpq(high.numerator, high.denominator)))


def _rational(ball: arb) -> Fraction:
    mantissa, exponent = ball.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
