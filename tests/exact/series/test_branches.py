"""Roots of squares: |x| is |x|, on every branch, in every dimension, and in every region of the parameters."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from sgverify.errors import NotExpandableError
from sgverify.exact.series.local_order import local_order
from sgverify.schemes import Scheme, dot, exp, kinetic, langevin, sqrt, thermostat
from sgverify.schemes.definition.mathematics import magnitude
from sgverify.schemes.dynamics import Dynamics
from sgverify.schemes.scheme import make_scheme


def overdamped(drift: Any, noise_by: Any = lambda theta, h, T: 1, dynamics: Dynamics = langevin) -> Scheme:
    """theta - h drift(theta, g) + sqrt(2 T h) noise_by(theta, h, T) z, said to be of order 1."""

    def step(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        return theta - h * drift(theta, grad(theta), h) + sqrt(2 * T * h) * noise_by(theta, h, T) * noise()

    return make_scheme(step, dynamics, order=1)


def underdamped(friction: Any) -> Scheme:
    """Euler's step with friction(p, h, D, T) for D p."""

    def step(theta, p, *, h, grad, noise, D, T):  # type: ignore[no-untyped-def]
        p = p - h * grad(theta) - h * friction(p, h, D, T) + sqrt(2 * D * T * h) * noise()
        return theta + h * p, p

    return make_scheme(step, kinetic, order=1)


RIGHT = {
    "the sign of theta in the noise, whose law is even": overdamped(
        lambda x, g, h: g, lambda x, h, T: sqrt(x * x) / x
    ),
    "sqrt(theta^4) is theta^2": overdamped(lambda x, g, h: g * sqrt(x**4) / x**2),
    "tamed by |g|": overdamped(lambda x, g, h: g / (1 + h * sqrt(g * g))),
    "tamed by the length of g": overdamped(lambda x, g, h: g / (1 + h * sqrt(dot(g, g)))),
    "a smooth root": overdamped(lambda x, g, h: g / (1 + h * sqrt(1 + x * x))),
    "nested roots": overdamped(lambda x, g, h: g + sqrt(sqrt(x**4)) - magnitude(x)),
    "products of roots": overdamped(
        lambda x, g, h: g + sqrt(x * x * (x - 1) ** 2) - magnitude(x) * magnitude(x - 1)
    ),
    "roots of parameters": overdamped(
        lambda x, g, h: g, lambda x, h, T: sqrt(T + 1) * sqrt(T + 2) / sqrt(T * T + 3 * T + 2)
    ),
    "friction over the length of p": underdamped(lambda p, h, D, T: D * p / (1 + h * sqrt(dot(p, p)))),
}

WRONG = {
    "noise thrice below 0": overdamped(lambda x, g, h: g, lambda x, h, T: 2 - x / sqrt(x * x)),
    "noise thrice below 1": overdamped(
        lambda x, g, h: g, lambda x, h, T: 2 - (x - 1) / sqrt((x - 1) * (x - 1))
    ),
    "|g| for g": overdamped(lambda x, g, h: sqrt(g * g)),
    "theta for |theta|": overdamped(lambda x, g, h: g + sqrt(sqrt(x**4)) - x),
    "h theta for h |theta|": overdamped(lambda x, g, h: g + sqrt(h * h * x * x) / h - x),
    "friction of |p|": underdamped(lambda p, h, D, T: D * magnitude(p)),
    "friction twice below 0": underdamped(lambda p, h, D, T: D * p * (3 - p / sqrt(p * p)) / 2),
}


@pytest.mark.by_default(
    "the sign of theta in the noise, whose law is even",
    "sqrt(theta^4) is theta^2",
    "tamed by |g|",
    "tamed by the length of g",
    "a smooth root",
    "nested roots",
    "roots of parameters",
    "friction over the length of p",
)
@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_on_every_branch_is_proved(name: str) -> None:
    for dim in (1, 2):
        assert local_order(RIGHT[name], dim, 1).order == 1


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_on_one_branch_is_found_there(name: str) -> None:
    for dim in (1, 2):
        found = local_order(WRONG[name], dim, 1)
        assert found.order == 0
        assert found.given_minibatch is not None and "<" in found.given_minibatch.where


def test_the_friction_of_a_thermostat_has_two_signs() -> None:
    def step(theta, p, xi, *, h, grad, noise, dim, D, T):  # type: ignore[no-untyped-def]
        p = p - h * sqrt(xi * xi) * p - h * grad(theta) + sqrt(2 * D * T * h) * noise()
        return theta + h * p, p, xi + h * (dot(p, p) / dim - T)

    found = local_order(make_scheme(step, thermostat, order=1), 1, 1)
    assert found.order == 0 and found.given_minibatch is not None
    assert found.given_minibatch.where == "xi < 0"


