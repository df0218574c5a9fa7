"""The rules of adaptively weighted samplers in exact, floating and array arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgverify.errors import ConfigurationError
from sgverify.schemes.composites.adaptation import Partition
from sgverify.schemes.composites.composite import (
    adapted,
    importance,
    log_importance,
    log_psi,
    multiplier,
    omega_of,
    random_field,
    reached,
    region_below,
    region_of,
    visited,
)

ENERGIES = st.floats(-5, 25, allow_nan=False)


@given(ENERGIES | st.sampled_from([0.0, 2.5, 5.0, 20.0, math.inf, -math.inf]))
def test_region_is_the_one_whose_right_closed_interval_holds_the_energy(energy: float) -> None:
    partition = Partition.equal(0.0, 20.0, 8)
    lows = (-math.inf, *partition.inner)
    highs = (*partition.inner, math.inf)
    (wanted,) = [i + 1 for i in range(8) if lows[i] < energy <= highs[i] or (i == 0 and energy == -math.inf)]
    assert region_of(energy, partition.inner) == wanted == partition.region(energy)
    assert region_of(np.array([energy]), partition.inner).tolist() == [wanted]


def test_an_energy_on_an_edge_belongs_to_the_region_below_it() -> None:
    partition = Partition.of([0.0, 1.0, 3.0, 4.0])
    assert [region_of(u, partition.inner) for u in (1.0, math.nextafter(1.0, 2.0), 3.0, 99.0, -99.0)] == [
        1,
        2,
        2,
        3,
        1,
    ]
    assert partition.widths == (1.0, 2.0, 1.0)


def test_the_first_region_has_none_below_it_and_so_its_multiplier_is_one() -> None:
    assert [region_below(j) for j in (1, 2, 7)] == [1, 1, 6]
    assert multiplier(0.3, 0.3, zeta=5, tau=20, width=0.5) == 1
    assert multiplier(0.5, 0.25, zeta=3, tau=2, width=0.5) == pytest.approx(1 + 12 * math.log(2))


def test_the_random_field_of_awsgld_vanishes_on_average_at_cumulated_masses() -> None:
    # zeta = 1: under theta(J)^-1 p_J the mean field at the cumulated masses is 0, exactly.
    masses = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    theta = [Fraction(1, 2), Fraction(5, 6), Fraction(1)]
    for i in (1, 2, 3):
        terms = (
            masses[j - 1]
            / importance(theta[j - 1], zeta=1)
            * random_field(theta[j - 1], reached(i, j), theta[i - 1])
            for j in (1, 2, 3)
        )
        assert sum(terms, Fraction(0)) == 0


@pytest.mark.parametrize("zeta", [1, 2])
def test_the_random_field_of_csgld_vanishes_on_average_at_the_masses(zeta: int) -> None:
    theta = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    for i in (1, 2, 3):
        terms = (
            theta[j - 1]
            / importance(theta[j - 1], zeta=zeta)
            * random_field(importance(theta[j - 1], zeta=zeta), visited(i, j), theta[i - 1])
            for j in (1, 2, 3)
        )
        assert sum(terms, Fraction(0)) == 0


def test_an_update_of_csgld_keeps_the_sum_of_the_weights() -> None:
    theta = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    pull = importance(theta[1], zeta=3)
    new = [adapted(w, Fraction(1, 7), random_field(pull, visited(i + 1, 2), w)) for i, w in enumerate(theta)]
    assert sum(new) == 1 and new[1] > theta[1]


def test_step_sizes_decrease_from_the_printed_start() -> None:
    omegas = [omega_of(k, scale=100, alpha=0.75, offset=1000) for k in range(1, 50)]
    assert omegas[0] == 100 / 1001
    assert all(a > b for a, b in itertools.pairwise(omegas))


def test_the_multiplier_is_the_derivative_of_the_energy_that_psi_adds() -> None:
    # U + zeta tau log Psi(U) has the slope `multiplier` in U, inside a region.
    below, here, width, lower, zeta, tau = 0.4, 0.9, 0.5, 2.0, 1.7, 3.0

    def added(u: float) -> float:
        return u + zeta * tau * log_psi(here, below, energy=u, lower=lower, width=width)

    for u in (2.1, 2.4):
        slope = (added(u + 1e-4) - added(u - 1e-4)) / 2e-4
        assert slope == pytest.approx(multiplier(here, below, zeta=zeta, tau=tau, width=width), rel=1e-9)
    assert multiplier(here, below, zeta=zeta, tau=tau, width=math.inf) == 1
    assert log_psi(here, below, energy=2.5, lower=lower, width=width) == pytest.approx(math.log(here))


def test_importance_at_temperature_one_is_the_paper_s() -> None:
    theta, u, zeta, tau = 0.7, 3.0, 5, 20
    found = log_importance(math.log(theta), u, zeta=zeta, tau=tau, temperature=1)
    assert math.exp(found) == pytest.approx(theta**5 * math.exp(-u) ** (1 - 1 / tau))
    assert log_importance(Fraction(0), Fraction(9), zeta=5, tau=2, temperature=2) == 0


@pytest.mark.parametrize("edges", [[0.0, 1.0], [0.0, 1.0, 1.0], [0.0, math.nan, 2.0], [0.0, 1.0, math.inf]])
def test_edges_that_make_no_regions_are_refused(edges: list[float]) -> None:
    with pytest.raises(ConfigurationError, match=r"partition\.edges"):
        Partition.of(edges)


@pytest.mark.parametrize(("low", "high", "bins"), [(1.0, 1.0, 3), (0.0, 1.0, 1), (0.0, math.inf, 4)])
def test_a_range_that_makes_no_regions_is_refused(low: float, high: float, bins: int) -> None:
    with pytest.raises(ConfigurationError, match=r"partition\."):
        Partition.equal(low, high, bins)
