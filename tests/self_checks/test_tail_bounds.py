"""Bounds of tails: at the level for heavy tails and rare events, where p-values of normal theory are not, and not blind."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

from tests.self_checks.nulls import Nulls, bounded_nulls, mean_null, mean_tail, variance_null, variance_tail
from tests.self_checks.point_null import decide_point_null
from tests.self_checks.running_average_law import largest_kurtosis

LEVEL = 1e-6
RARE = 1 / 2000
Draw = Callable[[np.random.Generator, int], np.ndarray]


def outlier(rng: np.random.Generator, n: int) -> np.ndarray:
    """A datum that is hit once in 2000 times holds all the variance but a little."""
    hit = rng.random(n) < RARE
    return (100 * (hit - RARE) + 0.5 * rng.standard_normal(n)) / math.sqrt(1e4 * RARE * (1 - RARE) + 0.25)


def fourth_power(rng: np.random.Generator, n: int) -> np.ndarray:
    return (rng.standard_normal(n) ** 4 - 3) / math.sqrt(96)


def square(rng: np.random.Generator, n: int) -> np.ndarray:
    return (rng.standard_normal(n) ** 2 - 1) / math.sqrt(2)


def verdict(values: Draw, seed: int, chains: int, most: float | None, quadratic: bool = False) -> str:
    rng = np.random.default_rng(seed)

    def draw(n: int) -> Nulls:
        return bounded_nulls(("mean", "variance"), values(rng, n), 0.0, 1.0, most=most, quadratic=quadratic)

    return decide_point_null(draw, first=chains, level=LEVEL, margins=1.0).verdict


@pytest.mark.by_default("square-8-12.0-True", "fourth_power-128-6558.0-False")
@pytest.mark.parametrize(
    ("values", "chains", "most", "quadratic"),
    [
        (fourth_power, 128, largest_kurtosis(4), False),
        (fourth_power, 256, largest_kurtosis(4), False),
        (square, 8, 12.0, True),
        (square, 128, 12.0, True),
        (outlier, 256, None, False),
    ],
)
def test_no_false_alarm_where_normal_theory_raises_them(
    values: Draw, chains: int, most: float | None, quadratic: bool
) -> None:
    assert "violates" not in {verdict(values, seed, chains, most, quadratic) for seed in range(300)}


def test_normal_theory_does_raise_them() -> None:
    """What the bounds are there for: 256 chains miss the datum nine times in ten, and find no variance."""

    def alarm(seed: int) -> bool:
        rng = np.random.default_rng(seed)

        def draw(n: int) -> Nulls:
            values = outlier(rng, n)
            return Nulls.joined(
                mean_null("mean", values, 0.0, variance=1.0), variance_null("variance", values, 1.0)
            )

        return decide_point_null(draw, first=256, level=LEVEL, margins=1.0).verdict == "violates"

    assert np.mean([alarm(seed) for seed in range(20)]) > 0.5


@pytest.mark.by_default("64-outlier")
@pytest.mark.parametrize("values", [square, fourth_power, outlier])
@pytest.mark.parametrize("n", [64, 200])
def test_bounds_are_bounds_at_every_chance(values: Draw, n: int) -> None:
    """The kurtosis of each is exact here, so that the bounds are as small as they can be."""
    kurtosis = {square: 12.0, fourth_power: 204.0, outlier: 1 / RARE}[values] + 3
    rng = np.random.default_rng(7)
    rows = values(rng, 2000 * n).reshape(2000, n)
    means = np.array([mean_tail(row, quadratic=values is square) for row in rows])
    spreads = np.array([variance_tail(row**2, row**2, kurtosis) for row in rows])
    for chance in (0.3, 0.1, 0.01):
        for tails in (means, spreads):
            assert np.mean(tails <= chance) <= chance + 3 * math.sqrt(chance / 2000)


@pytest.mark.parametrize(("shift", "factor"), [(1.0, 1.0), (0.0, 2.0), (0.0, 0.5), (0.0, 0.0)])
@pytest.mark.parametrize("values", [square, lambda rng, n: rng.standard_normal(n)])
def test_margins_are_found(values: Draw, shift: float, factor: float) -> None:
    """A mean off by a standard deviation, noise of twice and half the amplitude, and chains that are all the same."""
    for seed in range(10):
        assert verdict(lambda r, n: shift + factor * values(r, n), seed, 256, 12.0, True) == "violates"


def test_without_a_kurtosis_shifts_and_excesses_are_found_and_a_lack_is_left_open() -> None:
    def scaled(shift: float, factor: float) -> Draw:
        return lambda rng, n: shift + factor * rng.standard_normal(n)

    assert verdict(scaled(1.0, 1.0), 1, 256, None) == "violates"
    assert verdict(scaled(0.0, 2.0), 1, 256, None) == "violates"
    assert verdict(scaled(0.0, 0.5), 1, 256, None) == "inconclusive"
    assert verdict(scaled(0.0, 1.0), 1, 256, None) == "conforms"


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_the_largest_kurtosis_is_that_of_no_polynomial_exceeded(degree: int) -> None:
    """By quadrature over random polynomials of one normal number, and of two for products."""
    nodes, weights = hermegauss(40)
    weights = weights / weights.sum()
    rng = np.random.default_rng(degree)
    x, y, w = nodes[:, None], nodes[None, :], np.outer(weights, weights)
    for _ in range(50):
        values = sum(
            rng.standard_normal() * x**i * y**j for i in range(degree + 1) for j in range(degree + 1 - i)
        )
        centred = values - float(np.sum(w * values))
        second = float(np.sum(w * centred**2))
        excess = float(np.sum(w * centred**4)) / second**2 - 3
        assert excess <= largest_kurtosis(degree) + 1e-9


def test_what_is_not_known_of_a_mean_is_given_away() -> None:
    values = 0.5 + 0.1 * np.random.default_rng(1).standard_normal(256)
    assert mean_tail(values, quadratic=True) < 1e-6
    assert mean_tail(values, bound=0.7) == mean_tail(values, bound=0.7, quadratic=True) == 1
