"""A small network's posterior is a target like any other; `advise` says that no Gaussian stands for it."""

from __future__ import annotations

import pytest
import torch

from reports.applications.sbn.model import BeliefNetwork
from reports.applications.sbn.target import enumerated_posterior
from sgverify.advice.plans import advise
from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.differentiation import Potential
from tests.applications.sbn.networks import SMALL, binary, drawn

IMAGES = binary(30, SMALL.visible)


def test_the_target_s_gradient_is_the_network_s() -> None:
    target = enumerated_posterior(IMAGES, hidden=3, prior_variance=2.0).target()
    potential = Potential(target, dtype=torch.float64, device=torch.device("cpu"))
    theta = drawn().requires_grad_(True)
    SMALL.energy(theta, IMAGES).backward()
    found = potential.full(theta.detach()[None, None])[0, 0]
    # Sums over 30 images of terms of size 1.
    assert theta.grad is not None and torch.allclose(found, theta.grad, rtol=0, atol=1e-11)
    assert target.size == 30 and target.dim == SMALL.dim


@pytest.mark.power  # some seconds of searches for a mode and of averages about it
def test_advice_about_the_posterior_itself_is_not_to_be_trusted() -> None:
    gradient = {"kind": "without-replacement", "batch": 10}
    found = advise(enumerated_posterior(IMAGES, hidden=2), ["sghmc-aboba"], gradient=gradient)
    assert not found.trusted and "Gaussian" in str(found)


@pytest.mark.parametrize(
    ("images", "hidden", "told"),
    [([[0.5]], 1, "binarise"), ([0, 1], 1, "rows"), ([[0, 1]], 16, "at most 15"), ([[0, 1]], 0, "hidden=0")],
)
def test_what_is_no_small_network_is_refused(images: list, hidden: int, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        enumerated_posterior(images, hidden=hidden)
    assert BeliefNetwork(1, 1).dim == 3