@pytest.mark.parametrize(
    ("temperature", "here", "order", "elsewhere"),
    [("1/2", "T - 1 < 0", 0, 1), ("2", "T - 1 > 0", 1, 0), ("1", "T - 1 >= 0", 1, 0)],
)
def test_a_switch_in_the_temperature_is_two_answers(
    temperature: str, here: str, order: int, elsewhere: int
) -> None:
    """max(T, 1) for T: right from 1 on, where at 1 both are the same step."""

    def step(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        warm = (T + 1 + sqrt((T - 1) * (T - 1))) / 2
        return theta - h * grad(theta) + sqrt(2 * warm * h) * noise()

    scheme = make_scheme(step, langevin, order=1)
    found = local_order(scheme, 1, 1, at={"T": Fraction(temperature)})
    assert (found.where, found.order) == (here, order)
    assert [other.order for other in found.elsewhere] == [elsewhere]
    assert local_order(scheme, 1, 1).order == 0


def test_switches_next_to_one_another_are_told_apart() -> None:
    """max(T, 1/2) and max(T, 1/4) cut the half-line of temperatures into three, of four combinations of signs."""

    def step(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        half, quarter = Fraction(1, 2), Fraction(1, 4)
        warm = (T + half + magnitude(T - half)) / 2 + (magnitude(T - quarter) - (T - quarter)) / 2
        return theta - h * grad(theta) + sqrt(2 * warm * h) * noise()

    found = local_order(make_scheme(step, langevin, order=1), 1, 1, at={"T": Fraction(1)})
    assert found.order == 1 and sorted(int(other.order) for other in found.elsewhere) == [0, 0]


def test_what_holds_only_as_h_tends_to_0_says_so() -> None:
    small = overdamped(lambda x, g, h: g * (1 + 20 * exp(-1 / h)))
    found = local_order(small, 1, 1)
    assert (found.order, found.limits) == (
        1,
        ("exp(-1/h) is smaller than every power of h, and counts as 0",),
    )

    def clipped(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        least = (h + Fraction(1, 5) - sqrt((h - Fraction(1, 5)) ** 2)) / 2
        return theta - least * grad(theta) + sqrt(2 * T * least) * noise()

    found = local_order(make_scheme(clipped, langevin, order=1), 1, 1)
    assert found.order == 1 and len(found.limits) == 1 and found.limits[0].startswith("h < 0.2, ")
    # The noise vanishes faster than every power: no diffusion is left.
    assert local_order(overdamped(lambda x, g, h: g, lambda x, h, T: exp(-1 / h)), 1, 1).order == 0


@pytest.mark.parametrize(
    ("scheme", "why"),
    [
        (overdamped(lambda x, g, h: g, lambda x, h, T: 1 + exp(-x * x / h)), "not known to vanish"),
        (overdamped(lambda x, g, h: g, lambda x, h, T: sqrt(x)), "may be negative"),
        (
            overdamped(lambda x, g, h: g, lambda x, h, T: sqrt(x * x + h) / sqrt(x * x + h)),
            "not a polynomial",
        ),
        (
            overdamped(lambda x, g, h: g, lambda x, h, T: exp(T) * exp(T * T) * exp(-T - T * T)),
            "not told from 0",
        ),
    ],
)
def test_what_no_rule_reads_is_refused_by_name(scheme: Scheme, why: str) -> None:
    with pytest.raises(NotExpandableError, match=why):
        local_order(scheme, 1, 1)


def test_a_root_that_python_rounded_is_a_float_beside_exact_roots() -> None:
    # sqrt(5 + 2 sqrt 6) = sqrt 2 + sqrt 3 is a float, of which a hundred-millionth more is told.
    assert (
        local_order(overdamped(lambda x, g, h: g * sqrt(5 + 2 * sqrt(6)) / (sqrt(2) + sqrt(3))), 1, 1).order
        == 1
    )
    wrong = overdamped(lambda x, g, h: g * sqrt(5 + 2 * sqrt(6)) / (sqrt(2) + sqrt(3) + Fraction(1, 10**12)))
    assert local_order(wrong, 1, 1).order == 0


def test_the_absolute_value_of_a_draw_is_no_draw() -> None:
    def step(theta, *, h, grad, noise, T):  # type: ignore[no-untyped-def]
        return theta - h * grad(theta) + sqrt(2 * T * h) * magnitude(noise())

    with pytest.raises(NotExpandableError, match="depends on a draw"):
        local_order(make_scheme(step, langevin, order=1), 1, 1)


def test_a_root_that_is_not_real_at_these_parameters_proves_nothing() -> None:
    cold = overdamped(lambda x, g, h: g, lambda x, h, T: 1 + h * sqrt(1 - T))
    assert local_order(cold, 1, 1, at={"T": Fraction(1, 2)}).exceptions == ("-T + 1 >= 0",)
    with pytest.raises(NotExpandableError, match="negative at these parameters"):
        local_order(cold, 1, 1, at={"T": Fraction(2)})
