"""Truncated series in s = sqrt(h), each with its own explicit O(s^n)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from sgverify.errors import NotExpandableError
from sgverify.exact.rings.polynomials import Polynomial, check_time, coefficients_in, factors, to_fraction
from sgverify.exact.rings.ring import Ring
from sgverify.exact.rings.roots import LIMIT, UNSEEN, WHERE, is_positive, manifest_sign, reciprocal
from sgverify.schemes import dot, exp, sqrt
from sgverify.schemes.definition.binding import LiftedArithmetic
from sgverify.schemes.definition.mathematics import TWO_BY_ROOT_PI, cos, erf, log, sin
from sgverify.schemes.numbers.algebraic import Irrational
from sgverify.schemes.numbers.rounded import literal

Scalars = int | float | Fraction | Irrational

EXACT = 10**9
"""The order of a series that was never truncated."""

SAME = 1e-4
"""The distance below which zeros of a float polynomial count as one: a double zero is found to half the digits, 1e-8."""


class TruncatedSeries(LiftedArithmetic):
    """sum_k c_k s^k + O(s^n): `terms` maps k to c_k != 0, `order` is n. A quotient may begin at a negative k.

    Every series carries its own n, because a square root of s^(2m)(...) + O(s^n) is only known to
    O(s^(n-m)): with one common truncation such a series would claim terms that are unknown.
    Nothing is kept beyond s^cap, the cap of the ring; a series that was never truncated has the order EXACT.
    """

    __slots__ = ("order", "ring", "terms")

    def __init__(self, ring: Ring, terms: dict[int, Polynomial], order: int) -> None:
        self.ring = ring
        self.order = order
        self.terms = {k: c for k, c in terms.items() if k < order and c}

    @property
    def valuation(self) -> int:
        """The lowest power of s that occurs; the order where none does."""
        return min(self.terms, default=self.order)

    def coefficient(self, k: int) -> Polynomial:
        """c_k; raises beyond the order of the series, where the coefficient is unknown."""
        self.refuse_poles()
        if k >= self.order:
            raise NotExpandableError(
                f"the coefficient of s^{k} was lost to a square root or quotient (known to s^{self.order})"
            )
        return self.terms.get(k, self.ring.zero)

    def refuse_poles(self) -> None:
        """Raise where a negative power of s remains, so that the value has no limit as h -> 0."""
        if self.valuation < 0:
            raise NotExpandableError("a division by a quantity that vanishes with h")

    def reduced(self) -> TruncatedSeries:
        """The series without the terms that are 0 by the relations of the ring's roots."""
        return TruncatedSeries(self.ring, {k: self.ring.reduce(c) for k, c in self.terms.items()}, self.order)

    def text(self) -> str:
        """Its terms as a function of h, such as 1/25 - (2/5) h + h^2."""
        shown = []
        for k, c in sorted(self.terms.items()):
            power = {0: "", 1: "sqrt(h)", 2: "h"}.get(
                abs(k), f"h^{abs(k) // 2}" if k % 2 == 0 else f"h^({abs(k)}/2)"
            )
            inside = self.ring.text(c)
            front = f"({inside})" if len(c) > 1 and power else inside
            if k < 0:
                shown.append(f"{front}/{power}")
            else:
                shown.append(
                    " ".join(part for part in ("" if front == "1" and power else front, power) if part)
                )
        tail = "" if self.order >= EXACT else " + ..."
        return " + ".join(shown).replace("+ -", "- ") + tail if shown else "0"

    def lift(self, value: Any) -> TruncatedSeries | None:
        """A number as a series of this ring."""
        if isinstance(value, TruncatedSeries):
            return value
        if isinstance(value, Scalars) and not isinstance(value, bool):
            return TruncatedSeries(self.ring, {0: self.ring.constant(value)}, EXACT)
        return None

    def _plus(self, right: TruncatedSeries) -> TruncatedSeries:
        terms = dict(self.terms)
        for k, c in right.terms.items():
            terms[k] = terms[k] + c if k in terms else c
        return TruncatedSeries(self.ring, terms, min(self.order, right.order))

    def __neg__(self) -> TruncatedSeries:
        return TruncatedSeries(self.ring, {k: -c for k, c in self.terms.items()}, self.order)

    def _times(self, right: TruncatedSeries) -> TruncatedSeries:
        cap = self.ring.cap
        both = self.order >= EXACT and right.order >= EXACT
        order = EXACT if both else min(self.order + right.valuation, right.order + self.valuation, EXACT)
        terms: dict[int, Polynomial] = {}
        for k, a in self.terms.items():
            for m, b in right.terms.items():
                if k + m >= cap:
                    order = min(order, cap)
                elif k + m < order:
                    check_time(len(a) * len(b))
                    product = a * b
                    terms[k + m] = terms[k + m] + product if k + m in terms else product
        return TruncatedSeries(self.ring, terms, order)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Scalars) and not isinstance(other, bool) and other != 0:
            # The reciprocal of a root is a number again, which division in the ring would not find.
            return self * (1 / literal(other))
        return super().__truediv__(other)

    def _over(self, right: TruncatedSeries) -> TruncatedSeries:
        return _divide(self, right)

    def summed(self) -> TruncatedSeries:
        """The series, known to its ring as a sum over coordinates."""
        for c in self.terms.values():
            self.ring.note_sum(c)
        return self

    def shifted(self, by: int) -> TruncatedSeries:
        """The series times s^by."""
        order = EXACT if self.order >= EXACT else self.order + by
        return TruncatedSeries(self.ring, {k + by: c for k, c in self.terms.items()}, order)


