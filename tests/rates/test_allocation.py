"""Chains by step: against a brute-force grid, a closed form, the variance of the decision's own fit, and equal numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq

from sgverify.errors import UserError
from sgverify.rates import Sample, fit_terms
from sgverify.rates.decision import FEWEST, MARGIN, Contrast, allocate, contrasts_of, extra_of_the_first

H = 2.0 ** -np.arange(5)
V = np.array([1.0, 1.3, 0.8, 1.1, 0.9])


def worst(contrasts: list[Contrast], chains: np.ndarray) -> float:
    return max(contrast.variance(np.diag(chains / V)) for contrast in contrasts)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_variance_is_that_of_the_fit_that_decides(order: int) -> None:
    chains = np.array([300.0, 400, 500, 600, 700])
    sample = Sample.of(H, covariance=np.diag(V / chains), chains=None)
    for j, contrast in enumerate(contrasts_of(H, order)):
        columns = np.stack([H**j, H**order, H ** (order + 1)], axis=1)
        c = np.array([1.0, 0, 0]) - MARGIN
        covariance = fit_terms(sample, columns).covariance
        assert contrast.variance(np.diag(chains / V)) == pytest.approx(float(c @ covariance @ c))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_no_allocation_on_a_grid_of_shares_is_better(order: int) -> None:
    """All ways to give the five steps whole twentieths of the work."""
    contrasts, work = contrasts_of(H, order), 1e7
    found = allocate(contrasts, V, 1 / H, work, fewest=2)
    grid = [s for s in product(range(1, 17), repeat=4) if sum(s) <= 19]
    brute = min(
        worst(contrasts, np.array([*s, 20 - sum(s)]) / 20 * work * H) for s in grid[:: 1 + len(grid) // 4000]
    )
    assert found.variance <= brute
    assert found.variance == pytest.approx(worst(contrasts, np.array(found.chains)))
    assert sum(n / h for n, h in zip(found.chains, H, strict=True)) <= work * (1 + 1e-12)
    assert found.gain > 1 and found.equal == pytest.approx(worst(contrasts, np.full(5, work / (1 / H).sum())))


def test_a_saturated_fit_has_a_closed_form() -> None:
    """Three steps, three terms: the variance is sum w_j^2 v_j / n_j, least at n_j proportional to |w_j| sqrt(v_j / cost_j)."""
    h, v, work = H[:3], V[:3], 1e8
    (contrast,) = contrasts_of(h, 1)
    w = np.linalg.solve(contrast.columns.T, contrast.weights)
    shape = np.abs(w) * np.sqrt(v * h)
    best = work * shape / (shape / h).sum()
    found = allocate([contrast], v, 1 / h, work)
    assert found.chains == pytest.approx(best, rel=1e-3)
    assert found.variance == pytest.approx(float((np.sqrt(v / h) * np.abs(w)).sum() ** 2 / work), rel=1e-6)


def test_every_step_keeps_the_fewest_chains() -> None:
    found = allocate(contrasts_of(H, 2), V, 1 / H, 1e5)
    assert min(found.chains) == FEWEST and sum(n / h for n, h in zip(found.chains, H, strict=True)) <= 1e5
    with pytest.raises(UserError, match="256 chains at every step"):
        allocate(contrasts_of(H, 2), V, 1 / H, 7000)
    with pytest.raises(UserError, match="positive"):
        allocate(contrasts_of(H, 2), [1, 1, 0, 1, 1], 1 / H, 1e6)


def joined(single: np.ndarray, extra: int) -> np.ndarray:
    """The covariance of what `Sweep.sample` makes of one coupled chain and `extra` of the first step."""
    total = single[0, 0] * (1 + 1 / extra)
    gain = single[:, 0] / total
    covariance: np.ndarray = single - total * np.outer(gain, gain)
    return covariance


@pytest.mark.parametrize("correlation", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("order", [1, 2])
def test_extra_chains_are_those_of_the_least_price(order: int, correlation: float) -> None:
    """Price by price, from the covariance that the sweep itself makes of coupled and further chains."""
    single = (np.full((5, 5), correlation) + (1 - correlation) * np.eye(5)) * np.sqrt(np.outer(V, V))
    contrasts, cost = contrasts_of(H, order), 1 / H
    prices = [cost.sum() * max(c.variance(np.linalg.inv(single)) for c in contrasts)]
    for extra in range(1, 41):
        precision = np.linalg.inv(joined(single, extra))
        prices.append((cost.sum() + extra) * max(c.variance(precision) for c in contrasts))
    found = extra_of_the_first(contrasts, single, cost, most=40)
    assert found.chains == (1 + int(np.argmin(prices)), 1, 1, 1, 1)
    assert (found.variance, found.equal) == (pytest.approx(min(prices)), pytest.approx(prices[0]))


def test_a_level_that_is_all_noise_wants_as_many_as_balance_its_cost() -> None:
    """All steps share one noise: only the level is uncertain, with variance 1 / (1 + r) at the cost of C + r: more always help."""
    single = np.full((5, 5), 1.0) + 1e-9 * np.eye(5)
    assert extra_of_the_first(contrasts_of(H, 1), single, 1 / H, most=64).chains[0] == 65
    # Noise of a step's own, s^2, stops it: the price (31 + r)(1/(1+r) + a s^2) is least at (1 + r)^2 = 30 / (a s^2).
    own = 0.01
    contrast = contrasts_of(H, 1)[0]
    found = extra_of_the_first([contrast], np.full((5, 5), 1.0) + own * np.eye(5), 1 / H)

    def slope(r: float) -> float:
        def price(r: float) -> float:
            precision = np.linalg.inv(np.full((5, 5), 1.0) + own * np.eye(5))
            precision[0, 0] += r / (1 + own)
            return (31 + r) * contrast.variance(precision)

        return price(r + 1e-4) - price(r - 1e-4)

    assert abs(found.chains[0] - 1 - brentq(slope, 0.1, 63)) <= 1
