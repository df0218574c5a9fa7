"""Least squares against normal equations written out, and its errors against simulated chains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import f
from statsmodels.regression.linear_model import OLS

from sgverify.errors import UserError
from sgverify.rates.fit import fit_terms
from sgverify.rates.sample import Sample

H = 2.0 ** -np.arange(5)
X = np.stack([H, H**2, H**3], axis=1)
Y = np.array([1.02, 0.24, 0.07, 0.011, 0.009])
SE = np.array([0.02, 0.01, 0.01, 0.004, 0.002])


def correlated(scale: np.ndarray) -> np.ndarray:
    """Correlations 0.9^|i - j|."""
    lags = np.abs(np.subtract.outer(np.arange(len(scale)), np.arange(len(scale))))
    return np.outer(scale, scale) * 0.9**lags


@pytest.mark.parametrize("covariance", [np.diag(SE**2), correlated(SE)])
def test_estimates_solve_the_normal_equations(covariance: np.ndarray) -> None:
    inverse = np.linalg.inv(covariance)
    information = X.T @ inverse @ X
    expected = np.linalg.solve(information, X.T @ inverse @ Y)
    residual = Y - X @ expected
    fit = fit_terms(Sample.of(Y, covariance), X)
    np.testing.assert_allclose(fit.estimates, expected, rtol=1e-9)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(information), rtol=1e-9)
    # A chi-square of two degrees of freedom has the tail exp(-x / 2).
    assert fit.p_value == pytest.approx(np.exp(-residual @ inverse @ residual / 2), rel=1e-9)
    assert fit.degrees == np.inf


def test_a_pseudo_observation_is_one_more_row() -> None:
    columns = np.stack([H, H**2, H**3, H**4], axis=1)
    fit = fit_terms(Sample.of(Y, correlated(SE)), columns, shrink_last=0.5)
    information = columns.T @ np.linalg.inv(correlated(SE)) @ columns + np.diag([0, 0, 0, 1 / 0.5**2])
    expected = np.linalg.solve(information, columns.T @ np.linalg.inv(correlated(SE)) @ Y)
    np.testing.assert_allclose(fit.estimates, expected, rtol=1e-8)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(information), rtol=1e-8)


def test_tiny_errors_do_not_spoil_the_whitening() -> None:
    tiny = correlated(SE * 10.0 ** -np.arange(0, 10, 2))
    fit = fit_terms(Sample.of(X @ [0.1, 2.0, -1.0], tiny), X)
    np.testing.assert_allclose(fit.estimates, [0.1, 2.0, -1.0], rtol=1e-8)


@pytest.mark.power  # 1.4 s
@pytest.mark.parametrize("coupled", [False, True])
def test_few_chains_are_allowed_for(coupled: bool) -> None:
    """t-quantiles err as often as they say at twelve chains, where normal ones err three times too often."""
    rng = np.random.default_rng(5)
    truth = np.array([0.2, 1.0, 0.3])
    factor = np.linalg.cholesky(correlated(SE) if coupled else np.diag(SE**2))
    chains, runs, tail = 12, 2000, 0.005
    outside = naive = lacking = 0
    for _ in range(runs):
        errors = (X @ truth)[:, None] + factor @ rng.standard_normal((5, chains))
        fit = fit_terms(Sample.of_chains(errors, coupled=coupled), X)
        distance = abs(fit.estimates[0] - truth[0]) / fit.covariance[0, 0] ** 0.5
        outside += distance > fit.quantile(tail)
        naive += distance > 2.5758
        lacking += fit.p_value < 0.05
    # Two-sided 1 %: 20 expected; four binomial deviations are 18.
    assert outside <= 38
    assert naive > 45
    assert lacking < 0.05 * runs + 4 * (runs * 0.05 * 0.95) ** 0.5 + (0 if coupled else 100)
    if coupled:  # exact, so neither too few
        assert outside >= 4
        assert lacking > 0.05 * runs - 4 * (runs * 0.05 * 0.95) ** 0.5


def test_coupled_chains_are_an_analysis_of_covariance() -> None:
    """Chain by chain: plain least squares of each chain, regressed over the chains on what no term explains.

    The regression's intercept is the estimate, its variance the estimate's, and Hotelling's T^2 of what no term
    explains is the lack of fit.
    """
    rng = np.random.default_rng(8)
    chains = 9
    errors = Y[:, None] + np.linalg.cholesky(correlated(SE)) @ rng.standard_normal((5, chains))
    fit = fit_terms(Sample.of_chains(errors, coupled=True), X)
    plain = np.linalg.pinv(X) @ errors
    unexplained = np.linalg.svd(X.T)[2][3:] @ errors
    design = np.vstack([np.ones(chains), unexplained]).T
    for k in range(3):
        ols = OLS(plain[k], design).fit()
        assert fit.estimates[k] == pytest.approx(ols.params[0], rel=1e-9)
        assert fit.covariance[k, k] ** 0.5 == pytest.approx(ols.bse[0], rel=1e-9)
        assert fit.degrees == ols.df_resid
    mean = unexplained.mean(axis=1)
    squared = chains * mean @ np.linalg.solve(np.cov(unexplained), mean)
    assert fit.p_value == pytest.approx(
        f.sf(squared * (chains - 2) / (2 * (chains - 1)), 2, chains - 2), rel=1e-9
    )


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(UserError, match="singular"):
        fit_terms(Sample.of(Y, np.ones((5, 5))), X)
    with pytest.raises(UserError, match="standard error 0 at point 3"):
        fit_terms(Sample.of(Y, np.array([1, 1, 1, 0, 1.0])), X)
    with pytest.raises(UserError, match="chains=3: expected at least 4"):
        fit_terms(Sample.of(Y, correlated(SE), chains=3), X)


def test_samples_of_chains() -> None:
    errors = np.array([[1.0, 2.0, 4.0], [0.0, -1.0, 3.0]])
    coupled = Sample.of_chains(errors, coupled=True)
    np.testing.assert_allclose(coupled.values, [7 / 3, 2 / 3])
    np.testing.assert_allclose(coupled.covariance, np.cov(errors) / 3)
    assert coupled.coupled
    independent = Sample.of_chains(errors, coupled=False)
    np.testing.assert_allclose(independent.covariance, np.diag(np.diagonal(np.cov(errors)) / 3))
    assert not independent.coupled
    np.testing.assert_allclose(coupled.take([1]).covariance, [[np.cov(errors)[1, 1] / 3]])


def test_samples_that_are_none() -> None:
    with pytest.raises(UserError, match=r"values\[1\]=nan.*diverged"):
        Sample.of([1.0, np.nan], [1.0, 1.0])
    with pytest.raises(UserError, match="expected none below 0"):
        Sample.of([1.0], [-1.0])
    with pytest.raises(UserError, match=r"expected \(J,\)"):
        Sample.of([1.0, 2.0], [1.0])
    with pytest.raises(UserError, match="at least 2 chains"):
        Sample.of_chains([[1.0], [2.0]], coupled=True)
