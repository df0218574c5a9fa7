"""State-dependent diffusion on power series: orders for every smooth metric, held against sympy on a concrete one."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

import tests.exact.stationarity.oracle as oracle
from sgverify.errors import NotExpandableError
from sgverify.exact.readings.formula import plant
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.operators import generator_of, transition_of
from sgverify.schemes import dynamics, riemannian_kinetic, riemannian_langevin, scheme, sqrt
from sgverify.schemes.catalogue.in_metric import sgrhmc_euler, sgrld_euler

EULERS = (sgrld_euler, sgrhmc_euler)
POINT = {
    **dict(zip((*oracle.COORDINATES, *oracle.MOMENTA), map(Fraction, (1, -2, 3, 2, 1, -1)), strict=True)),
    oracle.T: Fraction(4),
    oracle.D: Fraction(9),
}


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("euler", EULERS, ids=lambda found: found.name)
def test_the_euler_schemes_are_of_first_order_for_every_smooth_potential_and_metric(euler, dim):
    found = local_order(euler, dim)
    assert (found.order, found.averaged_order) == (1, 1)
    assert "B" in found.given_minibatch.text


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize(
    ("euler", "was", "now"),
    [
        (sgrld_euler, "T*metric.divergence(theta) - ", "-"),
        (sgrld_euler, "T*metric.divergence(theta)", "T*metric.divergence(theta)/2"),
        (sgrld_euler, "metric.inverse(theta", "metric.root(theta"),
        (sgrhmc_euler, "T*metric.root_divergence(theta) - ", "-"),
        (sgrhmc_euler, "metric.transposed(theta, grad(theta))", "grad(theta)"),
    ],
)
def test_a_missing_or_wrong_correction_is_no_integrator_at_all(euler, was, now, dim):
    assert local_order(plant(euler, was, now), dim).order == 0


def test_the_transpose_of_the_root_is_seen_from_two_dimensions_on():
    wrong = plant(sgrhmc_euler, "metric.transposed(theta, grad(theta))", "metric.root(theta, grad(theta))")
    assert [local_order(wrong, dim).order for dim in (1, 2)] == [1, 0]


def test_a_second_order_scheme_reads_the_metric_at_other_points_by_taylors_formula():
    """Without noise in it, the midpoint rule for d theta = B(theta) theta dt is of second order, Euler's of first."""

    @dynamics(theta="vector")
    def flow(theta, *, metric):
        return metric.root(theta, theta), 0

    @scheme(flow)
    def midpoint(theta, *, h, metric):
        half = theta + h / 2 * metric.root(theta, theta)
        return theta + h * metric.root(half, half)

    @scheme(flow)
    def euler(theta, *, h, metric):
        return theta + h * metric.root(theta, theta)

    assert [local_order(found, 2).order for found in (midpoint, euler)] == [2, 1]


def _number(value):
    return Fraction(str(sympy.nsimplify(value)))


def _at_the_jet(polynomial, ring, dim):
    """A ring element where its symbols are the derivatives of the oracle's potential and metric at a point."""
    values = {}
    for (name, i), symbol in zip(
        ring.coordinates, (*oracle.COORDINATES[:dim], *oracle.MOMENTA[:dim]), strict=False
    ):
        values[ring.position(name, i)] = POINT[symbol]
    for position, (family, member, index) in ring.jets.items():
        function = oracle.potential(dim) if family == "U" else oracle.root(dim)[divmod(member, dim)]
        for symbol, times in zip(oracle.COORDINATES, index, strict=False):
            function = sympy.diff(function, symbol, times)
        values[position] = _number(function.subs(POINT))
    for name, symbol in (("T", oracle.T), ("D", oracle.D)):
        if name in ring.parameters:
            values[ring.position("root", name)] = Fraction(int(sympy.sqrt(POINT[symbol])))
    total = Fraction(0)
    for exponents, factor in ring.reduce(polynomial).to_dict().items():
        term = Fraction(str(factor))
        for position, power in enumerate(exponents):
            if power:
                term *= values[position] ** int(power)
        total += term
    return total


def _ring(dynamics_, dim, draws):
    return Ring(
        dim,
        dynamics_.shapes,
        dynamics_.parameters,
        depth=3,
        draws=draws,
        minibatches=1,
        cap=6,
        metric=True,
    )


@pytest.mark.by_default("found0-langevin-1", "found0-langevin-2", "found1-kinetic-1")
@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize(
    ("found", "make"), [(riemannian_langevin, oracle.langevin), (riemannian_kinetic, oracle.kinetic)]
)
def test_the_generator_is_sympys_drift_and_diffusion_on_a_concrete_metric(found, make, dim):
    ring = _ring(found, dim, 0)
    operator = generator_of(found, ring)
    drift, squares, state = make(dim)
    size = len(state)
    for i in range(size):
        unit = tuple(int(k == i) for k in range(size))
        assert _at_the_jet(operator[unit], ring, dim) == _number(drift[i].subs(POINT))
        for j in range(i, size):
            pair = tuple((k == i) + (k == j) for k in range(size))
            expected = squares[i, j] * (1 if i == j else 2)
            assert _at_the_jet(operator.get(pair, ring.zero), ring, dim) == _number(
                sympy.sympify(expected).subs(POINT)
            )


def test_the_moments_of_an_euler_step_are_those_of_its_gaussian_increment():
    """E D_i = h F_i, E D_i D_j = h 2 a_ij + h^2 F_i F_j, read off the operator of the step."""
    dim = 2
    ring = _ring(riemannian_langevin, dim, 1)
    transition = transition_of(sgrld_euler, ring, 4)
    drift, squares, _ = oracle.langevin(dim)
    f = [_number(entry.subs(POINT)) for entry in drift]
    a = [[_number(squares[i, j].subs(POINT)) for j in range(dim)] for i in range(dim)]
    first, second = transition.at(2), transition.at(4)
    for i in range(dim):
        for j in range(i, dim):
            index = tuple((k == i) + (k == j) for k in range(dim))
            share = Fraction(1, 2) if i == j else 1
            assert _at_the_jet(first[index], ring, dim) == share * 2 * a[i][j]
            assert _at_the_jet(second[index], ring, dim) == share * f[i] * f[j]
    fourth = _at_the_jet(second[(4, 0)], ring, dim)
    assert fourth == Fraction(3, 24) * (2 * a[0][0]) ** 2


def test_a_metric_far_from_theta_is_refused():
    @scheme(riemannian_langevin)
    def ahead(theta, *, h, noise, metric, T):
        return theta + sqrt(2 * T * h) * metric.root(theta + 1, noise())

    with pytest.raises(NotExpandableError, match="the metric at a point that does not tend to theta"):
        local_order(ahead, 1)
