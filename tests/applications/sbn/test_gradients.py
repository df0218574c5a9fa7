"""The gradient is that of the energy by automatic and by finite differences; minibatches and sampled states leave it unbiased."""

from __future__ import annotations

from itertools import combinations
from types import ModuleType

import pytest
import torch
from torch import Tensor

from reports.applications.sbn import exact_gradient, sampled_gradient
from reports.applications.sbn.model import BeliefNetwork, all_states
from reports.applications.sbn.sampled_gradient import GibbsSweeps, remaining_bias
from sgverify.errors import ConfigurationError
from tests.applications.sbn.networks import SMALL, binary, drawn, uniforms
from tests.applications.sbn.planting import planted

IMAGES = binary(4, SMALL.visible)
ROUNDING = 1e-12
"""Sums of a hundred terms of size 1 to 10 round off less; an error that is planted is larger than 0.01."""


def automatic() -> Tensor:
    theta = drawn().requires_grad_(True)
    SMALL.energy(theta, IMAGES).backward()
    assert theta.grad is not None
    return theta.grad


def by_minibatches(subject: ModuleType) -> Tensor:
    """The average of the estimate over all minibatches of 2 of the 4 images."""
    found = [
        subject.gradient(SMALL, drawn(), IMAGES[list(pair)], len(IMAGES))
        for pair in combinations(range(4), 2)
    ]
    return torch.stack(found).mean(0)


def sampled_average(subject: ModuleType) -> Tensor:
    """The average of the sampled estimate over all minibatches of 2 images and all their states, weighted by p(h | v).

    The Gibbs sweeps are replaced by every state in turn: what is left is the estimate's own formula.
    """
    theta, total = drawn(), torch.zeros(SMALL.dim, dtype=torch.float64)
    law = SMALL.posterior(theta, IMAGES)
    sweeps, states = GibbsSweeps(0, 1), all_states(SMALL.hidden)
    pairs = list(combinations(range(4), 2))
    for pair in pairs:
        images = IMAGES[list(pair)]
        for first, one in enumerate(states):
            for second, two in enumerate(states):
                subject.gibbs = lambda *_, one=one, two=two: torch.stack([one, two])[None]
                found = subject.estimate(SMALL, theta[None], images[None], 4, uniforms(1, 2, 2, 3), sweeps)[0]
                total += law[pair[0], first] * law[pair[1], second] * found
    return total / len(pairs)


def test_the_enumerated_gradient_is_the_energy_s() -> None:
    found = exact_gradient.gradient(SMALL, drawn(), IMAGES, len(IMAGES))
    assert torch.allclose(found, automatic(), rtol=0, atol=ROUNDING)
    step = 1e-5
    for place in range(SMALL.dim):
        shift = torch.zeros(SMALL.dim, dtype=torch.float64)
        shift[place] = step
        rise = SMALL.energy(drawn() + shift, IMAGES) - SMALL.energy(drawn() - shift, IMAGES)
        # The third derivative, of size 10, leaves step^2, and energies of size 100 round off 1e-14 / step.
        assert float(rise / (2 * step)) == pytest.approx(float(found[place]), abs=1e-8)


def test_minibatches_are_unbiased() -> None:
    assert torch.allclose(by_minibatches(exact_gradient), automatic(), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("- size / images.shape[-2] * slopes", "- slopes"),
        (
            "theta / network.prior_variance - size",
            "size / images.shape[-2] * theta / network.prior_variance - size",
        ),
        ("each @ states - images.shape[-2] * torch.sigmoid(units),", "torch.zeros_like(units),"),
        ("missing.sum(-2),", "torch.zeros_like(missing.sum(-2)),"),
    ],
    ids=["N/n missing", "prior scaled", "gradient of b dropped", "gradient of c dropped"],
)
def test_a_wrong_enumerated_gradient_is_seen(was: str, now: str) -> None:
    assert (by_minibatches(planted(exact_gradient, was, now)) - automatic()).abs().max() > 0.01


def test_sampled_states_are_unbiased() -> None:
    fresh = planted(sampled_gradient, "import numpy as np\n", "import numpy as np\n\n")
    assert torch.allclose(sampled_average(fresh), automatic(), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("- size / images.shape[-2] / sweeps.kept * total", "- total / sweeps.kept"),
        (
            "return theta / network.prior_variance - size",
            "return size / images.shape[-2] * theta / network.prior_variance - size",
        ),
        ("states.sum(-2) - images.shape[-2] * torch.sigmoid(units)", "torch.zeros_like(units)"),
        ("missing = images - torch.sigmoid(", "missing = images - 0 * torch.sigmoid("),
    ],
    ids=["N/n missing", "prior scaled", "gradient of b dropped", "pixels' probabilities dropped"],
)
def test_a_wrong_sampled_gradient_is_seen(was: str, now: str) -> None:
    assert (sampled_average(planted(sampled_gradient, was, now)) - automatic()).abs().max() > 0.01


def test_sweeps_remove_the_bias_of_the_start() -> None:
    network, images = BeliefNetwork(20, 6), binary(30, 20)
    few, error = remaining_bias(network, drawn(network), images, GibbsSweeps(0, 1), draws=100)
    many, _ = remaining_bias(network, drawn(network), images, GibbsSweeps(20, 1), draws=100)
    # `error` is the length of the mean's error: without a bias the signed root stays well below it.
    assert few > 4 * error and abs(many) < 2 * error


def test_kept_states_lower_the_noise() -> None:
    theta = drawn(scale=1.0)[None].expand(200, -1)
    spread = []
    for kept in (1, 8):
        words = uniforms(200, 4, 1 + 3 + kept, 3)
        found = sampled_gradient.estimate(
            SMALL, theta, IMAGES.expand(200, -1, -1), 4, words, GibbsSweeps(3, kept)
        )
        spread.append(float(found.var(0).sum()))
    # Independent states would have 1/8 of the variance; 1/2 is met even where each state repeats the one before 3 times out of 4.
    assert spread[1] < spread[0] / 2


@pytest.mark.parametrize("given", [(-1, 1), (0, 0)])
def test_impossible_sweeps_are_refused(given: tuple[int, int]) -> None:
    with pytest.raises(ConfigurationError, match="kept state"):
        GibbsSweeps(*given)
    with pytest.raises(ConfigurationError, match="draws=1"):
        remaining_bias(SMALL, drawn(), IMAGES, GibbsSweeps(), draws=1)
