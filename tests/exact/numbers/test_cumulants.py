"""Moments and cumulants against laws whose both are known."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from sgverify.exact.numbers.matrix_series import cumulants_from_moments, moments_from_cumulants, multi_indices


def test_multi_indices_count_monomials() -> None:
    assert multi_indices(2, 1, 2) == [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    assert len(multi_indices(3, 0, 4)) == math.comb(7, 3)


def test_a_poisson_law_has_equal_cumulants_and_touchard_moments() -> None:
    moments = moments_from_cumulants({(k,): Fraction(2) for k in range(1, 7)}, 1, 6, one=Fraction(1))
    # E N^k = sum_j S(k, j) 2^j, with Stirling numbers by their own recursion.
    stirling = {(0, 0): 1}
    for n, k in itertools.product(range(1, 7), range(8)):
        stirling[n, k] = k * stirling.get((n - 1, k), 0) + stirling.get((n - 1, k - 1), 0)
    for n in range(1, 7):
        assert moments[(n,)] == sum(stirling[n, k] * 2**k for k in range(7))


def test_a_gaussian_pair_follows_isserlis() -> None:
    covariance = {(2, 0): Fraction(2), (1, 1): Fraction(1, 3), (0, 2): Fraction(5)}
    moments = moments_from_cumulants(covariance, 2, 6, one=Fraction(1))
    assert moments[(2, 2)] == 2 * 5 + 2 * Fraction(1, 3) ** 2
    assert moments[(3, 1)] == 3 * 2 * Fraction(1, 3)
    assert moments[(6, 0)] == 15 * 2**3
    assert moments[(3, 2)] == 0


def test_the_two_directions_are_inverse() -> None:
    moments = {(0, 0, 0): Fraction(1)}
    for count, index in enumerate(multi_indices(3, 1, 4)):
        moments[index] = Fraction(count * count % 17 - 8, 3)
    back = moments_from_cumulants(cumulants_from_moments(moments, 3, 4), 3, 4, one=Fraction(1))
    assert back == moments
