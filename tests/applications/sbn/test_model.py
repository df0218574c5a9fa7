"""The density of the network is that of its definition, written out pixel by pixel, and sums to 1 over all images."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch

from reports.applications.sbn import model
from reports.applications.sbn.model import BeliefNetwork
from sgverify.errors import ConfigurationError
from tests.applications.sbn.networks import SMALL, drawn, every_image
from tests.applications.sbn.planting import planted


def by_hand(theta: list[float], image: list[float]) -> float:
    """p(v) of SMALL from sigma alone, in Python's numbers."""

    def sigma(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    pixels, units = SMALL.visible, SMALL.hidden
    total = 0.0
    for state in product((0, 1), repeat=units):
        chance = 1.0
        for j, h in enumerate(state):
            on = sigma(theta[units * pixels + pixels + j])
            chance *= on if h else 1 - on
        for d, v in enumerate(image):
            psi = theta[units * pixels + d] + sum(h * theta[j * pixels + d] for j, h in enumerate(state))
            chance *= sigma(psi) if v else 1 - sigma(psi)
        total += chance
    return total


def log_likelihoods(subject) -> torch.Tensor:
    return subject.BeliefNetwork(5, 3, 2.0).log_likelihood(drawn(), every_image(5))


def test_the_likelihood_is_that_of_the_definition() -> None:
    expected = [math.log(by_hand(drawn().tolist(), image)) for image in every_image(5).tolist()]
    # Sums of some tens of terms, each to a few roundings.
    assert log_likelihoods(model).tolist() == pytest.approx(expected, abs=1e-13)
    assert float(log_likelihoods(model).exp().sum()) == pytest.approx(1, abs=1e-13)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("states * units - softplus(units)", "states * units"),
        ("each = self.hidden_prior(theta, states) - softplus(psi).sum(-1)", "each = -softplus(psi).sum(-1)"),
        ("return states @ weights + pixels[..., None, :]", "return states @ weights"),
    ],
)
def test_a_wrong_density_is_seen(was: str, now: str) -> None:
    wrong = log_likelihoods(planted(model, was, now))
    assert (wrong - log_likelihoods(model)).abs().max() > 0.1


def test_the_posterior_is_bayes_rule_and_the_joint_its_parts() -> None:
    theta, images = drawn(), every_image(5)
    joint = SMALL.joint(theta, images)
    assert torch.allclose(SMALL.posterior(theta, images), (joint - joint.logsumexp(-1, keepdim=True)).exp())
    state = model.all_states(3)[5].expand(len(images), -1)
    assert state[0].tolist() == [1, 0, 1]
    parts = SMALL.conditional(theta, images, state) + SMALL.hidden_prior(theta, state)
    assert torch.allclose(joint[:, 5], parts, rtol=0, atol=1e-13)


def test_theta_is_its_parts() -> None:
    theta = drawn()
    assert torch.equal(SMALL.joined(*SMALL.parts(theta)), theta) and SMALL.dim == 23
    assert float(SMALL.prior(theta)) == pytest.approx(-float(theta @ theta) / 4)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((0, 3), "visible=0"),
        ((3, 0), "hidden=0"),
        ((3, 3, 0.0), "prior_variance=0"),
        ((3, 3, math.inf), "inf"),
    ],
)
def test_a_network_that_is_none_is_refused(given: tuple, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        BeliefNetwork(*given)


def test_many_units_are_not_enumerated() -> None:
    with pytest.raises(ConfigurationError, match="hidden=16.*at most 15 units"):
        BeliefNetwork(2, 16).log_likelihood(torch.zeros(50, dtype=torch.float64), every_image(2))
