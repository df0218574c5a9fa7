"""The first swap of two replicas with noisy energies: its chance by plain quadrature, its bounds, its powers of eta."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sgverify.exact.exchange.first_swap import FirstSwap


def plain_chance(eta: float, noisy: bool, F: float = 2.0, x: float = 2.0) -> float:
    """E min(1, S) by a double sum over both replicas' draws, from the words of Algorithm 1 and the data -1 and 1."""
    z = np.linspace(-8.5, 8.5, 1201)
    weights = np.exp(-(z**2) / 2)
    weights /= weights.sum()
    first, second = z[:, None], z[None, :]
    gap = 1 / 1.0 - 1 / 2.0
    if noisy:
        beta_1 = x - eta * 2 * x + math.sqrt(2 * 1.0 * eta) * first
        beta_2 = -x + eta * 2 * x + math.sqrt(2 * 2.0 * eta) * second
    else:
        spread = math.sqrt((1 - math.exp(-4 * eta)) / 2)
        beta_1 = x * math.exp(-2 * eta) + math.sqrt(1.0) * spread * first
        beta_2 = -x * math.exp(-2 * eta) + math.sqrt(2.0) * spread * second

    def energy(beta, data):
        return sum((datum - beta) ** 2 / 2 for datum in data)

    total = np.zeros_like(beta_1 + beta_2)
    data = (-1.0, 1.0)
    for chosen in data if noisy else (None,):
        if chosen is None:
            rate = gap * (energy(beta_1, data) - energy(beta_2, data))
        else:
            estimates = [
                2 * (energy(beta, [chosen]) - energy(control, [chosen])) + energy(control, data)
                for beta, control in ((beta_1, x), (beta_2, -x))
            ]
            variance = (2 * ((beta_1 - x) - (beta_2 + x))) ** 2
            rate = gap * (estimates[0] - estimates[1] - gap * variance / F)
        total = total + np.minimum(1, np.exp(rate)) / (2 if noisy else 1)
    return float(weights @ total @ weights)


@pytest.mark.parametrize(("eta", "F"), [(0.05, 2.0), (0.01, 2.0), (0.01, 1.0)])
def test_the_chance_that_noise_takes_is_that_of_a_plain_sum(eta: float, F: float) -> None:
    found = FirstSwap(eta, F=F).missing
    # The kink of min(1, S) costs the plain sum the square of its spacing.
    assert found == pytest.approx(plain_chance(eta, False) - plain_chance(eta, True, F), abs=2e-6)


def test_swaps_are_lost_in_proportion_to_the_root_of_eta() -> None:
    """gap sqrt(2 eta)/sqrt(2 pi) times the mean of the deviations of the two noisy energies less that of the exact one."""

    def deviation(sign: int) -> float:
        return math.sqrt((4 + 2 * sign) ** 2 + 2 * (4 - 2 * sign) ** 2)

    constant = 0.5 / math.sqrt(math.pi) * ((deviation(1) + deviation(-1)) / 2 - deviation(0))
    for F in (1.0, 2.0, 100.0):
        eta = 1e-10
        assert FirstSwap(eta, F=F).missing / math.sqrt(eta) == pytest.approx(constant, rel=1e-4)


def test_the_distance_falls_as_the_power_three_quarters_and_is_bracketed() -> None:
    steps = [FirstSwap(2.0**-k) for k in (24, 28)]
    for step in steps:
        assert 0 < step.below < step.above < 20 * step.below
    for name, power in (("below", 0.75), ("above", 0.75), ("above_where_temperatures_swap", 1.25)):
        values = [getattr(step, name) for step in steps]
        assert math.log2(values[0] / values[1]) / 4 == pytest.approx(power, abs=0.01)


def test_nothing_is_told_of_steps_at_which_the_replicas_reach_one_another() -> None:
    assert FirstSwap(0.3).below == 0.0
