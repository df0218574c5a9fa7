"""What is 0 up to the rounding of a definition's floats counts as 0, and what is wrong by more does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from sgverify.errors import NotExpandableError
from sgverify.exact.series.local_order import local_order
from sgverify.schemes import Scheme, kinetic, langevin, scheme, sqrt
from sgverify.schemes.scheme import make_scheme


def draws(*amplitudes: Any) -> Scheme:
    """Euler with the noise of several draws."""

    def step(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        return theta - h * grad(theta) + sqrt(2 * T * h) * sum(a * noise() for a in amplitudes)

    return make_scheme(step, langevin, order=1)


def pulls(*weights: Any) -> Scheme:
    """Euler with its gradient in parts."""

    def step(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        g, moved = grad(theta), theta
        for weight in weights:
            moved = moved - h * weight * g
        return moved + sqrt(2 * T * h) * noise()

    return make_scheme(step, langevin, order=1)


def weighted(places: list[float], off: float) -> list[float]:
    return [place / sum(places) * (1 + off * (k == 0)) for k, place in enumerate(places)]


def roots_of_sums(off: float) -> Scheme:
    """Roots of numbers in which floats stand."""
    a, b = math.cos(1.1) ** 2, math.sin(1.1) ** 2 * (1 + off)

    def step(theta, p, *, h, grad, noise, D, T):  # type: ignore[no-untyped-def]
        moved = p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h * a) * noise()
        return theta + h * p, moved + sqrt(2 * D * T * h * b) * noise()

    return make_scheme(step, kinetic, order=1)


DEFINITIONS: dict[str, Callable[[float], Scheme]] = {
    "an angle": lambda off: draws(math.cos(0.3), math.sin(0.3) * (1 + off)),
    "beside a root": lambda off: draws(
        sqrt(2) * math.cos(0.3) / sqrt(2), sqrt(2) * math.sin(0.3) * (1 + off) / sqrt(2)
    ),
    "tanh and sech": lambda off: draws(math.tanh(0.7), (1 + off) / math.cosh(0.7)),
    "one minus a square": lambda off: draws(math.exp(-0.3), math.sqrt(1 - math.exp(-0.6)) * (1 + off)),
    "weights": lambda off: pulls(*weighted([math.pi, math.e, 1.7], off)),
    "twelve weights": lambda off: pulls(*weighted([math.exp(0.1 * k) for k in range(12)], off)),
    "a quotient": lambda off: pulls(math.pi * (1 + off) * (1 / math.pi)),
    "roots": roots_of_sums,
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_an_identity_of_floats_holds_up_to_their_rounding(name: str) -> None:
    assert local_order(DEFINITIONS[name](0.0), 1, 1).order == 1


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("off", [1e-3, 1e-12, -1e-12])
def test_what_is_wrong_by_more_is_wrong(name: str, off: float) -> None:
    found = local_order(DEFINITIONS[name](off), 1, 1)
    assert found.order == 0
    assert found.given_minibatch is not None and found.given_minibatch.power == 1


def test_roots_of_numbers_are_not_rounded() -> None:
    # sqrt 2 is exact, and so is a difference of 1e-20 from it.
    assert local_order(pulls(sqrt(2) / 2, sqrt(2) / 2, 1 - sqrt(2)), 1, 1).order == 1
    assert local_order(pulls(sqrt(2) / 2, sqrt(2) / 2, 1 - sqrt(2) + Fraction(1, 10**20)), 1, 1).order == 0


def test_large_floats_that_cancel_prove_nothing() -> None:
    large = 1e8 * math.cos(0.3)
    with pytest.raises(NotExpandableError, match="floats that cancel"):
        local_order(pulls(large + 1, -large), 1, 1)
    # One symbol for one float: this cancels whatever the float is.
    assert local_order(pulls(large, 1, -large), 1, 1).order == 1


def test_the_root_of_what_cancels_up_to_rounding_is_not_zero() -> None:
    c, s = math.cos(0.3), math.sin(0.3)

    @scheme(langevin)
    def rest(theta, *, h, grad, noise, T):
        left = T - c * (c * T) - s * (s * T)
        return theta - h * grad(theta) + sqrt(2 * T * h) * noise() + sqrt(left * h) * noise()

    with pytest.raises(NotExpandableError, match="the root of .* floats that cancel"):
        local_order(rest, 1, 1)
