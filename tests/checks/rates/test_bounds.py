"""Where only a bound of a rate is known, no exponent is certified; where all is zero, none is given."""

from __future__ import annotations

import math

import pytest

from sgverify.checks import rate

BARE = {"target": {"name": "gaussian"}}
FAR = {"sweep": {"lengths": [10**2, 10**9, 10**10]}}
SHORT = {"sweep": {"lengths": [100, 1000]}}


@pytest.mark.by_default("p", "theta*p", "theta**2*p")
@pytest.mark.parametrize("function", ["p", "theta*p", "theta**2*p", "theta**3*p"])
def test_a_time_average_that_telescopes_has_no_sharp_rate(function: str) -> None:
    """theta^k p = d(theta^(k+1)/(k+1))/dt: its asymptotic variance is 0, and its MSE falls faster than 1/(Lh)."""
    found = rate("sghmc-aboba", quantity="mse", test_function=function, **BARE, **FAR)
    last, before = found.points[-1], found.points[-2]
    slope = math.log10(last.value / before.value) / math.log10(last.length / before.length)
    assert slope < -1.2
    assert (found.verdict, found.sharp, found.found.low) == ("conforms", False, None)


def test_a_time_average_that_does_not_telescope_has_one() -> None:
    found = rate("sghmc-aboba", quantity="mse", test_function="theta**4", **BARE, **FAR)
    assert (found.verdict, found.sharp) == ("conforms", True)


@pytest.mark.parametrize("kind", ["power", "horizon", "fixed"])
def test_what_is_zero_has_no_exponent(kind: str) -> None:
    settings = {"schedule": {"kind": kind}, "test_function": "theta", "start": 0.0, **BARE, **SHORT}
    found = rate("sghmc-aboba", quantity="bias", **settings)
    assert not any(point.value for point in found.points)
    assert (found.verdict, found.found.exponent) == ("conforms", None)
    assert "identically zero" in found.reason


def test_a_constant_over_the_sum_of_steps_is_a_bound() -> None:
    found = rate("sghmc-aboba", quantity="bias", schedule={"kind": "power", "alpha": 0.7}, **BARE, **SHORT)
    assert (found.verdict, found.sharp, found.found.low) == ("conforms", False, None)