def note_switch(ring: Ring, terms: Mapping[int, Polynomial], text: str) -> None:
    """Record the least h > 0 at which sum_k c_k h^(k/2), under a root, may vanish, unless its terms exclude a zero."""
    if not _may_vanish(ring, terms.values()) or len(terms) == 1:
        # One power of h has no other zero.
        return
    place = f"h below the first zero of {text}"
    double = _has_square(ring, terms)
    if all(c.is_constant() for c in terms.values()):
        zeros = _zeros({k: float(to_fraction(c.leading_coefficient())) for k, c in terms.items()})
        if not zeros:
            return
        place = f"h < {zeros[0] ** 2:.6g}"
        double = double or any(b - a < SAME * b for a, b in pairwise(zeros))
    if double:
        ring.condition(UNSEEN, f"{place}, where sqrt({text}) turns into another function of h")
    else:
        ring.condition(LIMIT, place)


def _divide(left: TruncatedSeries, right: TruncatedSeries) -> TruncatedSeries:
    """left / right, wherever right is not 0; negative powers of s in the result are refused later, by `refuse_poles`."""
    right = right.reduced()
    if not right.terms:
        raise NotExpandableError("a division by zero")
    valuation = right.valuation
    lead = right.terms[valuation]
    # left/right = (left / lead) * 1/(1 + x), x = right/(lead s^v) - 1.
    tail = _over(
        TruncatedSeries(right.ring, {k: c for k, c in right.terms.items() if k != valuation}, right.order),
        lead,
    )
    quotient = _over(left, lead)
    if not (right.ring.depends_only_on_parameters(lead) or is_positive(lead, right.ring)):
        shown = right.ring.text(lead)
        right.ring.condition(WHERE, f"{right.ring.text(-lead) if shown.startswith('-') else shown} != 0")
    return quotient.shifted(-valuation) * _power_sum(tail.shifted(-valuation), lambda k: Fraction((-1) ** k))


def _over(series: TruncatedSeries, divisor: Polynomial) -> TruncatedSeries:
    """Exact division of every coefficient; a quotient outside the ring is refused.

    A square root in every term of the divisor goes into the numerator: x/sqrt(q) = x sqrt(q)/q.
    """
    ring = series.ring
    above, below = ring.one, divisor
    for position, what in ring.opaque.items():
        if what.kind == "root" and all(m[position] for m in below.monoms()):
            root = ring.generator_at(position)
            above, below = above * root, ring.reduce(below * root)
    terms = {}
    for k, c in series.terms.items():
        quotient, rest = divmod(ring.reduce(c * above), below)
        terms[k] = c * above * reciprocal(below, ring) if rest else quotient
    return TruncatedSeries(series.ring, terms, series.order)


