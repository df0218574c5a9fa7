"""Fokker-Planck in the ring of the series, against sympy on a concrete potential and against quadrature."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
import sympy

import tests.exact.stationarity.oracle as oracle
import tests.zoo.dynamics as wrong
from sgverify.errors import DefinitionError, NotExpandableError
from sgverify.exact.rings.evaluation import FRACTIONS, Values, by_key
from sgverify.exact.series.operators import coefficients_of
from sgverify.exact.stationarity.fokker_planck import (
    density_of,
    read_density,
    residual_of,
    ring_for,
    stationarity_residual,
)
from sgverify.schemes import (
    density,
    dot,
    dynamics,
    exp,
    kinetic,
    langevin,
    riemannian_kinetic,
    riemannian_langevin,
    sqrt,
    thermostat,
)
from sgverify.schemes.dynamics import expanded_mean
from tests.tables import each_row

CATALOGUE = (langevin, kinetic, thermostat, riemannian_langevin, riemannian_kinetic, expanded_mean)
AT_ONE = {"T": 1}


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("found", CATALOGUE, ids=lambda found: found.name)
def test_every_dynamics_of_the_catalogue_leaves_its_density_invariant(found, dim):
    residual = stationarity_residual(found, dim=dim)
    assert (residual.zero, residual.text, residual.witness) == (True, "0", {})
    assert residual.integrable is True and residual.invariant


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_printed_density_of_sghmc_is_neither_invariant_nor_a_density(dim):
    found = stationarity_residual(kinetic, wrong.sghmc_as_printed, dim, AT_ONE)
    assert not found.zero and found.witness and found.integrable is False


def test_the_printed_density_of_the_thermostat_falls_and_with_its_sign_mended_falls_from_two_dimensions_on():
    for dim in (1, 2, 3):
        printed, sign, mended = (
            stationarity_residual(thermostat, rho, dim, AT_ONE)
            for rho in (
                wrong.thermostat_as_printed,
                wrong.thermostat_with_the_sign_mended,
                wrong.thermostat_mended,
            )
        )
        assert not printed.zero and printed.integrable is False
        assert sign.zero == (dim == 1) and sign.integrable is True
        assert mended.invariant
    assert not stationarity_residual(thermostat, wrong.thermostat_mended, 2).zero, "T = 1 is part of it"


def test_the_printed_langevin_dynamics_has_the_printed_density_at_half_the_speed_of_the_algorithm():
    found = stationarity_residual(wrong.half_speed)
    assert found.invariant and found.log_density == "-U"


@pytest.mark.parametrize(
    "found",
    [wrong.without_gamma, wrong.half_gamma, wrong.kinetic_without_gamma, wrong.wrong_fluctuation],
    ids=lambda found: found.name,
)
@pytest.mark.parametrize("dim", [1, 2])
def test_a_planted_error_leaves_a_residual_and_a_point_at_which_it_is_not_zero(found, dim):
    residual = stationarity_residual(found, dim=dim)
    assert not residual.zero and residual.decided and residual.text != "0"
    assert Fraction(residual.witness["residual"]) != 0


def test_a_thermostat_without_its_dim_passes_in_dimension_one_only():
    zero = [stationarity_residual(wrong.thermostat_without_dim, dim=dim).zero for dim in (1, 2, 3)]
    assert zero == [True, False, False]
    own = density_of(thermostat)
    assert [stationarity_residual(thermostat, wrong.without_dim, dim).zero for dim in (1, 2)] == [True, False]
    assert [stationarity_residual(thermostat, own, dim).zero for dim in (1, 2)] == [True, True]


def _of_the_package(found, dim, point):
    """The package's residual at the jet that the concrete potential and metric have at a point."""
    stated = density_of(found)
    ring = ring_for(found, stated, dim, {})
    left = residual_of(*coefficients_of(found, ring), read_density(stated, ring), ring)

    def number(key):
        kind, *rest = key
        if kind in ("theta", "p"):
            return point[(oracle.COORDINATES if kind == "theta" else oracle.MOMENTA)[rest[0]]]
        member, index = rest
        function = oracle.potential(dim) if kind == "U" else oracle.root(dim)[divmod(member, dim)]
        for symbol, times in zip(oracle.COORDINATES, index, strict=False):
            function = sympy.diff(function, symbol, times)
        return Fraction(str(sympy.nsimplify(function.subs(point))))

    parameters = {name: point[sympy.Symbol(name, positive=True)] for name in ring.parameters}
    return Values(ring, by_key(ring, number), FRACTIONS, parameters)(left)


POINT = dict(
    zip((*oracle.COORDINATES, *oracle.MOMENTA), map(Fraction, (1, -2, 3, 2, 1, -1)), strict=True)
) | {oracle.T: Fraction(3), oracle.D: Fraction(2)}


