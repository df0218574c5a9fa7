"""The polynomials of the elementary functions are those that their file describes, and its bounds of their errors are proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest
from flint import arb, arb_mat, arb_poly, ctx, fmpq

from sgverify.samplers.reading import coefficients

TERMS = 40
"""Terms of each Taylor series; on these intervals the others are below 1e-19 of the smallest bound."""

PIECES = 400
WIDER = fmpq(10001, 10000)


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    before, ctx.prec = ctx.prec, 320
    yield
    ctx.prec = before


@dataclass(frozen=True)
class Fit:
    """What a polynomial approximates: the Taylor coefficients, the interval, and the error relative to the whole function.

    The relative error at x is at most |x|^power times the polynomial's error, over `least`.
    """

    taylor: Callable[[int], arb]
    ends: Callable[[], tuple[arb, arb]]
    power: int
    least: Callable[[], arb]


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

POLYNOMIALS = {
    "EXP": (EXP, -60),
    "EXP_SHORT": (EXP, -31),
    "LOG": (LOG, -57),
    "LOG_SHORT": (LOG, -35),
    "SIN": (SIN, -57),
    "SIN_SHORT": (SIN, -35),
    "COS": (COS, -59),
    "COS_SHORT": (COS, -39),
}


def interpolated(fit: Fit, count: int) -> list[float]:
    """The coefficients of the polynomial through `count` Chebyshev nodes, each rounded to float64."""
    a, b = fit.ends()
    nodes = [(a + b) / 2 + (b - a) / 2 * (arb.pi() * (2 * k + 1) / (2 * count)).cos() for k in range(count)]
    series = arb_poly([fit.taylor(k) for k in range(TERMS)])
    powers = arb_mat([[x**k for k in range(count)] for x in nodes])
    solved = powers.solve(arb_mat([[series(x)] for x in nodes]))
    return [float(solved[k, 0].mid()) for k in range(count)]


def relative_error(fit: Fit, given: Sequence[float]) -> arb:
    """A bound of the error relative to the elementary function, over the whole interval, by Taylor expansion on pieces of it."""
    difference = arb_poly([arb(c) for c in given]) - arb_poly([fit.taylor(k) for k in range(TERMS)])
    a, b = fit.ends()
    radius = (b - a) / (2 * PIECES)
    worst = arb(0)
    for piece in range(PIECES):
        middle = a + (2 * piece + 1) * radius
        near = difference(arb_poly([middle, 1]))
        size = sum((abs(near[k]) * radius**k for k in range(TERMS)), arb(0))
        worst = arb.max(worst, (abs(middle) + radius) ** fit.power * size)
    return worst / fit.least()


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_coefficients_are_those_of_the_interpolation(name: str) -> None:
    stored = getattr(coefficients, name)
    assert list(stored) == interpolated(POLYNOMIALS[name][0], len(stored))


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
    assert [coefficients.LOG_2, coefficients.INVERSE_LOG_2] == [float(log_2), float(1 / log_2)]
    assert coefficients.INVERSE_HALF_PI == float(1 / half_pi)
    assert coefficients.HALF_PI_REST == float(half_pi - coefficients.HALF_PI[0])
    assert coefficients.LOG_2_LOW == float(log_2 - coefficients.LOG_2_HIGH)
    assert (coefficients.LOG_2_HIGH * 2.0**42).is_integer()
    rest = half_pi
    for part in coefficients.HALF_PI[:-1]:
        assert 0 < rest - part < arb(part) * arb(2) ** -28
        assert int(math.frexp(part)[0] * 2**29) == math.frexp(part)[0] * 2**29
        rest = rest - part
    assert coefficients.HALF_PI[-1] == float(rest)
