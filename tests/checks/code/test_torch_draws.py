"""The draws of torch code as it runs: repeated, seeded anew, shared by chains, or not torch's at all."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from sgverify import torch_step, verify
from sgverify.schemes import langevin

KEPT = torch.Generator().manual_seed(3)
CALLS = [0]


def stepped(noise, **options):
    def step(theta, *, h, grad, T):
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise(theta)

    return torch_step(langevin, order=1, **options)(step)


def own_generator(theta):
    return torch.randn(theta.shape, generator=KEPT, dtype=theta.dtype)


def same_generator(theta):
    return torch.randn(theta.shape, generator=torch.Generator().manual_seed(3), dtype=theta.dtype)


def seeded_every_twenty(theta):
    CALLS[0] += 1
    if CALLS[0] % 20 == 0:
        torch.manual_seed(5)
    return torch.randn_like(theta)


def of_numpy(theta):
    return torch.tensor(np.random.standard_normal(theta.shape))


def partly_of_numpy(theta):
    return (torch.randn_like(theta) + of_numpy(theta)) / math.sqrt(2)


def outcomes(step, *checks):
    return {item.check: item.outcome for item in verify(step, checks=checks)}


@pytest.mark.by_default("randn_like")
@pytest.mark.parametrize("noise", [torch.randn_like, own_generator])
def test_fresh_draws_pass(noise):
    assert outcomes(stepped(noise), "white-noise", "independent-chains") == {
        "white-noise": "pass",
        "independent-chains": "pass",
    }


def test_draws_of_torch_in_the_place_of_others_are_told_so():
    step = stepped(torch.randn_like).named("of_jax", generator="jax.random")
    for item in verify(step, checks=["white-noise", "independent-chains"]):
        assert item.outcome == "pass" and "torch drew, not jax.random;" in item.reason
        assert "no repeated" not in item.reason and "no shared" not in item.reason


@pytest.mark.parametrize(
    ("noise", "outcome"),
    [
        (same_generator, "fail"),
        (seeded_every_twenty, "fail"),
        (of_numpy, "undecided"),
        (partly_of_numpy, "undecided"),
        (lambda theta: 1.2 * of_numpy(theta), "fail"),
    ],
)
def test_draws_that_are_not_fresh_are_refuted_and_those_of_others_by_their_run(noise, outcome):
    assert outcomes(stepped(noise), "white-noise") == {"white-noise": outcome}


@pytest.mark.parametrize("noise", [same_generator, seeded_every_twenty])
def test_chains_one_after_the_other_that_share_draws_are_refuted(noise):
    assert outcomes(stepped(noise), "independent-chains") == {"independent-chains": "fail"}


def shared(theta):
    return torch.randn(theta.shape[-1], dtype=theta.dtype)


def mirrored(theta):
    z, half = torch.randn_like(theta), len(theta) // 2
    return torch.cat([z[:half], -z[:half], z[2 * half :]])


@pytest.mark.parametrize("noise, outcome", [(torch.randn_like, "pass"), (shared, "fail"), (mirrored, "fail")])
def test_chains_in_one_tensor(noise, outcome):
    assert outcomes(stepped(noise, chains=True), "independent-chains") == {"independent-chains": outcome}


def test_a_step_that_draws_nothing_has_no_white_noise():
    still = stepped(torch.zeros_like)
    assert outcomes(still, "white-noise") == {"white-noise": "not-applicable"}
