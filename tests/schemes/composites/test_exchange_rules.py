"""The rules of replica exchange against what they are to do, in exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sgverify.schemes.composites.composite import (
    best_coefficient,
    inverse_gap,
    log_swap_rate,
    reduced_energy,
    smoothed,
)

TAUS = {"tau_1": Fraction(1, 2), "tau_2": Fraction(3)}


def test_the_swap_rate_is_the_ratio_of_the_joint_gibbs_weights():
    first, second = Fraction(7, 3), Fraction(-2, 5)
    here = -first / TAUS["tau_1"] - second / TAUS["tau_2"]
    swapped = -second / TAUS["tau_1"] - first / TAUS["tau_2"]
    assert log_swap_rate(first, second, **TAUS, variance=0, F=1) == swapped - here


def test_the_correction_takes_away_the_mean_of_the_exponential_at_factor_two():
    # E exp(g x - g^2 V/2) = 1 for a normal x of variance V.
    gap = inverse_gap(**TAUS)
    assert log_swap_rate(0, 0, **TAUS, variance=Fraction(4), F=2) == -(gap**2) * 4 / 2


def test_the_reduced_energy_is_unbiased_with_every_coefficient_and_exact_at_its_control():
    here, there = np.array([1.0, 5.0, 3.0]), np.array([2.0, 4.0, 9.0])
    for coefficient in (-1, Fraction(1, 3), 2.5):
        assert reduced_energy(
            here, there, there.mean(), coefficient=float(coefficient)
        ).mean() == pytest.approx(3.0)
    assert (reduced_energy(here, here, here.mean()) == here.mean()).all()


def test_the_best_coefficient_leaves_one_less_the_squared_correlation():
    here = [Fraction(x) for x in (1, 5, 3, 8)]
    there = [Fraction(x) for x in (2, 4, 9, 10)]

    def covariance(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True)) / 4 - sum(a) * sum(b) / 16

    best = best_coefficient(covariance(here, there), covariance(there, there))

    def left(c):
        values = [
            reduced_energy(x, y, sum(there) / 4, coefficient=c) for x, y in zip(here, there, strict=True)
        ]
        return covariance(values, values)

    squared_correlation = covariance(here, there) ** 2 / covariance(here, here) / covariance(there, there)
    assert left(best) == (1 - squared_correlation) * covariance(here, here)
    assert all(left(best) < left(best + change) for change in (Fraction(-1, 100), Fraction(1, 100)))


def test_smoothing_forgets_at_the_stated_rate():
    assert smoothed(Fraction(5), Fraction(1), gamma=Fraction(1, 4)) == 4
