"""Constants of any periods: an error at one coordinate of their common period is found, and what is right is proved for all."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, lcm
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgverify import Alphabet, dot, dynamics, exp, expm1, scheme, sqrt
from sgverify.checks import verify
from sgverify.evidence import EVERY
from sgverify.exact.series.dimensions import Proved, prove_order
from sgverify.exact.series.invariant_order import prove_invariant_order
from sgverify.exact.series.letters import prove_alphabet_everywhere
from sgverify.schemes import Scheme, constants, kinetic, langevin, linear
from sgverify.schemes.numbers.constants import placed, repeated, repeated_rows
from sgverify.schemes.numbers.periods import Periods
from sgverify.testing.profiles import examples

FLOATS = st.floats(0.3, 3).map(lambda x: round(x, 15))


@st.composite
def factors(draw: Any) -> tuple[list[tuple[float, ...]], int]:
    """Two or three tuples of positive numbers, and a place within their common period."""
    periods = draw(st.lists(st.integers(1, 5), min_size=2, max_size=3))
    numbers = [tuple(draw(FLOATS) for _ in range(period)) for period in periods]
    return numbers, draw(st.integers(0, lcm(*periods) - 1))


def only(periods: Sequence[int], place: int) -> list[tuple[int, ...]]:
    """Constants of these periods whose product is 1 at the place, and 0 at the others of the common period."""
    return [tuple(int(i == place % period) for i in range(period)) for period in periods]


def product(numbers: Sequence[Sequence[Any]], like: Any) -> Any:
    """The product of several constants."""
    found: Any = 1
    for factor in numbers:
        found = found * constants(factor, like)
    return found


def preconditioned(numbers: Sequence[Sequence[Any]], wrong: Any = None) -> Scheme:
    """Euler in a metric of each coordinate's own, with a little more noise where `wrong` is not 0."""

    @dynamics(theta="vector")
    def scaled(theta, *, grad, T):
        return -product(numbers, theta) * grad(theta), T * product(numbers, theta)

    @scheme(scaled, order=1)
    def step(theta, *, h, grad, noise, T):
        metric = product(numbers, theta)
        louder = 1 + product(wrong, theta) / 100 if wrong else 1
        return theta - h * metric * grad(theta) + sqrt(2 * T * h * metric) * louder * noise()

    return step


def holds_beyond(found: Proved, place: int) -> bool:
    """Whether the answer says that the order 1 holds in a dimension with this place."""
    return found.order.order >= 1 and found.dimensions.covers([place + 1])


@settings(max_examples=examples(6), deadline=None)
@given(factors())
def test_noise_that_is_wrong_at_one_place_is_never_proved_there(
    drawn: tuple[list[tuple[float, ...]], int],
) -> None:
    numbers, place = drawn
    periods = [len(factor) for factor in numbers]
    assert prove_order(preconditioned(numbers), 2, 1).dimensions == EVERY
    found = prove_order(preconditioned(numbers, only(periods, place)), 2, 1)
    assert not holds_beyond(found, place) and (found.order.order, found.dim) == (0, max(place + 1, found.dim))


def hot(place: int) -> Any:
    """A factor of the noise, 1 but at one coordinate of six."""
    return lambda like: 1 + product(only((2, 3), place), like)


@pytest.mark.parametrize("place", [1, 3])
def test_the_invariant_law_and_letters_are_proved_over_the_same_period(place: int) -> None:
    factor = hot(place)

    @scheme(langevin, order={"invariant": 2}, memory={"z": lambda theta, *, noise: noise()})
    def averaged(theta, z, *, h, grad, noise, T):
        new = noise()
        return theta - h * grad(theta) + sqrt(2 * T * h) * factor(theta) * (new + z) / 2, new

    found, dimensions, dim = prove_invariant_order(averaged, 2, 1)
    assert found.order == 0 and dimensions.covers([dim]) and dim >= place + 1

    def rotation(theta, p, *, t, noise, D, T):
        return theta, exp(-D * t) * p + sqrt(-T * expm1(-2 * D * t)) * factor(p) * noise()

    letters = Alphabet("hot", kinetic, A=drift, B=kick, O=rotation)
    assert not prove_alphabet_everywhere(letters, 2, 1).proved
    assert prove_order(letters.word("BAOAB", order=2), 2, 1).order.order == 0


def drift(theta, p, *, t):
    return theta + t * p, p


def kick(theta, p, *, t, grad):
    return theta, p - t * grad(theta)


@pytest.mark.parametrize("place", [1, 5])
def test_a_memory_and_its_start_are_proved_over_the_same_period(place: int) -> None:
    factor = hot(place)

    @scheme(langevin, order=1, memory={"v": lambda theta: 0 * theta})
    def smoothed(theta, v, *, h, grad, noise, T):
        v = v / 2 + h / 2 * factor(theta) * grad(theta)
        return theta - v + sqrt(2 * T * h) * noise(), v

    assert prove_order(smoothed, 2, 1).order.order == 0

    @scheme(langevin, order=1, memory={"z": lambda theta: 0 * theta + factor(theta) - 1})
    def begun(theta, z, *, h, grad, noise, T):
        new = noise()
        return theta - h * grad(theta) + sqrt(2 * T * h) * (new + z) / 2, new

    assert prove_order(begun, 2, 1).order.order == Fraction(1, 2)


