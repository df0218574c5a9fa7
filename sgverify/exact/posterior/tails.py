"""Bounds of tails: polynomial bounds of a potential on a whole half-line, and of the integral beyond a cut.

The potential is evaluated on x = c + s t with s = 1 or -1, and every value carries polynomials in t with

    lower(t) <= value <= upper(t)    for all t >= 0,

exact ones (lower = upper) for sums, products and quotients by numbers, and bounds for other functions:

- exp is convex and increasing: exp(v) >= exp(l(t)) >= e^(l_0) (1 + l(t) - l_0), its tangent at l_0 = l(0);
- so is softplus: softplus(v) >= softplus(l_0) + (l(t) - l_0)/(1 + e^(-l_0)); and its slope is between 0 and 1, so
  softplus(v) <= softplus(u_0) + sum_(j >= 1) max(u_j, 0) t^j, as u(t) - u_0 <= that sum.

- the sine and the cosine are between -1 and 1.

The first two are sharp at t = 0 in value and slope. So a polynomial's tail is its own Taylor polynomial at c; log(1 + e^v) in
a likelihood gives the tangent, a Gaussian prior its parabola, and a mixture, -log sum, the tail of its widest Gaussian.
Where the lower bound of U/T has l_1 > 0 and l_j >= 0 beyond, U/T >= l_0 + l_1 t on the half-line, and

    int |x|^k e^(-U/T) <= e^(-l_0) int_0^oo (|c| + t)^k e^(-l_1 t) dt = e^(-l_0) sum_i C(k, i) |c|^(k-i) i!/l_1^(i+1).

Certified moments of one coordinate under exp(-U/T), and averages of polynomials from these moments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb, arb_poly

from sgverify.errors import DefinitionError, Unreached
from sgverify.exact.posterior.panels import Balls, as_ball, integrals_between
from sgverify.schemes.definition.mathematics import cos, exp, log, sin, softplus, sqrt
from sgverify.targets import Matrix, Target, Vector, constant
from sgverify.targets.line import Energy, Frame, find_frame


class Bounds:
    """A function of t >= 0 between two polynomials in t; `upper` is None where there is none above."""

    __slots__ = ("lower", "upper")

    def __init__(self, lower: arb_poly, upper: arb_poly | None) -> None:
        self.lower = lower
        self.upper = upper

    @property
    def exact(self) -> bool:
        """Whether lower and upper bound are one polynomial, the function itself."""
        return self.upper is self.lower

    def __add__(self, other: Any) -> Bounds:
        other = _bounds(other)
        if self.exact and other.exact:
            return exactly(self.lower + other.lower)
        above = None if self.upper is None or other.upper is None else self.upper + other.upper
        return Bounds(self.lower + other.lower, above)

    __radd__ = __add__

    def __neg__(self) -> Bounds:
        return self * -1

    def __sub__(self, other: Any) -> Bounds:
        return self + -_bounds(other)

    def __rsub__(self, other: Any) -> Bounds:
        return -self + other

    def __mul__(self, other: Any) -> Bounds:
        other = _bounds(other)
        if self.exact and other.exact:
            return exactly(self.lower * other.lower)
        if self.exact:
            return other * self
        if not other.exact or other.lower.degree() > 0:
            raise DefinitionError("a product of two functions that are no polynomials has no bound here")
        factor = other.lower[0]
        ends = [self.lower, self.upper] if factor >= 0 else [self.upper, self.lower]
        if not (factor >= 0 or factor <= 0):
            raise DefinitionError("a factor of unknown sign")
        lower, upper = (None if end is None else end * factor for end in ends)
        return Bounds(arb_poly([arb.neg_inf()]) if lower is None else lower, upper)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Bounds:
        divisor = _bounds(other)
        if not divisor.exact or divisor.lower.degree() > 0:
            raise DefinitionError("a quotient by a function of theta has no bound here")
        return self * exactly(1 / divisor.lower[0])

    def __pow__(self, exponent: int) -> Bounds:
        if not isinstance(exponent, int) or exponent < 1:
            raise DefinitionError(f"the power {exponent!r} has no bound here")
        value = self
        for _ in range(exponent - 1):
            value = value * self
        return value


class Tails(Vector):
    """A vector of `Bounds`, on which a potential is evaluated."""

    def __mul__(self, number: Any) -> Vector:
        return self._made(entry * number for entry in self.entries)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> Vector:
        return self._made(entry / number for entry in self.entries)


def exactly(polynomial: arb | arb_poly) -> Bounds:
    """A polynomial in t, itself both of its bounds."""
    whole = arb_poly(polynomial)
    return Bounds(whole, whole)


def beyond(energy: Callable[[Bounds], Bounds], cut: arb, side: int, top: int) -> list[arb] | None:
    """Bounds of int |x|^k e^(-E(x)) dx over the half-line beyond the cut, k = 0..top; None where none is found."""
    lower = energy(exactly(arb_poly([cut, side]))).lower
    if not lower[1] > 0 or not all(c >= 0 for c in lower.coeffs()[2:]):
        return None
    height, slope, reach = (-lower[0]).exp(), lower[1], abs(cut)
    return [
        (
            height
            * sum(
                (
                    math.comb(k, i) * math.factorial(i) * reach ** (k - i) / slope ** (i + 1)
                    for i in range(k + 1)
                ),
                arb(0),
            )
        ).upper()
        for k in range(top + 1)
    ]


@constant.register
def _(like: Tails, value: Vector | Matrix) -> Any:
    if isinstance(value, Matrix):
        return Matrix([_bounds(entry) for entry in row] for row in value.rows)
    return Tails(_bounds(entry) for entry in value.entries)


@exp.register
def _(value: Bounds) -> Bounds:
    start = value.lower[0].exp()
    lower = arb_poly([start, *(start * c for c in value.lower.coeffs()[1:])])
    if value.upper is not None and all(c <= 0 for c in value.upper.coeffs()[1:]):
        return Bounds(lower, arb_poly([value.upper[0].exp()]))
    return Bounds(lower, None)


@softplus.register
def _(value: Bounds) -> Bounds:
    start = value.lower[0]
    slope = 1 / (1 + (-start).exp())
    lower = arb_poly([softplus(start), *(slope * c for c in value.lower.coeffs()[1:])])
    if value.upper is None:
        return Bounds(lower, None)
    above = [softplus(value.upper[0]), *(c.max(arb(0)) for c in value.upper.coeffs()[1:])]
    return Bounds(lower, arb_poly(above))


@sin.register
@cos.register
def _(value: Bounds) -> Bounds:
    return Bounds(arb_poly([-1]), arb_poly([1]))


@log.register
def _(value: Bounds) -> Bounds:
    return exactly(_number(value).log())


@sqrt.register
def _(value: Bounds) -> Bounds:
    return exactly(_number(value).sqrt())


def _number(value: Bounds) -> arb:
    if not value.exact or value.lower.degree() > 0:
        raise DefinitionError("a logarithm or root of theta has no bound here")
    return value.lower[0]


def _bounds(value: Any) -> Bounds:
    return value if isinstance(value, Bounds) else exactly(as_ball(value))


BITS = 128
MOST_DATA = 2000
"""The largest number of different data: each is evaluated some twenty times in ball arithmetic, and quadrature is faster."""
MOST_DATA_OF_PEAKS = 50
"""The largest number of data for peaks far apart: panels between them are many, and quadrature integrates each peak alone."""

_LOOKS = 80
_HEIGHT = 46.0
"""The height -log(density) = 46, e^-46 = 2^-66, at which the search for a cut begins."""
_LEFT_OUT = arb(2) ** -60
"""The largest share of the mass beyond a cut on either side."""


def enclosed_moments(target: Target, place: int, temperature: Fraction, top: int) -> tuple[arb, list[arb]]:
    """(c, [E (x - c)^k for k = 0..top]) for the coordinate x = theta[place], the others at 0, as balls.

    The integrand is scaled by its height at the mode and its tails are bounded (`tails`), so that the balls enclose
    the averages under exp(-U/T). For one coordinate, or independent ones. Raises `Unreached` where the
    potential is no formula, has too many data or tails without a bound.
    """
    most = MOST_DATA_OF_PEAKS if target.peaks else MOST_DATA
    # Of many data the first ones mostly tell.
    if any(
        len(np.unique(data, axis=0)) > most
        for data in ([] if target.data is None else (target.data[: 4 * most], target.data))
    ):
        raise Unreached(f"more than {most} different data")
    with flint.ctx.workprec(BITS):
        try:
            return _moments(target, place, temperature, top)
        except DefinitionError as error:
            raise Unreached(str(error)) from None


def enclosed_average(target: Target, terms: Mapping[tuple[int, ...], Fraction], temperature: Fraction) -> arb:
    """sum_a terms[a] E prod_i theta_i^(a_i) for one coordinate or independent ones, as a ball."""
    found = {}
    for place in range(target.dim):
        top = max((exponents[place] for exponents in terms), default=0)
        if top:
            found[place] = enclosed_moments(target, place, temperature, top)
    with flint.ctx.workprec(BITS):
        total = arb(0)
        for exponents, coefficient in terms.items():
            term = as_ball(coefficient)
            for place, power in enumerate(exponents):
                if power:
                    term = term * _raw_moment(*found[place], power)
            total = total + term
        return total


def _raw_moment(centre: arb, moments: list[arb], power: int) -> arb:
    """E x^k = sum_i C(k, i) c^(k - i) E (x - c)^i."""
    parts = (math.comb(power, i) * centre ** (power - i) * moments[i] for i in range(power + 1))
    return sum(parts, arb(0))


def _moments(target: Target, place: int, temperature: Fraction, top: int) -> tuple[arb, list[arb]]:
    line = target.energy_of_coordinate(place)

    def scaled(x: np.ndarray) -> np.ndarray:
        return np.asarray(line(x) / float(temperature))

    frame = find_frame(scaled, *target.hint(place))
    centre, width, lowest = arb(frame.centre), arb(frame.scale), arb(frame.lowest)
    on_balls = read_energy(target, place, temperature, Balls, arb(0), lowest)
    on_tails = read_energy(target, place, temperature, Tails, exactly(arb(0)), lowest)
    low, below = find_cut(on_tails, centre, width, -1, top, first_look(scaled, frame, -1))
    high, above = find_cut(on_tails, centre, width, 1, top, first_look(scaled, frame, 1))
    inside = integrals_between(on_balls, low, high, centre, top, width)
    # What is beyond a cut is at most |x - c|^k away from nothing; the mass there is not negative.
    ends = [left + right for left, right in zip(below, above, strict=True)]
    whole = [value + arb(0, end.upper()) for value, end in zip(inside, ends, strict=True)]
    if not whole[0] > 0:
        raise Unreached("the density has no mass that is certain")
    return centre, [value / whole[0] for value in whole]


def read_energy(
    target: Target, place: int, temperature: Fraction, carrier: type[Vector], zero: Any, lowest: arb
) -> Callable[[Any], Any]:
    """x -> U(x)/T less its least value, the other coordinates at 0, on one of the carriers."""
    # Equal data are evaluated once.
    rows = [(carrier(_lifted(value, zero) for value in row), count) for row, count in _distinct(target)]

    def energy(x: Any) -> Any:
        theta = carrier(x if i == place else zero for i in range(target.dim))
        total = target.prior(theta)
        for row, count in rows:
            assert target.likelihood is not None
            total = total + target.likelihood(theta, row) * count
        return total / as_ball(temperature) - lowest

    return energy


def _distinct(target: Target) -> list[tuple[list[float], int]]:
    """The different data and how often each occurs."""
    if target.data is None:
        return []
    rows, counts = np.unique(target.data, axis=0, return_counts=True)
    return list(zip(rows.tolist(), counts.tolist(), strict=True))


def _lifted(value: float, zero: Any) -> Any:
    return zero + arb(value)


def first_look(energy: Energy, frame: Frame, side: int) -> float:
    """A guess of the distance from which E stays `_HEIGHT` above its least value; a wrong guess costs time, not rigour."""
    offsets = frame.scale * 1.1 ** np.arange(-60, 80)
    with np.errstate(over="ignore", invalid="ignore"):
        low = np.flatnonzero(~(energy(frame.centre + side * offsets) > frame.lowest + _HEIGHT))
    return float(offsets[min(len(offsets) - 1, low[-1] + 1 if len(low) else 0)])


def find_cut(
    energy: Callable[[Bounds], Bounds], centre: arb, width: arb, side: int, top: int, reach: float
) -> tuple[arb, list[arb]]:
    """A cut on one side beyond which the moments around `centre` are negligible, and bounds of these moments there."""

    def centred(x: Bounds) -> Bounds:
        return energy(x + centre)

    for _ in range(_LOOKS):
        offset = arb(side * reach)
        cut = centre + offset
        found = beyond(centred, offset, side, top) if cut.is_exact() else None
        if found is not None and all(part < _LEFT_OUT * width ** (k + 1) for k, part in enumerate(found)):
            return cut, found
        reach *= 1.1
    raise Unreached("the tails of the density have no bound of the kind that is sought")
