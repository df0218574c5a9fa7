"""The polynomials of the elementary functions are those that their file describes, and its bounds of their errors are proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest
from flint import arb, arb_mat, arb_poly, arb_series, ctx, fmpq

from sgverify.samplers.reading import floating_point as coefficients
from tests.tables import each_row

TERMS = 40
"""Terms of each Taylor series; on these intervals the others are below 1e-19 of the smallest bound."""

PIECES = 400
WIDER = fmpq(10001, 10000)


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    before, ctx.prec, ctx.cap = (ctx.prec, ctx.cap), 320, TERMS
    yield
    ctx.prec, ctx.cap = before


@dataclass(frozen=True)
class Fit:
    """What a polynomial approximates: the Taylor coefficients, the interval, and the error relative to the whole function.

    The relative error at x is at most |x|^power times the polynomial's error, over `least`.
    """

    taylor: Callable[[int], arb]
    ends: Callable[[], tuple[arb, arb]]
    power: int
    least: Callable[[], arb]
    origin: float = 0.0

    @property
    def series(self) -> arb_poly:
        """The approximated function, in the distance from the origin of its variable."""
        return arb_poly([self.taylor(k) for k in range(TERMS)])(arb_poly([arb(self.origin), 1]))

    def value(self, x: arb) -> arb:
        """The approximated function."""
        return self.series(x)

    def error(self, given: arb_poly, middle: arb, radius: arb) -> arb:
        """A bound of the relative error for |x - middle| <= radius, by the Taylor expansion at the middle."""
        near = (given - self.series)(arb_poly([middle, 1]))
        size = sum((abs(near[k]) * radius**k for k in range(TERMS)), arb(0))
        return (abs(middle) + radius) ** self.power * size / self.least()


@dataclass(frozen=True)
class ComplementFit:
    """exp(x^2) erfc(x) as a function of t = (x - 3)/(x + 3), and exp(-x^2) times its error relative to erf(x)."""

    def ends(self) -> tuple[arb, arb]:
        """The interval of t."""
        low, high = arb(-1) / 2, arb(1) / 3
        return low * WIDER, high * WIDER

    def value(self, t: arb) -> arb:
        """The approximated function."""
        x = 3 * (1 + t) / (1 - t)
        return x.erfc() * (x * x).exp()

    def error(self, given: arb_poly, middle: arb, radius: arb) -> arb:
        """A bound of the relative error: Taylor coefficients at the middle, the last one over the whole piece."""
        order = 8

        def expanded(at: arb) -> arb_series:
            t = arb_series([at, 1], order + 1)
            x = 3 * (1 + t) / (1 - t)
            return arb_series(given(arb_poly([at, 1])).coeffs(), order + 1) - x.erfc() * (x * x).exp()

        near, last = expanded(middle), expanded(arb(middle.mid(), radius))[order]
        size = sum((abs(near[k]) * radius**k for k in range(order)), abs(last) * radius**order)
        t = middle - radius
        x = 3 * (1 + t) / (1 - t)
        return size * (-x * x).exp() / x.erf()


def _factorial(n: int) -> arb:
    return arb(math.factorial(n))


def _reduced() -> tuple[arb, arb]:
    half = arb(2).log() / 2 * WIDER
    return -half, half


def _of_ratio() -> tuple[arb, arb]:
    root = arb(2).sqrt()
    return arb(0), ((root - 1) / (root + 1) * WIDER) ** 2


def _of_angle() -> tuple[arb, arb]:
    return arb(0), (arb.pi() / 4 * WIDER) ** 2


EXP = Fit(lambda k: 1 / _factorial(k + 2), _reduced, 2, lambda: (-arb(2).log() / 2 * WIDER).exp())
LOG = Fit(lambda k: arb(2) / (2 * k + 3), _of_ratio, 1, lambda: arb(2))
# sin(r)/r falls on the interval.
SIN = Fit(
    lambda k: (-1) ** (k + 1) / _factorial(2 * k + 3),
    _of_angle,
    1,
    lambda: (arb.pi() / 4 * WIDER).sin() / (arb.pi() / 4 * WIDER),
)
COS = Fit(lambda k: (-1) ** k / _factorial(2 * k + 4), _of_angle, 2, lambda: (arb.pi() / 4 * WIDER).cos())

ERF = Fit(
    lambda k: (2 / arb.pi().sqrt() * (-1) ** k / (_factorial(k) * (2 * k + 1))) - (1 if k == 0 else 0),
    lambda: (-arb(WIDER) / 2, arb(WIDER) / 2),
    0,
    # erf(x)/x falls on the interval.
    lambda: arb(WIDER).erf() / WIDER,
    0.5,
)

POLYNOMIALS: dict[str, tuple[Fit | ComplementFit, int]] = {
    "ERF": (ERF, -56),
    "ERFC": (ComplementFit(), -57),
    "EXP": (EXP, -60),
    "LOG": (LOG, -57),
    "SIN": (SIN, -57),
    "COS": (COS, -59),
}


def interpolated(fit: Fit | ComplementFit, count: int) -> list[float]:
    """The coefficients of the polynomial through `count` Chebyshev nodes, each rounded to float64."""
    a, b = fit.ends()
    nodes = [(a + b) / 2 + (b - a) / 2 * (arb.pi() * (2 * k + 1) / (2 * count)).cos() for k in range(count)]
    powers = arb_mat([[x**k for k in range(count)] for x in nodes])
    solved = powers.solve(arb_mat([[fit.value(x)] for x in nodes]))
    return [float(solved[k, 0].mid()) for k in range(count)]


def relative_error(fit: Fit | ComplementFit, given: Sequence[float]) -> arb:
    """A bound of the error relative to the elementary function, over the whole interval, piece by piece."""
    stored, (a, b) = arb_poly([arb(c) for c in given]), fit.ends()
    radius, worst = (b - a) / (2 * PIECES), arb(0)
    for piece in range(PIECES):
        worst = arb.max(worst, fit.error(stored, a + (2 * piece + 1) * radius, radius))
    return worst


@each_row("name", POLYNOMIALS)
def test_coefficients_are_those_of_the_interpolation(name: str) -> None:
    stored = getattr(coefficients, name)
    found = interpolated(POLYNOMIALS[name][0], len(stored))
    assert list(stored) == found


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_errors_of_the_polynomials_are_below_the_stated_bounds(name: str) -> None:
    fit, exponent = POLYNOMIALS[name]
    assert relative_error(fit, getattr(coefficients, name)) < arb(2) ** exponent


def test_a_wrong_digit_is_seen() -> None:
    wrong = list(coefficients.EXP)
    wrong[3] *= 1 + 2.0**-40
    assert not relative_error(EXP, wrong) < arb(2) ** -60


def test_parts_of_constants() -> None:
    """Each part is the number less the parts before it, cut to its bits; the last one is rounded."""
    half_pi, log_2 = arb.pi() / 2, arb(2).log()
    assert coefficients.INVERSE_LOG_2 == float(1 / log_2)
    assert coefficients.INVERSE_HALF_PI == float(1 / half_pi)
    assert coefficients.TWO_BY_ROOT_PI == float(2 / arb.pi().sqrt())
    assert coefficients.LOG_2_LOW == float(log_2 - coefficients.LOG_2_HIGH)
    assert (coefficients.LOG_2_HIGH * 2.0**42).is_integer()
    rest = half_pi
    for part in coefficients.HALF_PI[:-1]:
        assert 0 < rest - part < arb(part) * arb(2) ** -28
        assert int(math.frexp(part)[0] * 2**29) == math.frexp(part)[0] * 2**29
        rest = rest - part
    assert coefficients.HALF_PI[-1] == float(rest)
