"""Dynamics made by the complete recipe: the drift that follows, held against known ones and proved to be right."""

from __future__ import annotations

import pytest

from sgverify.errors import DefinitionError
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.operators import coefficients_of
from sgverify.exact.stationarity.fokker_planck import stationarity_residual
from sgverify.schemes import complete_recipe, dot, kinetic, langevin, scheme, sqrt


@complete_recipe(theta="vector", p="vector")
def made(theta, p, *, D):
    return (0, D), {("theta", "p"): -1}


@complete_recipe(theta="vector")
def overdamped(theta):
    return 1, {}


@complete_recipe(theta="vector", p="vector")
def warped(theta, p, *, D):
    return (dot(p, p) ** 2, D * (1 + dot(theta, theta))), {("theta", "p"): -((2 + dot(theta, p)) ** 3)}


def _drift(found, dim):
    ring = Ring(dim, found.shapes, ("D", "T"), depth=1, draws=0, minibatches=1, cap=1)
    drift, squares = coefficients_of(found, ring)
    return list(map(str, drift)), {pair: str(ring.reduce(value)) for pair, value in squares.items() if value}


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_recipe_gives_the_drifts_that_are_written_down(dim):
    assert _drift(made, dim) == _drift(kinetic, dim)
    assert _drift(overdamped, dim) == _drift(langevin, dim)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_whatever_the_recipe_is_given_the_density_is_invariant(dim):
    assert stationarity_residual(warped, dim=dim).zero


def test_an_energy_of_ones_own_gives_the_density_that_is_kept():
    def heavy(theta, p, *, U, D):
        return U(theta) + D * sqrt(1 + dot(p, p)) + dot(theta, theta) * dot(p, p) / 4

    @complete_recipe(theta="vector", p="vector", energy=heavy)
    def found(theta, p, *, D):
        return (0, D / (1 + dot(p, p))), {("theta", "p"): -1}

    assert set(found.parameters) == {"D", "T"}
    assert stationarity_residual(found).zero and not stationarity_residual(found, kinetic.density).zero


def test_a_scheme_of_such_a_dynamics_is_judged_like_any_other():
    @scheme(made, order=1)
    def euler(theta, p, *, h, grad, noise, D, T):
        p = p - h * grad(theta) - h * D * p + sqrt(2 * D * T * h) * noise()
        return theta + h * p, p

    assert local_order(euler, 2).order == 1


def test_a_curl_without_its_divergence_would_lose_the_density(monkeypatch):
    """Planted: Gamma left out."""
    from sgverify.schemes import recipe

    right = recipe.gradient_of
    monkeypatch.setattr(
        recipe,
        "gradient_of",
        lambda of, variables: right(of, variables) if _is_energy(of) else [0] * len(variables),
    )
    assert not stationarity_residual(warped).zero


def _is_energy(of):
    """The energy alone holds U, whose value nobody knows."""
    return getattr(of, "value", 0) is None


@pytest.mark.parametrize("block", [("p", "theta"), ("theta", "q"), ("theta", "theta")])
def test_blocks_that_are_not_there_are_refused(block):
    with pytest.raises(DefinitionError, match="expected two variables of one shape"):

        @complete_recipe(theta="vector", p="vector")
        def wrong(theta, p, *, D):
            return (0, D), {block: -1}


def test_a_state_without_a_stated_energy_and_an_energy_that_is_not_linear_in_the_potential_are_refused():
    with pytest.raises(DefinitionError, match="no energy is stated"):

        @complete_recipe(theta="vector", q="vector")
        def unsaid(theta, q):
            return (0, 1), {}

    with pytest.raises(DefinitionError, match="enters other than linearly"):

        @complete_recipe(theta="vector", energy=lambda theta, *, U: U(theta) ** 2)
        def squared(theta):
            return 1, {}
