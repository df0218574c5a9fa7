"""The skew matrix of the complete recipe, found and put back into the recipe by sympy."""

from __future__ import annotations

import pytest
import sympy

import tests.zoo.dynamics as wrong
from sgverify.exact.stationarity import find_curl, stationarity_residual
from sgverify.schemes import (
    dot,
    dynamics,
    kinetic,
    langevin,
    riemannian_kinetic,
    riemannian_langevin,
    thermostat,
)


@pytest.mark.parametrize(
    ("found", "dim", "printed"),
    [
        (langevin, 2, "Q = 0"),
        (riemannian_langevin, 2, "Q = 0"),
        (kinetic, 1, "Q_(theta,p) = -T"),
        (kinetic, 2, "Q_(theta1,p1) = -T, Q_(theta2,p2) = -T"),
        (riemannian_kinetic, 1, "Q_(theta,p) = -B T"),
        (thermostat, 1, "Q_(theta,p) = -T, Q_(p,xi) = p T"),
        (
            thermostat,
            2,
            "Q_(theta1,p1) = -T, Q_(theta2,p2) = -T, Q_(p1,xi) = (1/2) p1 T, Q_(p2,xi) = (1/2) p2 T",
        ),
    ],
)
def test_the_matrices_of_ma_chen_and_fox_are_found(found, dim, printed):
    assert str(find_curl(found, dim=dim)) == printed


def _recipe(curl, squares, energy, state):
    """-(a + Q) grad H + Gamma by sympy."""
    size = len(state)
    names = [str(x) for x in state]
    matrix = sympy.zeros(size)
    local = {str(x): x for x in state} | {"T": sympy.Symbol("T", positive=True)}
    for (a, b), text in curl.entries.items():
        value = sympy.sympify(text.replace(" ", "*"), locals=local)
        matrix[names.index(a), names.index(b)] = value
        matrix[names.index(b), names.index(a)] = -value
    whole = squares + matrix
    return [
        sympy.expand(
            sum(
                sympy.diff(whole[i, j], state[j]) - whole[i, j] * sympy.diff(energy, state[j])
                for j in range(size)
            )
        )
        for i in range(size)
    ]


def test_the_recipe_with_the_matrix_that_was_found_is_the_thermostats_drift():
    theta, p = sympy.symbols("theta1 theta2"), sympy.symbols("p1 p2")
    xi, friction, temperature = sympy.Symbol("xi"), *sympy.symbols("D T", positive=True)
    potential = theta[0] ** 4 / 4 + theta[0] * theta[1] ** 2 + theta[1] ** 3
    heat = p[0] ** 2 + p[1] ** 2
    energy = (potential + heat / 2 + (xi - friction) ** 2) / temperature
    squares = sympy.diag(0, 0, friction * temperature, friction * temperature, 0)
    drift = [
        *p,
        *(-sympy.diff(potential, x) - xi * y for x, y in zip(theta, p, strict=True)),
        heat / 2 - temperature,
    ]
    curl = find_curl(thermostat, dim=2)
    found = _recipe(curl, squares, energy, (*theta, *p, xi))
    assert [sympy.expand(a - b) for a, b in zip(found, drift, strict=True)] == [0] * 5
    # Planted: one entry of the other sign gives another drift.
    curl.entries["p1", "xi"] = "-" + curl.entries["p1", "xi"]
    assert _recipe(curl, squares, energy, (*theta, *p, xi)) != found


@pytest.mark.parametrize(
    "found",
    [wrong.without_gamma, wrong.half_gamma, wrong.kinetic_without_gamma, wrong.wrong_fluctuation],
    ids=lambda found: found.name,
)
def test_where_the_density_is_not_invariant_there_is_no_matrix(found):
    assert not stationarity_residual(found).zero and find_curl(found) is None


def test_a_matrix_beyond_the_ansatz_is_not_found_although_the_density_is_invariant():
    @dynamics(theta="vector", p="vector")
    def fast(theta, p, *, grad, T):
        speed = 1 + dot(theta, theta)
        return (speed * p, -speed * grad(theta) + 2 * T * theta), (0, 0)

    assert stationarity_residual(fast).zero and find_curl(fast) is None


def test_a_matrix_that_needs_a_temperature_of_one_is_found_there():
    found = find_curl(thermostat, wrong.thermostat_mended, 2, {"T": 1})
    assert found is not None and find_curl(thermostat, wrong.thermostat_mended, 2) is None
