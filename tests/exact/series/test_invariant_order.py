"""The order of the invariant law, for every smooth potential."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sgverify import dynamics, scheme, sqrt
from sgverify.errors import NotExpandableError
from sgverify.exact.series.invariant_order import invariant_order
from sgverify.schemes import find_scheme, kinetic, langevin
from tests.zoo.schemes import kept_increment

DRAW = {"z": lambda theta, *, noise: noise()}


def leimkuhler_matthews(share, sign=1):
    @scheme(langevin, memory=DRAW)
    def averaged(theta, z, *, h, grad, noise, T):
        new = noise()
        return theta - h * grad(theta) + sqrt(2 * T * h) * share * (new + sign * z), new

    return averaged


@scheme(langevin, memory={"y": DRAW["z"], **DRAW})
def noise_used_thrice(theta, y, z, *, h, grad, noise, T):
    new = noise()
    return theta - h * grad(theta) + sqrt(2 * T * h) * (new + z + y) / 3, z, new


@pytest.mark.by_default("item0-2", "item1-2", "item3-1", "item4-0", "item5-0")
@pytest.mark.parametrize(
    ("item", "order"),
    [
        # Leimkuhler and Matthews 2013: second order, with one gradient a step.
        (leimkuhler_matthews(Fraction(1, 2)), 2),
        (kept_increment, 2),
        # The same average over three draws has the right variance and is first order alone.
        (noise_used_thrice, 1),
        (find_scheme("sgld-euler"), 1),
        # Twice the variance over many steps, and none.
        (leimkuhler_matthews(1 / sqrt(2)), 0),
        (leimkuhler_matthews(Fraction(1, 2), -1), 0),
    ],
)
def test_orders(item, order: int) -> None:
    for dim in (1, 2):
        found = invariant_order(item, dim)
        assert (found.order, found.power) == (order, order + 1)


def test_no_more_than_was_examined_is_said() -> None:
    splitting = invariant_order(find_scheme("sghmc-baoab"), 1, highest=1)
    assert (splitting.order, splitting.power, splitting.left) == (1, None, None)
    assert invariant_order(find_scheme("sghmc-baoab"), 1).power == 3


def test_a_generator_of_its_own_leaves_the_same_law() -> None:
    @scheme(kinetic)
    def heavier_friction(theta, p, *, h, grad, noise, D, T):
        p = p - h * grad(theta) - 3 * h * D * p + sqrt(6 * D * T * h) * noise()
        return theta + h * p, p

    found = invariant_order(heavier_friction, 1)
    assert (found.order, found.own, found.mixes) == (1, True, True)
    assert not invariant_order(find_scheme("sghmc-euler"), 1).own


@pytest.mark.parametrize("share", [0, 1])
def test_what_does_not_mix_leaves_every_law_invariant(share: int) -> None:
    @scheme(kinetic)
    def without_friction(theta, p, *, h, grad, noise, D, T):
        p = p - share * h * grad(theta)
        return theta + share * h * p, p + 0 * noise() * sqrt(D * T)

    assert not invariant_order(without_friction, 1, highest=1).mixes


def test_another_density_is_refused() -> None:
    @dynamics(theta="vector", density=lambda theta, *, U, T: -2 * U(theta) / T)
    def colder(theta, *, grad, T):
        return -2 * grad(theta), T

    @scheme(colder)
    def euler(theta, *, h, grad, noise, T):
        return theta - 2 * h * grad(theta) + sqrt(2 * T * h) * noise()

    with pytest.raises(NotExpandableError, match="density"):
        invariant_order(euler)


def test_kinks_are_not_integrated_across() -> None:
    """Of |theta| the adjoint takes a second derivative, which at 0 is no function."""

    @scheme(langevin)
    def louder_below_zero(theta, *, h, grad, noise, T):
        return theta - h * grad(theta) + sqrt(2 * T * h) * (2 - theta / sqrt(theta * theta)) * noise()

    with pytest.raises(NotExpandableError):
        invariant_order(louder_below_zero, 1, highest=1)
