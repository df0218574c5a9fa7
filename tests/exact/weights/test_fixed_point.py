"""theta*: closed forms, other solvers, and the mean field of the rules that run."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from sgverify.errors import ConfigurationError
from sgverify.exact.numbers.ball import number
from sgverify.exact.weights import fixed_point as engine
from sgverify.exact.weights.fixed_point import (
    Contour,
    constant_of,
    cumulated_weights,
    jacobian,
    mean_field,
    random_field,
    region_chances,
    slowest_decay,
    visited_weights,
)

MASSES = st.lists(st.integers(1, 1000), min_size=2, max_size=8)
POWERS = st.sampled_from([1, 2, 3, 5, Fraction(1, 2), Fraction(7, 5)])


def test_whole_numbers_solve_the_recursion_at_zeta_2() -> None:
    found = cumulated_weights([1, 2, 3, 4], 2)
    for i, weight in enumerate(found, start=1):
        assert weight.contains(number(Fraction(i, 4))) and float(weight.rad()) < 1e-40


@given(masses=MASSES)
@settings(max_examples=30)
def test_at_zeta_1_it_is_the_cumulated_mass(masses: list[int]) -> None:
    total = sum(masses)
    for weight, mass in zip(cumulated_weights(masses, 1), accumulate(masses), strict=True):
        assert weight.overlaps(number(Fraction(mass, total)))


@given(masses=MASSES, zeta=POWERS)
@settings(max_examples=40)
def test_the_mean_field_of_the_running_rules_vanishes_there(masses: list[int], zeta: Fraction) -> None:
    balls = [number(p) for p in masses]
    star = cumulated_weights(masses, zeta)
    field = mean_field(star, balls, zeta)
    assert all(h.contains(0) and float(h.rad()) < 1e-12 for h in field)
    assert all(a < b for a, b in pairwise(star))
    slowest, certain = slowest_decay(jacobian(star, balls, zeta))
    assert slowest < 0 and certain


@given(masses=MASSES, zeta=st.sampled_from([1, 2, 3]))
@settings(max_examples=20)
def test_the_mean_field_of_csgld_vanishes_at_the_masses(masses: list[int], zeta: int) -> None:
    total = sum(masses)
    shares = [Fraction(p, total) for p in masses]
    assert not any(mean_field(shares, shares, zeta, Contour(zeta)))
    untempered = Contour(1)
    roots = visited_weights(masses, zeta)
    assert all(h.contains(0) for h in mean_field(roots, [number(p) for p in masses], zeta, untempered))


@pytest.mark.parametrize("zeta", [0.5, 2.0, 5.0])
def test_it_is_what_a_shooting_solver_finds(zeta: float) -> None:
    masses = np.array([0.1, 0.25, 0.05, 0.4, 0.2])

    def ends(z: float) -> list[float]:
        weights = [(masses[0] / z) ** (1 / zeta)]
        for p in masses[1:]:
            weights.append(
                brentq(
                    lambda t, p=p: t - p / z * t ** (1 - zeta) - weights[-1],
                    weights[-1] * (1 + 1e-15),
                    1e6,
                    xtol=1e-15,
                )
            )
        return weights

    z = brentq(lambda z: ends(z)[-1] - 1, 1e-3, 1e6, xtol=1e-15)
    found = cumulated_weights([Fraction(repr(float(p))) for p in masses], zeta)
    assert [float(w) for w in found] == pytest.approx(ends(z), rel=1e-9)
    assert float(constant_of(found, masses.tolist(), zeta)) == pytest.approx(z, rel=1e-9)


def test_the_mean_field_is_the_average_of_sampled_fields() -> None:
    masses, weights = [0.2, 0.5, 0.3], [0.4, 0.6, 0.9]
    generator = np.random.default_rng(5)
    chances = np.array(region_chances(weights, masses, 2))
    drawn = generator.choice(3, size=200_000, p=chances) + 1
    rows = np.array([random_field(weights, j) for j in (1, 2, 3)])
    sampled = rows[drawn - 1]
    error = 6 * sampled.std(0) / np.sqrt(len(drawn))
    assert (np.abs(sampled.mean(0) - mean_field(weights, masses, 2)) < error + 1e-12).all()


def test_the_jacobian_is_that_of_differences() -> None:
    masses, weights, step = [0.2, 0.5, 0.3], [0.4, 0.6, 0.9], 1e-6
    exact = [[float(entry) for entry in row] for row in jacobian(weights, masses, 3)]
    for j in range(3):
        up, down = list(weights), list(weights)
        up[j] += step
        down[j] -= step
        slope = (np.array(mean_field(up, masses, 3)) - np.array(mean_field(down, masses, 3))) / (2 * step)
        assert slope == pytest.approx(np.array(exact)[:, j], abs=1e-8)


@pytest.mark.parametrize("masses, zeta, said", [([1, 0, 2], 1, "region 2"), ([1, 2], 0, "zeta=0")])
def test_what_has_no_fixed_point_is_refused(masses: list[int], zeta: int, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        cumulated_weights(masses, zeta)


def test_a_wrong_indicator_has_another_fixed_point(monkeypatch: pytest.MonkeyPatch) -> None:
    star = cumulated_weights([1, 2, 3], 2)
    monkeypatch.setattr(engine.weighting, "reached", lambda i, region: 1 * (i > region))
    assert not all(h.contains(0) for h in mean_field(star, [number(p) for p in (1, 2, 3)], 2))
