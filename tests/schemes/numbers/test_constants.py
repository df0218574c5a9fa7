"""Constants that tell coordinates apart: what they mean, what is refused, and that each reading sees an error in them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from sgverify.checks import verify
from sgverify.configuration import load_configuration
from sgverify.errors import DefinitionError
from sgverify.exact.readings.formula import formula, plant
from sgverify.schemes import constants, dynamics, exp, linear, scheme, sqrt
from sgverify.subject.binding import make_subject

SKEW = ((0, 1), (-1, 0))
FRICTION = (1, 2, Fraction(7, 2))


@dynamics(theta="vector")
def irreversible(theta, *, grad, T):
    g = grad(theta)
    return -g - linear(SKEW, g), T


@scheme(irreversible, order=1)
def skew_euler(theta, *, h, grad, noise, T):
    g = grad(theta)
    return theta - h * g - h * linear(SKEW, g) + sqrt(2 * T * h) * noise()


@dynamics(theta="vector", p="vector")
def rubbed(theta, p, *, grad, D, T):
    friction = D * constants(FRICTION, p)
    return (p, -grad(theta) - friction * p), (0, T * friction)


@scheme(rubbed, order=1)
def rubbed_euler(theta, p, *, h, grad, noise, D, T):
    friction = D * constants(FRICTION, p)
    p = exp(-friction * h) * p - h * grad(theta) + sqrt(2 * friction * T * h) * noise()
    return theta + h * p, p


def order_of(step: Any, dim: int) -> Any:
    (found,) = verify(step, checks=["local-order"], proof_dim=dim)
    return found.verdict


@pytest.mark.parametrize("step", [skew_euler, rubbed_euler])
def test_right_ones_are_proved(step: Any) -> None:
    assert order_of(step, 2) == "conforms"


def test_an_error_in_an_entry_is_seen_where_the_entry_is() -> None:
    assert order_of(plant(skew_euler, "((0, 1), (-1, 0))", "((0, 1), (-2, 0))"), 2) == "violates"
    wrong = plant(rubbed_euler, "constants((1, 2, 7/2), p)", "constants((1, 2, 3), p)")
    assert order_of(wrong, 3) == "violates"


def test_the_default_proof_reaches_every_entry() -> None:
    # The third coordinate alone is wrong, and the target has one.
    wrong = plant(rubbed_euler, "constants((1, 2, 7/2), p)", "constants((1, 2, 3), p)")
    (found,) = verify(wrong, checks=["local-order"])
    assert found.verdict == "violates"


def test_they_are_printed_and_read_back() -> None:
    assert "linear(((0, 1), (-1, 0)), g1)" in formula(skew_euler)
    again = plant(skew_euler, "sqrt(2*T*h)", "sqrt(2*h*T)")
    assert order_of(again, 2) == "conforms"


def test_each_is_kept_once() -> None:
    assert (skew_euler.constants, rubbed_euler.census.constants) == ((SKEW, SKEW), (FRICTION,))


def test_one_dimension_has_exact_laws_and_more_say_why_not() -> None:
    assert make_subject(rubbed_euler, load_configuration()).affine
    beyond = make_subject(rubbed_euler, load_configuration(target={"name": "gaussian", "dim": 3}))
    assert "tell coordinates apart" in str(beyond.why_not_affine)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((), "expected numbers in a tuple"),
        (3, "expected numbers in a tuple"),
        ((1, True), "is of type bool"),
        ((1, "2"), "is of type str"),
    ],
)
def test_what_is_no_vector_is_refused(given: Any, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):

        @scheme(irreversible)
        def wrong(theta, *, h, grad, noise, T):
            return theta - h * constants(given, theta) * grad(theta) + sqrt(2 * T * h) * noise()


@pytest.mark.parametrize(
    ("given", "told"),
    [(((0, 1),), "square"), ((), "rows of numbers"), (((0, 1), (1, 0, 2)), "square"), (2, "rows")],
)
def test_what_is_no_matrix_is_refused(given: Any, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):

        @scheme(irreversible)
        def wrong(theta, *, h, grad, noise, T):
            return theta - h * linear(given, grad(theta)) + sqrt(2 * T * h) * noise()


def test_a_state_in_a_constant_and_a_scalar_in_the_place_of_a_vector_are_refused() -> None:
    with pytest.raises(DefinitionError, match="is of type Abstract"):

        @scheme(irreversible)
        def of_the_state(theta, *, h, grad, noise, T):
            return theta - h * constants((1, T), theta) * grad(theta) + sqrt(2 * T * h) * noise()

    with pytest.raises(DefinitionError, match="a number; expected a vector"):

        @scheme(irreversible)
        def of_a_number(theta, *, h, grad, noise, T):
            return theta - linear(SKEW, h) * grad(theta) + sqrt(2 * T * h) * noise()


def test_a_density_of_ones_own_has_no_known_moments() -> None:
    # With the mass 3 the momentum has the variance 3 T, which would violate a covariance of T.
    @dynamics(theta="vector", p="vector", density=_heavy)
    def heavy(theta, p, *, grad, D, T):
        return (p / 3, -grad(theta) - D * p / 3), (0, D * T)

    @scheme(heavy, order=1)
    def euler(theta, p, *, h, grad, noise, D, T):
        p = p - h * grad(theta) - h * D * p / 3 + sqrt(2 * D * T * h) * noise()
        return theta + h * p / 3, p

    found = verify(euler, checks=["covariance"])
    assert {item.verdict for item in found} == {"not-applicable"}


def _heavy(theta, p, *, U, T):
    from sgverify.schemes import dot

    return -(U(theta) + dot(p, p) / 6) / T


def test_a_period_that_is_not_read_is_no_proof_in_every_dimension(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgverify.exact.series.dimensions.largest", lambda *_: 3)
    monkeypatch.setattr("sgverify.exact.series.dimensions.MOST_SELECTIONS", 1)

    def answer(dim: int) -> Any:
        (found,) = verify(
            doubled_in_the_fourth, checks=["local-order"], target={"name": "gaussian", "dim": dim}
        )
        return found

    assert answer(1).verdict == "conforms" and "in dimensions 1 to 3" in answer(1).reason
    assert answer(4).verdict == "inconclusive" and "dimension 4 was not examined" in answer(4).reason
    assert answer(4).scope.dimensions.values == (1, 2, 3)


@scheme(irreversible, order=1)
def doubled_in_the_fourth(theta, *, h, grad, noise, T):
    g = grad(theta)
    spread = constants((1, 1, 1, 2), theta)
    return theta - h * g - h * linear(SKEW, g) + sqrt(2 * T * h) * spread * noise()


@pytest.mark.parametrize("friction", [2.0, 50.0])
def test_the_default_step_contracts_every_coordinate(friction: float) -> None:
    # Euler's friction 7/2 D of the third coordinate needs h < 4/(7 D), whatever the precision says.
    found = make_subject(
        rubbed_explicit, load_configuration(target={"name": "gaussian", "dim": 3}, friction=friction)
    )
    assert 0.02 < found.step * friction < 4 / 7


@scheme(rubbed, order=1)
def rubbed_explicit(theta, p, *, h, grad, noise, D, T):
    friction = D * constants(FRICTION, p)
    p = p - h * grad(theta) - h * friction * p + sqrt(2 * friction * T * h) * noise()
    return theta + h * p, p