@pytest.mark.by_default(
    "half_gamma-langevin-1/2-1",
    "kinetic_without_gamma-kinetic-0-1",
    "without_gamma-langevin-0-1",
    "riemannian_kinetic-kinetic-1-1",
    "riemannian_langevin-langevin-1-1",
    "riemannian_kinetic-kinetic-1-2",
)
@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize(
    ("found", "make", "gamma"),
    [
        (riemannian_langevin, oracle.langevin, 1),
        (wrong.without_gamma, oracle.langevin, 0),
        (wrong.half_gamma, oracle.langevin, sympy.Rational(1, 2)),
        (riemannian_kinetic, oracle.kinetic, 1),
        (wrong.kinetic_without_gamma, oracle.kinetic, 0),
    ],
    ids=lambda value: getattr(value, "name", None) or getattr(value, "__name__", str(value)),
)
def test_the_residual_is_sympys_on_a_concrete_potential_and_metric(found, make, gamma, dim):
    drift, squares, state = make(dim, gamma)
    energy = oracle.potential(dim) + sum(p**2 for p in state[dim:]) / 2
    expected = oracle.residual(drift, squares, -energy / oracle.T, state).subs(POINT)
    assert _of_the_package(found, dim, POINT) == Fraction(str(sympy.nsimplify(expected)))
    assert (expected == 0) == (gamma == 1)


@pytest.mark.power  # 0.6 s
def test_averages_of_the_generator_vanish_under_the_invariant_density_and_not_under_another():
    """int L f rho = 0 for polynomials f, by quadrature of U = theta^4/4 + theta^3/3 in the plane (theta, p)."""
    friction, temperature = mpmath.mpf(2), mpmath.mpf(3) / 2
    theta, p = sympy.symbols("theta p")

    def average(f, sign):
        generated = (
            p * sympy.diff(f, theta)
            - (theta**3 + theta**2 + float(friction) * p) * sympy.diff(f, p)
            + float(friction * temperature) * sympy.diff(f, p, 2)
        )
        function = sympy.lambdify((theta, p), generated, "mpmath")

        def inner(x, y):
            return function(x, y) * mpmath.exp(-(x**4 / 4 + x**3 / 3 + sign * y**2 / 2) / temperature)

        nodes = mpmath.linspace(-5, 5, 61), mpmath.linspace(-9, 9, 61)
        return mpmath.fsum(inner(x, y) for x in nodes[0] for y in nodes[1]) * 10 / 60 * 18 / 60

    # The trapezoidal rule converges geometrically here; what is cut off at p = 9 is exp(-27) times a polynomial below 1e4.
    for f in (theta**2, theta * p, p**2, p**3 + theta, theta**2 * p):
        assert abs(average(f, 1)) < 2e-8
    assert abs(average(p**2, 0.5)) > 1


def test_functions_of_the_state_are_differentiated_too():
    @dynamics(theta="vector", p="vector")
    def warped(theta, p, *, grad, T):
        s = sqrt(1 + dot(theta, theta))
        return (s * p, -s * grad(theta) + T * theta / s - s**2 * p), (0, T * s * s)

    @dynamics(theta="vector", p="vector")
    def hot(theta, p, *, grad):
        warp = exp(dot(theta, theta))
        return (warp * p, -warp * grad(theta)), (0, 0)

    assert stationarity_residual(warped).zero
    left = stationarity_residual(hot)
    assert not left.zero and "exp(theta1^2 + theta2^2)" in left.text and left.witness


def test_a_root_that_may_be_zero_is_refused_for_currents_may_jump_there():
    """Away from p = 0 a current (G, sign(p) G') exp(-|p|) has no divergence, and at p = 0 it has a source of 2 G'."""

    @dynamics(theta="vector", p="vector")
    def jumping(theta, p, *, grad, D):
        return (D * theta**2 / 2, D * theta * sqrt(p * p) / p - sqrt(p * p) / p), (0, 1)

    def laplace(theta, p):
        return -sqrt(dot(p, p))

    with pytest.raises(NotExpandableError, match="whose sign differs from state to state"):
        stationarity_residual(jumping, laplace, dim=1)


def test_what_cannot_be_told_from_zero_is_not_decided():
    @dynamics(theta="vector")
    def twice(theta, *, grad):
        square = dot(theta, theta)
        gap = exp(square + square**2) - exp(square) * exp(square**2)
        return -grad(theta) + gap * theta, 1

    found = stationarity_residual(twice)
    assert not found.zero and not found.decided


def test_a_density_of_another_state_and_a_missing_one_are_refused():
    @density(theta="vector")
    def marginal(theta, *, U):
        return -U(theta)

    with pytest.raises(DefinitionError, match="expected the same"):
        stationarity_residual(kinetic, marginal)

    @dynamics(theta="vector", q="vector")
    def unsaid(theta, q, *, grad):
        return (q, -grad(theta) - q), (0, 1)

    with pytest.raises(DefinitionError, match="states no density"):
        stationarity_residual(unsaid)
    assert stationarity_residual(unsaid, lambda theta, q, *, U: -U(theta) - dot(q, q) / 2).zero

    @dynamics(theta="vector")
    def ahead(theta, *, grad, T):
        return -grad(theta + 1), T

    with pytest.raises(NotExpandableError, match="a point that does not tend to theta"):
        stationarity_residual(ahead)


@each_row(
    ("rho", "expected"),
    [
        (lambda theta, p, *, U: -U(theta) - dot(p, p) / 2, True),
        (lambda theta, p, *, U: -U(theta) + dot(p, p) / 2, False),
        (lambda theta, p, *, U: -U(theta), False),
        (lambda theta, p, *, U: -U(theta) - dot(theta, theta) * dot(p, p) / 2, None),
        (lambda theta, p, *, U: -U(theta) - dot(p, p) ** 2, None),
        (lambda theta, p, *, U: U(theta) - dot(p, p) / 2, None),
    ],
)
def test_whether_a_density_can_be_normalised_is_said_where_its_quadratic_part_decides(rho, expected):
    assert stationarity_residual(kinetic, rho).integrable is expected
