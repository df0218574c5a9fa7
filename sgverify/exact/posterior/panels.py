"""Integrals of (x - c)^k exp(-E(x)) between two cuts: Taylor polynomials with Cauchy's bound of their remainders.

On the disc |x - m| <= R of an analytic E, |E - E(m)| <= M, so the Taylor coefficients have |u_j| <= M/R^j (Cauchy),
and the polynomial p of degree below n misses E by at most eps = M q^n/(1 - q) on |x - m| <= q R, q = 1/4. M comes from
one evaluation on a complex box, p from one evaluation on a power series, however many data there are. The
integrals of (x - c)^k e^(-p) are flint's, enclosed.

The carrier `Balls` evaluates a potential on real balls, on complex boxes and on power series of balls. On a complex box a
function with a branch cut returns an unbounded ball where its argument may meet the cut, so that a finite value proves that the
potential is analytic on the box, and continues the real one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from operator import methodcaller
from typing import Any

import flint
from flint import acb, acb_poly, arb, arb_poly, arb_series, fmpq

from sgverify.errors import Unreached
from sgverify.schemes.definition.mathematics import cos, erf, exp, expm1, log, sin, softplus, sqrt
from sgverify.targets import Matrix, Vector, constant


class Balls(Vector):
    """A vector of real balls (`arb`), complex boxes (`acb`) or power series of balls (`arb_series`)."""

    def __mul__(self, number: Any) -> Vector:
        factor = as_ball(number)
        return self._made(entry * factor for entry in self.entries)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> Vector:
        divisor = as_ball(number)
        return self._made(entry / divisor for entry in self.entries)


def as_ball(number: Any) -> Any:
    """An exact number as a ball at the working precision; a ball as it is."""
    if isinstance(number, Fraction):
        return arb(fmpq(number.numerator, number.denominator))
    return arb(number) if isinstance(number, int | float) else number


@constant.register
def _(like: Balls, value: Vector | Matrix) -> Any:
    if isinstance(value, Matrix):
        return Matrix([as_ball(entry) for entry in row] for row in value.rows)
    return Balls(as_ball(entry) for entry in value.entries)


for _kind in (arb, acb, arb_series):
    for _function, _method in ((exp, "exp"), (sin, "sin"), (cos, "cos"), (erf, "erf")):
        _function.register(_kind, methodcaller(_method))
    expm1.register(_kind, lambda value: value.exp() - 1)
for _kind in (arb, arb_series):
    log.register(_kind, methodcaller("log"))
    sqrt.register(_kind, methodcaller("sqrt"))


@log.register(acb)
def _(value: acb) -> acb:
    return value.log() if _off_the_cut(value) else _WITHOUT_BOUNDS


@sqrt.register(acb)
def _(value: acb) -> acb:
    return value.sqrt() if _off_the_cut(value) else _WITHOUT_BOUNDS


@softplus.register(arb)
@softplus.register(acb)
@softplus.register(arb_series)
def _(value: Any) -> Any:
    # Both forms are the real function's continuation. Right of 0 the second has no cut, however high the box is, and
    # its series does not lose tiny coefficients in a quotient of huge ones.
    start = value.real if isinstance(value, acb) else value[0] if isinstance(value, arb_series) else value
    return value + log(1 + (-value).exp()) if start > 0 else log(1 + value.exp())


def _off_the_cut(value: acb) -> bool:
    """Whether no point of the box lies on (-oo, 0], where log and sqrt are not analytic."""
    return bool(value.real > 0) or not bool(value.imag.contains(0))


_WITHOUT_BOUNDS = acb(arb.nan(), arb.nan())


ENERGY_TERMS = 36
MOST_PANELS = 2000
"""The largest number of panels; with more the enclosure takes too long."""
_RATIO = 4
_ENERGY_ERROR = arb(2) ** -56
_DENSITY_ERROR = arb(2) ** -64
_FEW = 2.0**10
"""The error of an integral, in those that were asked for, with which it still counts as found."""
_GROWTH = 1.25
"""The growth of the disc from one panel to the next: neighbouring discs are similar, and a failed trial visits all data."""
_SMALLEST = 1e-9
"""The smallest disc as a share of the interval: smaller ones mean that E is not analytic on the line."""

Energy = Callable[[Any], Any]
"""E on a real ball, a complex box or a power series of balls."""


def integrals_between(energy: Energy, low: arb, high: arb, centre: arb, top: int, width: arb) -> list[arb]:
    """int_low^high (x - centre)^k e^(-E(x)) dx for k = 0..top, enclosed.

    `width` is the scale of the density, whose height is about 1: errors are kept far below width^(k+1).
    Raises `Unreached` where E is not analytic near the interval.
    """
    even = top + top % 2
    totals = [arb(0)] * (top + 1)
    disc, at = high - low, low
    for _ in range(MOST_PANELS):
        radius = disc / _RATIO
        last = bool(at + 2 * radius >= high)
        if last:
            radius = (high - at) / 2
        middle = (at + radius).mid()
        # The middle is rounded: the panel still has to reach from `at` to `end`.
        end = high if last else (middle + radius).mid()
        reach = (middle - at).max(end - middle).upper()
        eps = _missed(energy, middle, reach)
        if eps is None:
            disc = disc / (_GROWTH if totals[0] > 0 else 2)
            if disc < _SMALLEST * (high - low):
                raise Unreached("the potential is not analytic along the line, or changes too fast")
            continue
        polynomial = _polynomial(energy, middle)
        parts = _of_polynomial(polynomial, at - middle, end - middle, middle - centre, even, width)
        for k in range(top + 1):
            # e^(-E) = e^(-p) within a factor of e^eps; int |y|^k e^(-p) for odd k by Cauchy and Schwarz.
            size = (parts[k - k % 2].abs_upper() * parts[k + k % 2].abs_upper()).sqrt()
            totals[k] = totals[k] + parts[k] + arb(0, ((eps.exp() - 1) * size).abs_upper())
        if last:
            return totals
        at, disc = end, disc * _GROWTH
    raise Unreached(f"more than {MOST_PANELS} panels are needed")


def _missed(energy: Energy, middle: arb, radius: arb) -> arb | None:
    """eps on |x - middle| <= radius; None where E is not analytic on the disc of 4 times the radius, or eps too large."""
    reach = (_RATIO * radius).upper()
    box = acb(middle + arb(0, reach), arb(0, reach))
    value = energy(box)
    if not value.is_finite():
        return None
    # Both E(x) and E(middle) lie in the box of values.
    spread = 2 * (value.real.rad() ** 2 + value.imag.rad() ** 2).sqrt()
    ratio = arb(1) / _RATIO
    eps = (spread * ratio**ENERGY_TERMS / (1 - ratio)).upper()
    return eps if eps < _ENERGY_ERROR else None


def _polynomial(energy: Energy, middle: arb) -> arb_poly:
    with _series_length(ENERGY_TERMS):
        series = energy(arb_series([middle, 1], ENERGY_TERMS))
    return arb_poly(series.coeffs())


def _of_polynomial(p: arb_poly, low: arb, high: arb, shift: arb, top: int, width: arb) -> list[arb]:
    """int_low^high (shift + t)^k e^(-p(t)) dt for k = 0..top, by Petras' algorithm in flint."""
    whole: Callable[[acb], acb] = acb_poly(p)
    reach = abs(shift) + abs(low).max(abs(high))
    smallest = _DENSITY_ERROR * min(arb(1), (width / reach) ** top)
    totals = []
    for k in range(top + 1):
        error = (smallest * reach**k).upper()

        def integrand(t: acb, _: bool, power: int = k) -> acb:
            return (shift + t) ** power * (-whole(t)).exp()

        part = acb.integral(integrand, low, high, rel_tol=_DENSITY_ERROR, abs_tol=error).real
        if not part.rad() <= _FEW * (error + _DENSITY_ERROR * abs(part)):
            raise Unreached("the density changes too fast")
        totals.append(part)
    return totals


@contextmanager
def _series_length(terms: int) -> Iterator[None]:
    """Context that sets the global length at which flint cuts every series, 10 by default."""
    kept, flint.ctx.cap = flint.ctx.cap, terms
    try:
        yield
    finally:
        flint.ctx.cap = kept
