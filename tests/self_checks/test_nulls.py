"""p-values of means, variances and correlations against scipy, and their levels where values are not normal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sgverify.errors import UserError
from tests.self_checks.nulls import Nulls, correlation_null, excess_kurtosis, mean_null, variance_null

RNG = np.random.default_rng(3)
SYMMETRIC = np.concatenate([x := RNG.standard_normal(40), -x]) + 1.5


def test_a_mean_is_students_or_normal_where_values_are_not_skewed() -> None:
    assert mean_null("m", SYMMETRIC, 1.3).p_values[0] == pytest.approx(
        stats.ttest_1samp(SYMMETRIC, 1.3).pvalue
    )
    known = mean_null("m", SYMMETRIC, 1.3, variance=2.0)
    z = 0.2 / math.sqrt(2.0 / 80)
    assert known.p_values[0] == pytest.approx(2 * stats.norm.sf(z))
    assert (known.deviations[0], known.errors[0]) == (pytest.approx(0.2), pytest.approx(math.sqrt(2 / 80)))


def test_a_bound_of_what_is_expected_is_given_away() -> None:
    assert mean_null("m", SYMMETRIC, 1.3, bound=0.25).p_values[0] == 1
    assert mean_null("m", SYMMETRIC, 1.3, bound=0.1).deviations[0] == pytest.approx(0.1)


@pytest.mark.parametrize("known", [True, False])
def test_skewness_is_allowed_for(known: bool) -> None:
    """Means of 20 exponentials at a two-sided level of 1 %: a plain t errs 3 %, and a plain z 1.5 % of the time."""
    values = np.random.default_rng(4).exponential(size=(4000, 20))
    level = 0.01
    corrected = sum(
        mean_null("m", row, 1.0, variance=1.0 if known else None).p_values[0] <= level for row in values
    )
    z = (values.mean(1) - 1) * math.sqrt(20)
    plain = (2 * stats.norm.sf(abs(z)) if known else stats.ttest_1samp(values, 1.0, axis=1).pvalue) <= level
    print(corrected / 4000, plain.mean())
    assert corrected / 4000 < plain.mean()
    assert corrected / 4000 < 1.6 * level + 3 * math.sqrt(level / 4000)


def test_a_variance_is_chi_square_where_values_are_normal() -> None:
    flat = np.linspace(-1, 1, 50)  # kurtosis below the normal law's is not used
    found = variance_null("v", flat, 0.5)
    statistic = 49 * flat.var(ddof=1) / 0.5
    assert excess_kurtosis(flat) < 0
    assert found.p_values[0] == pytest.approx(
        2 * min(stats.chi2.cdf(statistic, 49), stats.chi2.sf(statistic, 49))
    )
    assert found.deviations[0] == pytest.approx(math.log(flat.var(ddof=1) / 0.5))


def test_a_bound_of_the_expected_variance_is_given_away() -> None:
    sampled = SYMMETRIC.var(ddof=1)
    assert variance_null("v", SYMMETRIC, 1.5 * sampled, bound=0.6 * sampled).p_values[0] == pytest.approx(
        1, abs=0.1
    )
    near = variance_null("v", SYMMETRIC, 2.0 * sampled, bound=0.5 * sampled)
    assert near.p_values == variance_null("v", SYMMETRIC, 1.5 * sampled).p_values


def test_heavy_tails_of_a_variance_are_allowed_for() -> None:
    values = np.random.default_rng(5).laplace(size=(2000, 200))
    level = 0.02
    hits = np.mean([variance_null("v", row, 2.0).p_values[0] <= level for row in values])
    chi = stats.chi2(199)
    statistic = 199 * values.var(axis=1, ddof=1) / 2.0
    plain = np.mean(2 * np.minimum(chi.cdf(statistic), chi.sf(statistic)) <= level)
    print(hits, plain)
    assert hits < 2.5 * level < plain


def test_identical_values_have_no_variance() -> None:
    found = variance_null("v", np.full(10, 3.0), 1.0)
    assert found.p_values[0] == 0 and found.deviations[0] == -math.inf


def test_a_correlation_is_pearsons() -> None:
    one, other = RNG.standard_normal((2, 60))
    found = correlation_null("r", one, other + 0.3 * one)
    r, p = stats.pearsonr(one, other + 0.3 * one)
    assert (found.deviations[0], found.p_values[0]) == (pytest.approx(r), pytest.approx(p))
    assert correlation_null("r", one, -2 * one).p_values[0] == 0


def test_mistakes_are_named() -> None:
    with pytest.raises(UserError, match="name of its own"):
        Nulls.joined(mean_null("m", SYMMETRIC, 0.0), mean_null("m", SYMMETRIC, 0.0))
    with pytest.raises(UserError, match="finite"):
        mean_null("m", [1.0, math.nan], 0.0)
    with pytest.raises(UserError, match="expected a positive one"):
        variance_null("v", SYMMETRIC, 0.0)
    with pytest.raises(UserError, match="expected a positive one"):
        variance_null("v", SYMMETRIC, 1.0, bound=2.0)
    with pytest.raises(UserError, match="that vary"):
        correlation_null("r", SYMMETRIC, np.ones(80))
    with pytest.raises(UserError, match="chance between 0 and 1"):
        Nulls.of("x", 0.0, 1.0, math.nan)


def test_a_known_kurtosis_only_ever_adds_doubt() -> None:
    """Rare events that a sample misses leave too small a variance; a law nearly all at 0 is no reason to reject either."""
    values = np.random.default_rng(5).standard_normal(256)
    alone = variance_null("v", values, 4.0)
    assert alone.smallest < 1e-6
    assert variance_null("v", values, 4.0, kurtosis=1000.0).smallest > 1e-2
    for kurtosis in (0.0, 50.0, 1e12):
        assert (
            variance_null("v", values, 0.8, kurtosis=kurtosis).smallest
            >= variance_null("v", values, 0.8).smallest
        )
