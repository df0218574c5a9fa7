"""Averages of weighted draws, against closed forms and against weights that would overflow."""

from __future__ import annotations

import numpy as np
import pytest

from sgverify.draws import log_weights_between, reweighted
from sgverify.errors import ConfigurationError

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("shift", [900.0, -900.0])
def test_the_size_of_the_weights_does_not_matter(shift: float) -> None:
    logs, values = RNG.normal(size=(3, 50)) * 5, RNG.normal(size=(3, 50))
    weights = np.exp(logs)
    found = reweighted(values, logs + shift)
    assert found.value == pytest.approx((weights * values).sum() / weights.sum(), rel=1e-12)
    np.testing.assert_allclose(found.effective, weights.sum(1) ** 2 / (weights**2).sum(1), rtol=1e-12)


def test_a_weight_of_zero_counts_nothing_even_where_the_function_is_infinite() -> None:
    logs = np.array([[-np.inf, 0.0, -np.inf, 0.0], [-np.inf] * 4])
    found = reweighted(np.array([[np.inf, 1.0, np.nan, 3.0], [np.inf] * 4]), logs)
    assert found.value == 2.0
    assert found.effective.tolist() == [2.0, 0.0]


def test_equal_weights_give_the_mean_and_the_error_between_chains() -> None:
    values = RNG.normal(size=(40, 25))
    found = reweighted(values, np.full(values.shape, -3.0))
    assert found.value == pytest.approx(values.mean())
    assert found.standard_error == pytest.approx(values.mean(1).std(ddof=1) / np.sqrt(40))
    np.testing.assert_allclose(found.effective, 25)


def test_draws_at_another_temperature_are_reweighted_to_the_wanted_one() -> None:
    # U = x^2/2: exp(-U/2) is N(0, 2), exp(-U) is N(0, 1), whose E x^2 = 1.
    draws = RNG.normal(size=(400, 250)) * np.sqrt(2)
    found = reweighted(draws**2, log_weights_between(draws**2 / 2, drawn_at=2.0, wanted=1.0))
    assert abs(found.value - 1) < 5 * found.standard_error < 0.05
    # E[w]^2/E[w^2] under N(0, 2) with w = exp(-x^2/4): (1/sqrt 2)^2 / (1/sqrt 3) of each 250.
    assert found.effective.mean() == pytest.approx(250 * np.sqrt(3) / 2, rel=0.02)


def test_the_error_covers_the_truth_where_draws_of_a_chain_are_copies() -> None:
    # Each chain repeats one draw: an error from draws would be sqrt(50) times too small.
    errors, sizes = [], []
    for _ in range(300):
        draws = np.repeat(RNG.normal(size=(30, 1)), 50, axis=1)
        found = reweighted(draws, -0.1 * draws**2)
        errors.append(found.value)
        sizes.append(found.standard_error)
    assert 0.85 < np.std(errors) / np.mean(sizes) < 1.2


def test_one_chain_has_no_error() -> None:
    assert np.isnan(reweighted(np.ones((1, 4)), np.zeros((1, 4))).standard_error)


@pytest.mark.parametrize("logs", [np.full((2, 3), -np.inf), np.full((2, 3), np.nan), np.zeros((3, 2))])
def test_weights_that_say_nothing_are_refused(logs: np.ndarray) -> None:
    with pytest.raises(ConfigurationError, match="log_weights"):
        reweighted(np.zeros((2, 3)), logs)
    with pytest.raises(ConfigurationError, match="wanted"):
        log_weights_between(logs, drawn_at=1.0, wanted=0.0)
