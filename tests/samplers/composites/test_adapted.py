"""The weights of a run on torch against the rules in fractions, chain by chain."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch

from sgverify.samplers.composites.adapting import AdaptedWeights
from sgverify.schemes.composites.adaptation import Adaptation, Partition
from sgverify.schemes.composites.composite import region_below, region_of

PARTITION = Partition.of([0.0, 1.0, 2.5, 3.0, 5.0])
ENERGIES = [-4.0, 0.0, 1.0, math.nextafter(1.0, 2), 2.5, 2.75, 3.0, math.nextafter(3.0, 4), 5.0, 80.0]


def adaptation(*, cumulative: bool, zeta: float = 2.0, smooth: bool = False) -> Adaptation:
    return Adaptation(
        PARTITION,
        zeta=zeta,
        tau=3.0,
        scale=1.0,
        alpha=1.0,
        offset=2.0,
        temperature=1.5,
        cumulative=cumulative,
        smooth=smooth,
    )


def exact_weights(made: Adaptation, energies: list[float]) -> list[Fraction]:
    """theta after the energies, in fractions."""
    theta = [Fraction(made.start)] * 4
    for k, energy in enumerate(energies, 1):
        region = region_of(energy, PARTITION.inner)
        here = theta[region - 1]
        omega = Fraction(1, k + 2)
        theta = [
            w + omega * (here if made.cumulative else here**2) * (made.indicator(i, region) - w)
            for i, w in enumerate(theta, 1)
        ]
    return theta


@pytest.mark.parametrize("cumulative", [True, False])
def test_weights_follow_the_rule_in_fractions_for_every_chain_by_itself(cumulative: bool) -> None:
    made = adaptation(cumulative=cumulative)
    running = AdaptedWeights(made, rows=2, chains=5, device=torch.device("cpu"))
    paths = [[ENERGIES[(3 * step + 7 * chain) % 10] for step in range(5)] for chain in range(10)]
    for k in range(1, 6):
        running.adapt(k, torch.tensor([path[k - 1] for path in paths], dtype=torch.float64).reshape(2, 5))
    for theta, path in zip(running.theta.reshape(10, 4).tolist(), paths, strict=True):
        assert theta == pytest.approx([float(w) for w in exact_weights(made, path)], rel=1e-13)


@pytest.mark.parametrize("smooth", [False, True])
def test_multipliers_and_weights_of_draws_are_the_rules_at_every_energy(smooth: bool) -> None:
    made = adaptation(cumulative=True, smooth=smooth)
    running = AdaptedWeights(made, rows=1, chains=len(ENERGIES), device=torch.device("cpu"))
    theta = [0.125, 0.25, 0.75, 1.0]
    running.theta = torch.tensor(theta, dtype=torch.float64).expand(1, len(ENERGIES), 4)
    energies = torch.tensor([ENERGIES], dtype=torch.float64)
    multipliers, logs = (
        running.multiplier(energies)[0, :, 0].tolist(),
        running.log_importance(energies)[0].tolist(),
    )
    for energy, multiplier, log in zip(ENERGIES, multipliers, logs, strict=True):
        region = region_of(energy, PARTITION.inner)
        here, below = theta[region - 1], theta[region_below(region) - 1]
        width, lower = PARTITION.widths[region - 1], PARTITION.edges[region - 1]
        assert energy <= 5.0 or multiplier == 1
        width = math.inf if energy > 5.0 else width
        assert multiplier == pytest.approx(1 + 2 * 3 / width * math.log(here / below), rel=1e-14)
        value = math.log(here)
        if smooth:
            value = (
                math.log(below)
                + math.log(here / below) * (min(energy, 5.0) - lower) / PARTITION.widths[region - 1]
            )
        assert log == pytest.approx(2 * value - energy * (1 / 1.5 - 1 / 3), rel=1e-13, abs=1e-13)
