"""A Gibbs sweep draws each unit from its conditional law, which enumeration gives, in C and on torch alike."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from reports.applications.sbn import hidden_units
from reports.applications.sbn.hidden_units import gibbs
from reports.applications.sbn.model import BeliefNetwork, all_states
from sgverify.samplers.fused.compiler import CannotBuild
from tests.applications.sbn.networks import SMALL, binary, drawn, uniforms
from tests.applications.sbn.planting import planted

EDGE = 1e-9
SURE = 1e-13


def conditional(theta: Tensor, image: Tensor, state: Tensor, unit: int, beta: float) -> float:
    """p(h_j = 1 | the other units of `state`, v) under p(h) p(v | h)^beta, by the densities of the two states."""
    both = state.repeat(2, 1)
    both[:, unit] = torch.tensor([0.0, 1.0])
    log = SMALL.hidden_prior(theta, both) + beta * SMALL.conditional(theta, image.expand(2, -1), both)
    return float(log.softmax(0)[1])


def wrong_draws(subject, beta: float, compiled: bool) -> int:
    """Over all states and units: how often is a unit not drawn as its law wants it, just below and above its probability?

    A uniform number near 0 or 1 leads the units before to the state that is wanted.
    """
    theta, image = drawn(), binary(SMALL.visible)
    wrong = 0
    for state in all_states(SMALL.hidden):
        for unit in range(SMALL.hidden):
            chance = conditional(theta, image, state, unit, beta)
            for number in (chance - EDGE, chance + EDGE):
                words = SURE + (1 - state) * (1 - 2 * SURE)
                words[unit] = number
                found = subject.gibbs(
                    SMALL,
                    theta[None],
                    image[None, None],
                    state[None, None].clone(),
                    words[None, None, None],
                    beta=beta,
                    compiled=compiled,
                )[0, 0]
                before = torch.equal(found[:unit], state[:unit])
                wrong += not (before and bool(found[unit]) == (number < chance))
    return wrong


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("beta", [1.0, 0.3])
def test_each_unit_has_its_conditional_law(beta: float, compiled: bool) -> None:
    assert wrong_draws(hidden_units, beta, compiled) == 0


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("units[:, None, j] + beta *", "beta *"),
        ("without = psi - states[..., j, None] * row", "without = psi"),
        (
            "units[:, None, j] + beta * (images * row - change)",
            "beta * (units[:, None, j] + images * row - change)",
        ),
    ],
)
def test_a_wrong_law_is_seen(was: str, now: str) -> None:
    # The last one tempers the prior, too, which shows at beta < 1 alone.
    assert wrong_draws(planted(hidden_units, was, now), 0.3, False) > 0


@pytest.mark.parametrize(("visible", "scale"), [(5, 1.0), (64, 1.0), (200, 12.0)])
def test_c_reproduces_torch(visible: int, scale: float) -> None:
    # With weights of 12 the products over 200 pixels leave the range of a double.
    network = BeliefNetwork(visible, 7)
    theta = torch.stack([drawn(network, seed, scale) for seed in (1, 2)])
    images, states = binary(2, 20, visible), binary(2, 20, 7, seed=5)
    words = uniforms(2, 20, 3, 7)
    for beta in (1.0, 0.5):
        found = [gibbs(network, theta, images, states, words, beta=beta, compiled=c) for c in (True, False)]
        assert torch.equal(*found) and not torch.equal(found[0], states)
    assert torch.equal(states, binary(2, 20, 7, seed=5))


def test_without_a_compiler_sweeps_are_taken_on_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(text: str) -> None:
        raise CannotBuild("there is none")

    told: list[str] = []
    monkeypatch.setattr(hidden_units, "build", cannot)
    monkeypatch.setattr(hidden_units, "tell_of_slow_steps", told.append)
    monkeypatch.setattr(hidden_units, "_library", hidden_units._library.__wrapped__)
    assert wrong_draws(hidden_units, 1.0, True) == 0 and told[0] == "there is none"


def test_sweeps_leave_the_posterior_invariant() -> None:
    # 4000 states drawn from p(h | v), then swept once. The statistic of 8 states is chi^2 of 7 degrees of freedom, below 24.3 with
    # probability 0.999; the seed is fixed.
    theta, image, count = drawn(), binary(SMALL.visible), 4000
    law = SMALL.posterior(theta, image[None])[0]
    words = np.random.Generator(np.random.Philox(7))
    states = all_states(3)[torch.from_numpy(words.choice(8, size=count, p=law.numpy()))]
    found = gibbs(SMALL, theta[None], image.expand(1, count, -1), states[None], uniforms(1, count, 1, 3))[0]
    counted = torch.bincount((found @ torch.tensor([1.0, 2.0, 4.0]).double()).long(), minlength=8)
    assert float(((counted - count * law) ** 2 / (count * law)).sum()) < 24.3
