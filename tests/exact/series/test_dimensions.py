"""In which dimensions an order is proved: a symbol for `dim`, sums that count coordinates, dimensions by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sgverify import dot, exp, scheme, sqrt
from sgverify.errors import NotExpandableError
from sgverify.evidence import EVERY
from sgverify.exact.readings.formula import plant
from sgverify.exact.rings.roots import reciprocal
from sgverify.exact.series.dimensions import prove_order
from sgverify.exact.series.invariant_order import prove_invariant_order
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.operators import ring_of
from sgverify.schemes import NAMED, Scheme, find_scheme, langevin

Factors = Callable[[Any], tuple[Any, Any]]


def langevin_with(factors: Factors) -> Scheme:
    """Euler with a factor before the gradient and one before the noise, both functions of `dim`."""

    @scheme(langevin, order=1)
    def step(theta, *, h, grad, noise, dim, T):
        drift, width = factors(dim)
        return theta - h * drift * grad(theta) + sqrt(2 * T * h) * width * noise()

    return step


def thermostat_with(divisor: str) -> Scheme:
    """SGNHT with another number in the place of dim."""
    return plant(find_scheme("sgnht-euler"), "dot(p1, p1)/dim", f"dot(p1, p1)/({divisor})")


WRONG = {
    "from 4 on, but for 7": (langevin_with(lambda n: (1 + (n - 1) * (n - 2) * (n - 3) * (n - 7), 1)), 4),
    "a small quotient": (langevin_with(lambda n: (n / (n + 1e-9 * (n - 1) * (n - 2)), 1)), 3),
    "under a root": (
        langevin_with(lambda n: (1, sqrt(1 + (n - 1) * (n - 2) * (n - 3) * (n - 4) * (n - 5)))),
        6,
    ),
    "in an exponential": (langevin_with(lambda n: (exp((n - 1) * (n - 2) * (n - 3)), 1)), 4),
    "a small root": (langevin_with(lambda n: (n / sqrt(n * n + 1e-6 * (n - 1) * (n - 2)), 1)), 3),
    "a thermostat": (thermostat_with("dim + (dim - 1)*(dim - 2)*(dim - 3)"), 4),
    "the root of a thermostat": (thermostat_with("sqrt(dim*dim + (dim - 1)*(dim - 2))"), 3),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_beyond_the_first_dimensions_is_found(name: str) -> None:
    wrong, first = WRONG[name]
    assert local_order(wrong, 2).order == 1
    found = prove_order(wrong, 2, 1)
    assert (found.order.order, found.order.dim, found.every) == (0, first, False)


RIGHT = {
    "roots": lambda n: (n / sqrt(n) / sqrt(n), 1),
    "a quotient of orders that do not matter": lambda n: (1, (n * n + 1) / (n * n + 1)),
    "no quotient that a dimension makes vanish": lambda n: (2 * (n - 1) / (n + n * n - 2) * (n + 2) / 2, 1),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_in_every_dimension_is_proved_in_every_dimension(name: str) -> None:
    if name.startswith("no quotient"):
        # 1/(n + n^2 - 2) has a pole in dimension 1, which nothing is proved of.
        found = prove_order(langevin_with(RIGHT[name]), 2, 2)
        assert not found.dimensions.covers([1]) and "in dimension 1 the step divides by zero" in str(
            found.why_not
        )
        return
    found = prove_order(langevin_with(RIGHT[name]), 2, 1)
    assert found.every and found.order.order == 1 and found.dimensions.covers([100])
    assert str(found) == "in every dimension"


@pytest.mark.parametrize("name", ["sgnht-euler", "sgnht-euler-explicit", "sgnht-aboba"])
def test_thermostats_are_proved_in_every_dimension(name: str) -> None:
    found = prove_order(NAMED[name], 2, 100)
    assert found.every and found.dimensions == EVERY


@pytest.mark.parametrize("name", ["sghmc-aboba", "sghmc-momentum", "sgrld-euler"])
def test_selections_of_as_many_coordinates_as_a_term_has_decide_every_dimension(name: str) -> None:
    found = prove_order(NAMED[name], 2, 7)
    assert found.dimensions == EVERY and str(found) == "in every dimension"


def test_ones_that_are_summed_count_coordinates() -> None:
    def counting(last: int) -> Scheme:
        @scheme(langevin, order=1)
        def step(theta, *, h, grad, noise, T):
            one = exp(theta - theta)
            n, wrong = dot(one, one), 1
            for k in range(1, last + 1):
                wrong = wrong * (n - k)
            return theta - h * (1 + wrong) * grad(theta) + sqrt(2 * T * h) * noise()

        return step

    found = prove_order(counting(5), 2, 1)
    assert (found.order.order, found.order.dim) == (0, 6)
    beyond = prove_order(counting(20), 2, 1)
    assert beyond.order.order == 1 and not beyond.every and not beyond.dimensions.covers([21])
    assert "grows with their number" in str(beyond.why_not) and beyond.dimensions.covers([20])


def test_draws_without_their_root_of_the_step_count_coordinates() -> None:
    @scheme(langevin, order=1)
    def step(theta, *, h, grad, noise, T):
        z = noise()
        square = dot(z, z)
        # E (z.z)^2 = d (d + 2): the factor is 1 + (d - 1)(d - 2).
        return theta - h * (square * square - 5 * square + 3) * grad(theta) + sqrt(2 * T * h) * noise()

    assert [local_order(step, dim, 1).order for dim in (1, 2, 3)] == [1, 1, 0]
    assert prove_order(step, 2, 1).order.dim == 3


def test_a_pole_at_a_whole_dimension_is_no_number() -> None:
    ring = ring_of(langevin, 1, depth=1, cap=2, symbolic=True)
    n = ring.generator("root", "dim") ** 2
    third = reciprocal(n * n + ring.constant(2), ring)
    assert not ring.reduce(third * (n * n + ring.constant(2)) - ring.one)
    assert ring.reduce(third * n - ring.one)
    for pole in (n - ring.constant(3), n * n - ring.constant(9), ring.generator("root", "T") ** 2 - ring.one):
        with pytest.raises(NotExpandableError, match="which is not a polynomial"):
            reciprocal(pole, ring)


def test_an_order_that_is_read_in_one_dimension_alone_holds_there() -> None:
    """The increments of a momentum kept over steps are known to few orders: no further look can read them."""
    found, dimensions, dim = prove_invariant_order(find_scheme("sghmc-momentum"), 2, 1, 2)
    assert (found.order, dimensions.told, dim) == (1, "dimension 2", 2)
