"""Distances of Gaussian laws against closed forms, scipy and mpmath, down to laws that nearly agree."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
import scipy.linalg
from flint import fmpq, fmpq_mat

from sgverify.exact.chain.ergodic import (
    Moments,
    covariance_error,
    leading_covariance_error,
    leading_wasserstein,
    wasserstein,
)
from sgverify.exact.numbers.ball import column, matrix, refine


def law(mean: list, covariance: list) -> Moments:
    return Moments(column(mean), matrix(covariance))


def exact(value: float | Fraction) -> fmpq:
    number = Fraction(value)
    return fmpq(number.numerator, number.denominator)


def fractions(mean: list, covariance: list) -> Moments:
    return Moments(
        fmpq_mat([[exact(v)] for v in mean]), fmpq_mat([[exact(v) for v in row] for row in covariance])
    )


def random_law(size: int, seed: int) -> tuple[list, list]:
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(size, size + 2))
    return rng.normal(size=size).tolist(), (half @ half.T).tolist()


def trace_formula(one: tuple[list, list], two: tuple[list, list]) -> float:
    """W2 by the formula with square roots, in 80 digits: its cancellation costs at most 40 of them here."""
    with mpmath.workdps(80):
        (m1, s1), (m2, s2) = ((mpmath.matrix(m), mpmath.matrix(s)) for m, s in (one, two))
        half = mpmath.sqrtm(s2)
        cross = mpmath.sqrtm(half * s1 * half)
        square = sum((a - b) ** 2 for a, b in zip(m1, m2, strict=True))
        square += sum(s1[i, i] + s2[i, i] - 2 * cross[i, i] for i in range(s1.rows))
        return float(mpmath.sqrt(square))


def test_one_dimension_is_the_distance_of_means_and_of_standard_deviations() -> None:
    found = refine(lambda bits: wasserstein(law([1], [[4]]), law([Fraction(1, 2)], [[Fraction(1, 9)]])))
    assert found.value == pytest.approx(math.hypot(0.5, 2 - 1 / 3), rel=1e-14)
    relative = refine(lambda bits: covariance_error(law([1], [[4]]), law([0], [[Fraction(1, 9)]])))
    assert relative.value == pytest.approx(35, rel=1e-14)


@pytest.mark.parametrize("size", [2, 3, 6])
def test_random_laws_agree_with_scipy(size: int) -> None:
    (m1, s1), (m2, s2) = random_law(size, size), random_law(size, size + 10)
    half = np.real(scipy.linalg.sqrtm(np.array(s2)))
    cross = np.real(scipy.linalg.sqrtm(half @ np.array(s1) @ half))
    square = np.sum((np.array(m1) - m2) ** 2) + np.trace(np.array(s1) + s2 - 2 * cross)
    found = refine(lambda bits: wasserstein(law(m1, s1), law(m2, s2)))
    assert found.value == pytest.approx(math.sqrt(square), rel=1e-9)
    inverse = np.linalg.inv(half)
    relative = refine(lambda bits: covariance_error(law(m1, s1), law(m2, s2)))
    expected = np.linalg.norm(inverse @ (np.array(s1) - s2) @ inverse)
    assert relative.value == pytest.approx(expected, rel=1e-9)
    assert max(found.relative_error, relative.relative_error) <= 1e-12


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 1e-15])
def test_nearly_equal_laws_lose_no_digits(gap: float) -> None:
    """One off-diagonal entry is off by `gap`: variances, and so every theta_i^2, are as they should be."""
    (mean, spread), shift = random_law(3, 5), Fraction(gap)
    near = [[Fraction(v) for v in row] for row in spread]
    near[0][2] += shift
    near[2][0] += shift
    found = refine(lambda bits: wasserstein(law(mean, near), law(mean, spread)))
    with mpmath.workdps(80):
        as_given = [[mpmath.mpf(v.numerator) / v.denominator for v in row] for row in near]
    assert found.value == pytest.approx(trace_formula((mean, as_given), (mean, spread)), rel=1e-12)
    assert found.value > 0 and found.relative_error <= 1e-6


def test_equal_laws_have_no_distance() -> None:
    mean, spread = random_law(3, 5)
    for distance in (wasserstein, covariance_error):
        found = refine(lambda bits, distance=distance: distance(law(mean, spread), law(mean, spread)))
        assert found.vanishes and found.value == 0.0


def test_the_distance_is_symmetric_and_a_metric() -> None:
    a, b, c = (random_law(2, seed) for seed in (1, 2, 3))
    d = {
        (i, j): refine(lambda bits, x=x, y=y: wasserstein(law(*x), law(*y))).value
        for i, x in enumerate((a, b, c))
        for j, y in enumerate((a, b, c))
        if i != j
    }
    assert all(d[i, j] == pytest.approx(d[j, i], rel=1e-12) for i, j in d)
    assert d[0, 2] <= d[0, 1] + d[1, 2]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_leading_coefficients_are_the_limits_of_the_distances(size: int) -> None:
    mean, spread = random_law(size, 20 + size)
    slope, bent = random_law(size, 40 + size)
    truth, error = fractions(mean, spread), fractions(slope, bent)
    h = Fraction(1, 10**12)
    moved = Moments(truth.mean + error.mean * exact(h), truth.covariance + error.covariance * exact(h))
    for distance, leading in (
        (wasserstein, leading_wasserstein),
        (covariance_error, leading_covariance_error),
    ):
        near = refine(lambda bits, distance=distance: distance(moved.in_balls, truth.in_balls))
        with flint.ctx.workprec(256):
            limit, in_balls = leading(error, truth), leading(error.in_balls, truth.in_balls)
        # The next term is smaller by h times the condition number.
        assert near.value / float(h) == pytest.approx(float(limit.mid()), rel=1e-8)
        assert float(in_balls.mid()) == pytest.approx(float(limit.mid()), rel=1e-15)


def test_the_relative_error_of_a_covariance_forgets_units() -> None:
    scales = [1e-3, 1.0, 1e3]
    (mean, one), (_, two) = random_law(3, 1), random_law(3, 2)

    def rescaled(rows: list) -> list:
        return [[Fraction(rows[i][j]) * exact_scale(i) * exact_scale(j) for j in range(3)] for i in range(3)]

    def exact_scale(i: int) -> Fraction:
        return Fraction(scales[i])

    plain = refine(lambda bits: covariance_error(law(mean, one), law(mean, two)))
    other = refine(lambda bits: covariance_error(law(mean, rescaled(one)), law(mean, rescaled(two))))
    assert plain.value == pytest.approx(other.value, rel=1e-14)