def _power_sum(x: TruncatedSeries, coefficient: Callable[[int], Any]) -> TruncatedSeries:
    """sum_k coefficient(k) x^k for x = O(s), the coefficients numbers or elements of the ring."""
    if x.valuation < 1:
        raise NotExpandableError("a function of a quantity that does not vanish with h")

    def term(k: int) -> TruncatedSeries:
        found = coefficient(k)
        return _constant(x.ring, found if isinstance(found, Polynomial) else x.ring.constant(found))

    total = term(0)
    if not x.terms and x.order >= EXACT:
        return total
    power, k = TruncatedSeries(x.ring, {0: x.ring.one}, EXACT), 0
    while power.valuation + x.valuation < x.ring.cap:
        k += 1
        power = power * x
        total = total + power * term(k)
    return TruncatedSeries(x.ring, total.terms, min(total.order, x.ring.cap))


def _factorials(k: int) -> Fraction:
    value = Fraction(1)
    for i in range(2, k + 1):
        value /= i
    return value


@exp.register
def _(value: TruncatedSeries) -> TruncatedSeries:
    if value.valuation < 0:
        return _flat(value)
    constant, rest = _parted(value)
    grown = _power_sum(rest, _factorials)
    return grown if constant is None else grown * _constant(value.ring, value.ring.function("exp", constant))


def _parted(value: TruncatedSeries) -> tuple[Polynomial | None, TruncatedSeries]:
    """The value at h = 0, None where it is 0, and what vanishes with h."""
    value.refuse_poles()
    rest = TruncatedSeries(value.ring, {k: c for k, c in value.terms.items() if k}, value.order)
    return value.terms.get(0), rest


def _constant(ring: Ring, value: Polynomial) -> TruncatedSeries:
    return TruncatedSeries(ring, {0: value}, EXACT)


@log.register
def _(value: TruncatedSeries) -> TruncatedSeries:
    ring, (constant, rest) = value.ring, _parted(value)
    if constant is None:
        raise NotExpandableError("a logarithm of a quantity that vanishes with h")
    grown = _power_sum(_over(rest, constant), lambda k: Fraction(-((-1) ** k), k) if k else Fraction(0))
    return grown if constant == ring.one else grown + _constant(ring, ring.function("log", constant))


@sin.register
def _(value: TruncatedSeries) -> TruncatedSeries:
    return _turned(value, 0)


@cos.register
def _(value: TruncatedSeries) -> TruncatedSeries:
    return _turned(value, 1)


