"""Methods are near the leading terms of their expansions at small steps, and what turns into something else at tiny ones is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from sgverify.exact.readings.leading_terms import FAR, LinearSetting, departure
from sgverify.schemes import Scheme, dot, exp, expm1, find_scheme, kinetic, langevin, sqrt
from sgverify.schemes.numbers.constants import constants
from sgverify.schemes.scheme import make_scheme
from tests.tables import each_row

UNIT = LinearSetting(1.0, 1.0, 1.0)
STIFF = LinearSetting(1001.0, 1.0, 2.0)


def langevin_with(drift: Callable[..., Any], noise: Callable[..., Any] = lambda z, h: z) -> Scheme:
    def step(theta, *, h, grad, noise: Any, T):  # type: ignore[no-untyped-def]
        return theta - drift(grad(theta), h) + sqrt(2 * T * h) * amplitude(noise(), h)

    amplitude = noise
    return make_scheme(step, langevin, order=1)


def kinetic_with(friction: Callable[..., Any], move: Callable[..., Any] = lambda p, h: h * p) -> Scheme:
    def step(theta, p, *, h, grad, noise, D, T):  # type: ignore[no-untyped-def]
        moved = p - h * grad(theta) - h * D * friction(p, h) + sqrt(2 * D * T * h) * noise()
        return theta + move(moved, h), moved

    return make_scheme(step, kinetic, order=1)


ELSEWHERE = {
    "a cutoff of the gradient": langevin_with(lambda g, h: h * g * exp(-1000 * h * g * g)),
    "of its norm": langevin_with(lambda g, h: h * g / (1 + 300 * h * dot(g, g))),
    "of the step": langevin_with(lambda g, h: h * g * exp(-1000 * h)),
    "a quotient": langevin_with(lambda g, h: h * g / (1 + 1000 * h)),
    "a saturated step": langevin_with(lambda g, h: -expm1(-300 * h) / 300 * g),
    "of the noise": langevin_with(lambda g, h: h * g, lambda z, h: z / sqrt(1 + 2000 * h)),
    "of a draw": langevin_with(lambda g, h: h * g, lambda z, h: z / (1 + 500 * h * z * z)),
    "of the friction": kinetic_with(lambda p, h: p * exp(-1000 * h * p * p)),
    "of the velocity": kinetic_with(lambda p, h: p, lambda p, h: h * p / (1 + 1000 * h * dot(p, p))),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_another_step_at_small_steps_is_seen(name: str) -> None:
    found = departure(ELSEWHERE[name], UNIT, UNIT.small)
    assert found is not None and found.share > FAR
    # Where the expansion is said to speak, it does.
    assert 0 < found.speaks < UNIT.small
    at = departure(ELSEWHERE[name], UNIT, found.speaks)
    assert at is not None and at.share <= 0.1


@pytest.mark.by_default("1-1000000000.0", "-1-1e+20")
@pytest.mark.parametrize("rate", [1e9, 1e12, 1e20])
@pytest.mark.parametrize("sign", [1, -1])
def test_constants_of_any_size_are_seen(rate: float, sign: int) -> None:
    drift = langevin_with(lambda g, h: h * g * exp(sign * rate * h))
    noise = langevin_with(lambda g, h: h * g, lambda z, h: z * exp(sign * rate * h))
    for part, step in (("drift", drift), ("noise", noise)):
        found = departure(step, UNIT, UNIT.small)
        # Where a draw of 0 is multiplied by infinity, the drift is no number either.
        assert found is not None and found.share > FAR and (sign > 0 or found.part == part)
        assert ("is not finite in floats" in str(found)) == (sign > 0)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_every_coordinate_is_looked_at(place: int) -> None:
    picked = [int(k == place) for k in range(3)]

    def step(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        g = grad(theta)
        cut = g * (exp(-1000 * h * dot(g, g)) - 1)
        return theta - h * g - h * constants(picked, theta) * cut + sqrt(2 * T * h) * noise()

    found = departure(make_scheme(step, langevin, order=1), UNIT, UNIT.small)
    assert found is not None and found.share > FAR


def test_what_the_intervals_of_floats_hide_is_no_departure() -> None:
    c, s = math.cos(0.3), math.sin(0.3)

    def step(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        return theta * c * c + s * (s * theta) - h * grad(theta) + sqrt(2 * T * h) * noise()

    found = departure(make_scheme(step, langevin, order=1), UNIT, UNIT.small)
    assert found is not None and found.share < FAR / 2


RIGHT = ("sgld-euler", "sghmc-euler-explicit", "sghmc-aboba", "sghmc-baoab", "sgnht-euler", "sgnht-aboba")


@each_row("name", RIGHT)
@each_row("setting", [UNIT, STIFF, LinearSetting(0.01, 0.5, 2.0)])
def test_methods_are_near_their_leading_terms(name: str, setting: LinearSetting) -> None:
    found = departure(find_scheme(name), setting, setting.small)
    assert found is not None and found.share < FAR / 2


def test_a_tamed_step_is_near_and_the_largest_departure_is_named() -> None:
    tamed = langevin_with(lambda g, h: h * g / (1 + h * dot(g, g)))
    found = departure(tamed, UNIT, UNIT.small)
    assert found is not None and found.share < FAR / 2 and (found.part, found.variable) == ("drift", "theta")
    # At three spreads in two coordinates, 3 and 3/2, h |g|^2 is 0.1125.
    assert found.share == pytest.approx(0.1125 / 1.1125, rel=1e-5)