@pytest.mark.parametrize("place", range(6))
def test_a_density_is_invariant_over_the_same_period(place: int) -> None:
    def heat(theta: Any) -> Any:
        return hot(place)(theta)

    @dynamics(theta="vector")
    def warm(theta, *, grad, T):
        return -grad(theta), T * heat(theta)

    @scheme(warm, order=1)
    def euler(theta, *, h, grad, noise, T):
        return theta - h * grad(theta) + sqrt(2 * T * h * heat(theta)) * noise()

    (found,) = verify(euler, checks=["stationarity"])
    assert found.verdict == "violates" and f"in dimension {place + 1}" in found.reason


def test_a_pair_of_places_that_one_dimension_in_six_has_is_found() -> None:
    @scheme(langevin, order=2)
    def paired(theta, *, h, grad, noise, T):
        first, second = constants((0, 1), theta), constants((0, 0, 1), theta)
        kick = sqrt(2 * T * h) * noise()
        slope = grad(theta)
        coupled = dot(first * slope, theta) * second
        return theta - h / 2 * (slope + grad(theta - h * slope + kick)) + kick + h * h * coupled * theta

    found = prove_order(paired, 2, 1)
    assert floor(found.order.order) == 1 and found.dim == 3


def test_what_a_matrix_couples_is_followed_as_a_whole_and_cut() -> None:
    skew = ((0, Fraction(5, 4), 0), (Fraction(-5, 4), 0, 2), (0, -2, 0))
    assert Periods.of((skew,)).units == ((0, 1, 2), (0,), (0, 1))
    assert Periods.of((((1, 0), (0, 1)),)).units == ((0,),)

    @dynamics(theta="vector", p="vector")
    def turned(theta, p, *, grad, D, T):
        return (p, -grad(theta) - D * p - linear(skew, p)), (0, D * T)

    def euler(matrix: Any) -> Scheme:
        @scheme(turned, order=1)
        def step(theta, p, *, h, grad, noise, D, T):
            force = -grad(theta) - D * p - linear(matrix, p)
            return theta + h * p, p + h * force + sqrt(2 * D * T * h) * noise()

        return step

    assert prove_order(euler(skew), 2, 1).dimensions == EVERY
    assert prove_order(euler(((0, Fraction(5, 4), 0), (Fraction(-5, 4), 0, 2), (0, -1, 0))), 2, 1).dim == 3


def test_places_are_those_of_a_longer_vector() -> None:
    assert [repeated((1, 2, 3), 2), repeated_rows(((0, 1), (2, 0)), 2)] == [(1, 2), ((0, 1), (2, 0))]
    with placed((5, 6)):
        assert repeated((1, 2, 3), 2) == (3, 1) and repeated_rows(((0, 1), (2, 0)), 2) == ((0, 0), (0, 0))
        assert repeated((1, 2, 3), 3) == (1, 2, 3)


@pytest.mark.parametrize("reached", [(1, 0), (Fraction(6, 5), Fraction(1, 5), 0)])
def test_a_coordinate_that_only_the_potential_couples_to_the_noise_forgets_nothing(reached: Any) -> None:
    @scheme(kinetic, order={"invariant": 1})
    def partly(theta, p, *, h, grad, noise, D, T):
        friction = D * constants(reached, p)
        p = p - h * grad(theta) - h * friction * p + sqrt(2 * friction * T * h) * noise()
        return theta + h * p, p

    (found,) = verify(partly, checks=["invariant-order"])
    assert found.verdict == "inconclusive" and "forget its start on every Gaussian" in found.reason


def test_momenta_that_share_their_friction_forget_nothing_on_an_isotropic_gaussian() -> None:
    @scheme(kinetic, order={"invariant": 1})
    def shared(theta, p, *, h, grad, noise, D, T):
        rubbed = h * D * linear(((1, 1), (1, 1)), p)
        p = p - h * grad(theta) - rubbed + sqrt(2 * D * T * h) * linear(((1, 0), (1, 0)), noise())
        return theta + h * p, p

    (found,) = verify(shared, checks=["invariant-order"])
    assert found.verdict == "inconclusive" and "forget its start on every Gaussian" in found.reason


def test_a_period_too_long_is_examined_by_number_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgverify.exact.series.dimensions.MOST_SELECTIONS", 10)
    wrong = preconditioned([tuple(range(1, 14))], only([13, 7], 90))
    (found,) = verify(wrong, checks=["local-order"], target={"name": "gaussian", "dim": 17})
    assert found.verdict == "conforms" and found.scope.dimensions.values == (*range(1, 21),)
    (beyond,) = verify(wrong, checks=["local-order"], target={"name": "gaussian", "dim": 91})
    assert beyond.verdict == "inconclusive" and "dimension 91 was not examined" in beyond.reason