def _turned(value: TruncatedSeries, quarters: int) -> TruncatedSeries:
    """sin(x + d) = sin x cos d + cos x sin d, or its derivative, with d = O(s)."""
    ring, (constant, rest) = value.ring, _parted(value)

    def half(odd: int) -> TruncatedSeries:
        return _power_sum(rest, lambda k: _factorials(k) * (-1) ** (k // 2) if k % 2 == odd else Fraction(0))

    sine, cosine = half(1), half(0)
    if constant is None:
        return cosine if quarters else sine
    at_sine, at_cosine = (_constant(ring, ring.function(name, constant)) for name in ("sin", "cos"))
    return at_cosine * cosine - at_sine * sine if quarters else at_sine * cosine + at_cosine * sine


@erf.register
def _(value: TruncatedSeries) -> TruncatedSeries:
    # erf' = c e^(-x^2), and the n-th derivative of e^(-x^2) is q_n e^(-x^2), q_(n+1) = q_n' - 2 x q_n.
    ring, (constant, rest) = value.ring, _parted(value)
    x = ring.zero if constant is None else constant
    factor = ring.constant(TWO_BY_ROOT_PI) * (ring.one if constant is None else ring.function("exp", -(x**2)))
    slopes, hermite = [ring.zero], [Fraction(1)]
    for k in range(1, ring.cap + 1):
        at_x = sum((x**n * ring.constant(c) for n, c in enumerate(hermite)), ring.zero)
        slopes.append(factor * at_x * ring.constant(_factorials(k)))
        moved = [Fraction(0), *(-2 * c for c in hermite)]
        hermite = [
            c + m
            for c, m in zip(
                [*(n * c for n, c in enumerate(hermite))][1:] + [Fraction(0)] * 2, moved, strict=True
            )
        ]
    grown = _power_sum(rest, slopes.__getitem__)
    return grown if constant is None else grown + _constant(ring, ring.function("erf", constant))


def _flat(value: TruncatedSeries) -> TruncatedSeries:
    """exp(-c/h^a + ...), c > 0, is smaller than every power of h and counts as 0, as h -> 0.

    c and every other coefficient of a growing power must contain parameters only: at a state where c vanished the value would
    be 1, and beside an unbounded draw c/h would not be large.
    """
    ring = value.ring
    growing = [c for k, c in value.terms.items() if k < 0]
    if (
        not all(map(ring.depends_only_on_parameters, growing))
        or manifest_sign(growing_most(value), ring) >= 0
    ):
        raise NotExpandableError(f"exp({value.text()}), which is not known to vanish as h -> 0")
    ring.condition(UNSEEN, f"exp({value.text()}) is smaller than every power of h, and counts as 0")
    return TruncatedSeries(ring, {}, EXACT)


def growing_most(value: TruncatedSeries) -> Polynomial:
    """The coefficient of the lowest power of s."""
    return value.terms[value.valuation]


@sqrt.register
def _(value: TruncatedSeries) -> TruncatedSeries:
    """The root that is not negative, as h -> 0: that of s^(2m) c (1 + x) is s^m sqrt(c) (1 + x/2 - ...), x = O(s).

    1 + x is positive for small h and bounded draws. Where it has a zero at some h > 0, the root is another function
    beyond it (min(h, a) is h below a), and this h is recorded.
    """
    whole, value = value, value.reduced()
    if not value.terms and value.ring.rounded and any(map(value.ring.carried_out, whole.terms.values())):
        raise NotExpandableError(f"the root of {whole.text()}, floats that cancel: of 1e-16 it is 1e-8")
    if not value.terms:
        # sqrt(0 + O(s^n)) is O(s^(n/2)).
        return TruncatedSeries(value.ring, {}, EXACT if value.order >= EXACT else (value.order + 1) // 2)
    valuation = value.valuation
    if valuation % 2:
        raise NotExpandableError("the square root of an odd power of sqrt(h)")
    ring, lead = value.ring, value.terms[valuation]
    rest = TruncatedSeries(ring, {k: c for k, c in value.terms.items() if k != valuation}, value.order)
    root = _power_sum(_over(rest, lead).shifted(-valuation), _binomial_half)
    if value.order >= EXACT:
        # The zeros of a truncated series, such as 1 - exp(-2 D h), are unknown.
        note_switch(ring, value.terms, value.text())
    return TruncatedSeries(ring, {0: ring.sqrt(lead)}, EXACT) * root.shifted(valuation // 2)


def _binomial_half(k: int) -> Fraction:
    value = Fraction(1)
    for i in range(k):
        value *= (Fraction(1, 2) - i) / (i + 1)
    return value


@dot.register
def _(left: TruncatedSeries, right: Any) -> Any:
    return left * right


def _may_vanish(ring: Ring, coefficients: Iterable[Polynomial]) -> bool:
    signs = {manifest_sign(c, ring) for c in coefficients}
    return len(signs) > 1 or 0 in signs


def _has_square(ring: Ring, terms: Mapping[int, Polynomial]) -> bool:
    """Whether a factor that may vanish at some h > 0 stands squared, or in a higher power."""
    at = ring.position("slot", ring.slots - 1)
    if at in ring.opaque:
        return True
    # The last slot is free: it stands for s.
    s, whole = ring.generator_at(at), ring.zero
    for k, c in terms.items():
        whole = whole + c * s**k
    return any(
        power > 1 and _may_vanish(ring, [part for part in coefficients_in(base, at) if part])
        for base, power in factors(whole)[1]
        if base.degrees()[at]
    )


def _zeros(terms: Mapping[int, float]) -> list[float]:
    """The s > 0 at which sum_k c_k s^k is 0, the least first."""
    roots = np.roots([terms.get(k, 0.0) for k in range(max(terms), -1, -1)])
    return sorted(roots.real[(np.abs(roots.imag) < SAME * np.abs(roots)) & (roots.real > 0)].tolist())
