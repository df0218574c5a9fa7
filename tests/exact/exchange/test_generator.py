"""The law of two replicas on a grid against closed forms, dense matrices and plain quantiles."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg
from flint import arb

from sgverify.exact.exchange.acceptance import expected_minimum, mean_chance
from sgverify.exact.exchange.generator import (
    Cells,
    Replicas,
    graded_edges,
    wasserstein_bounds,
    wasserstein_of_marginals,
)
from sgverify.testing.planting import edited_source

TAUS = (0.6, 2.0)


def double_well(x):
    return 2 * (x**2 - 1) ** 2 + 0.3 * x


def metropolis(u1, u2):
    return np.exp(np.minimum(0.0, (1 / TAUS[0] - 1 / TAUS[1]) * (u1 - u2)))


def two(count=14, r=0.7, chance=metropolis, energy=double_well, reach=2.3):
    return Replicas(Cells(np.linspace(-reach, reach, count + 1), energy), *TAUS, r, chance)


def test_a_quadratic_replica_has_the_gap_of_its_curvature_at_every_temperature():
    cells = Cells(np.linspace(-12, 12, 601), lambda x: 1.5 * x**2)
    assert cells.gap(1.0) == pytest.approx(3.0, rel=5e-3)
    assert cells.gap(4.0) == pytest.approx(3.0, rel=5e-3)


def test_the_gap_is_that_of_the_dense_generator():
    replicas = two()
    values = np.sort(-scipy.linalg.eigvals(replicas.generator.toarray()).real)
    assert values[0] == pytest.approx(0, abs=1e-10) and replicas.gap() == pytest.approx(values[1], rel=1e-9)


def test_without_swaps_the_gap_is_the_smaller_one_of_the_two():
    replicas = two(r=0.0)
    assert replicas.gap() == pytest.approx(min(replicas.cells.gap(tau) for tau in TAUS), rel=1e-9)


def test_the_gap_never_falls_with_the_swapping_rate():
    gaps = [two(r=r).gap() for r in (0, 0.01, 0.1, 1, 10, 100)]
    assert all(a < b for a, b in itertools.pairwise(gaps)) and gaps[-1] > 2 * gaps[0]


def test_the_joint_gibbs_law_is_invariant_and_the_dirichlet_form_that_of_equation_2():
    replicas, f = two(), np.random.default_rng(1).normal(size=14 * 14)
    assert np.abs(replicas.law @ replicas.generator).max() < 1e-12
    assert np.abs(replicas.generator.sum(axis=1)).max() < 1e-9
    assert replicas.unbalanced < 1e-13
    left, right = replicas.dirichlet(f)
    assert left == pytest.approx(right, rel=1e-12)
    symmetric = (f.reshape(14, 14) + f.reshape(14, 14).T).ravel()
    assert two(r=50.0).dirichlet(symmetric)[1] == pytest.approx(two(r=0.0).dirichlet(symmetric)[1], rel=1e-12)


def test_swaps_with_the_untruncated_rate_are_seen_as_unbalanced():
    assert two(chance=lambda a, b: np.exp((1 / TAUS[0] - 1 / TAUS[1]) * (a - b))).unbalanced > 1e-3


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("here.reshape(n, n).T.ravel()", "np.roll(here, 1)"),
        ("moves + jumps - scipy.sparse.diags_array(rates)", "moves + jumps"),
        ("rates = self.intensity * self.swaps.ravel()", "rates = self.intensity * self.swaps.T.ravel()"),
    ],
)
def test_a_wrong_jump_is_seen_in_balance_or_in_the_dirichlet_form(was, now):
    with edited_source("sgverify.exact.exchange.generator:Replicas.generator", ((was, now),)):
        replicas = two()
        f = np.sin(1.0 + np.arange(14 * 14))
        left, right = replicas.dirichlet(f)
        assert replicas.unbalanced > 1e-6 or abs(left - right) > 1e-6 * abs(right)


def test_the_transient_law_is_the_matrix_exponential():
    replicas = two(10)
    start = np.zeros(100)
    start[42] = 1.0
    times = np.array([0.0, 0.3, 2.0])
    dense = replicas.generator.toarray()
    for found, time in zip(replicas.transient(start, times), times, strict=True):
        assert np.allclose(found, start @ scipy.linalg.expm(time * dense), atol=1e-9)


def test_w2_of_two_normals_on_fine_cells_is_the_closed_form():
    cells = Cells(np.linspace(-12, 14, 2001), lambda x: x**2)

    def normal(m, s):
        p = np.exp(-((cells.middles - m) ** 2) / (2 * s * s))
        return p / p.sum()

    found = wasserstein_of_marginals(cells, normal(0.0, 1.0), normal(2.0, 1.5))
    assert found == pytest.approx(np.sqrt(4 + 0.25), rel=1e-3)


def test_w2_skips_empty_cells():
    cells = Cells(np.array([0.0, 1.0, 2.0, 3.0]), lambda x: x)
    assert wasserstein_of_marginals(cells, np.array([1.0, 0, 0]), np.array([0, 0, 1.0])) == pytest.approx(2.0)
    half = wasserstein_of_marginals(cells, np.array([0.5, 0, 0.5]), np.array([0.5, 0.5, 0.0]))
    assert half == pytest.approx(np.sqrt(0.5))


def test_the_bounds_of_the_joint_distance_hold_the_known_one_of_a_shift():
    replicas = two(60, 0.0, energy=lambda x: x**2, reach=6.0)
    middles = replicas.cells.middles
    shifted = np.exp(-((middles - 0.5) ** 2) / TAUS[0])
    law = np.outer(shifted / shifted.sum(), replicas.cells.law(TAUS[1])).ravel()
    below, above = wasserstein_bounds(replicas, law)
    assert below == pytest.approx(0.5, rel=1e-2) and above > 0.5


def test_no_law_is_lost_to_overflow_where_the_colder_replica_never_is():
    edges = graded_edges((-0.1, 0.1), (-30.0, 30.0), 40)
    cells = Cells(edges, lambda x: 5e3 * x**2)
    assert np.isfinite(cells.motion(1.0).toarray()).all()
    assert (np.diff(edges) > 0).all() and np.sum(abs(edges) < 0.1) > 15


def test_the_displacement_of_a_quadratic_is_that_of_an_ornstein_uhlenbeck_process():
    cells = Cells(np.linspace(-8, 8, 401), lambda x: x**2 / 2)
    for tau, time in ((1.0, 1e-3), (0.5, 0.3), (1.0, 50.0)):
        assert cells.displacement(tau, time) == pytest.approx(2 * tau * (1 - np.exp(-time)), rel=1e-3)


def test_the_mean_chance_in_float64_is_that_in_balls():
    means = np.array([-300.0, -5.0, -0.1, 0.0, 2.0, 400.0])
    for variance in (1e-6, 1.0, 900.0):
        balls = [float(expected_minimum(arb(float(mean)), arb(variance))) for mean in means]
        assert mean_chance(means, variance) == pytest.approx(balls, rel=1e-10)
