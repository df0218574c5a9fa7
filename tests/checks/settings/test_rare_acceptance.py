"""Steps that accept next to nothing: what never moves is no pass, and what moves to the mode alone is wrong."""

from __future__ import annotations

import pytest
import torch

import sgverify
from sgverify import torch_step
from sgverify.schemes import langevin


def moved(theta, h, log_density, T, accepted):
    new = theta + (2 * T * h) ** 0.5 * torch.randn_like(theta)
    return torch.where(accepted((log_density(new) - log_density(theta)) / T)[..., None], new, theta)


@torch_step(langevin, chains=True)
def usual(theta, *, h, log_density, T):
    return moved(theta, h, log_density, T, lambda ratio: torch.rand_like(ratio).log() < ratio)


@torch_step(langevin, chains=True)
def upwards(theta, *, h, log_density, T):
    return moved(theta, h, log_density, T, lambda ratio: -torch.rand_like(ratio).log() < ratio)


@torch_step(langevin, chains=True)
def never(theta, *, h, log_density, T):
    return moved(theta, h, log_density, T, lambda ratio: ratio > 1e9)


@pytest.mark.by_default("step1-fail", "step2-undecided")
@pytest.mark.parametrize(("step", "outcome"), [(usual, "pass"), (upwards, "fail"), (never, "undecided")])
def test_what_hardly_accepts_is_no_pass(step, outcome) -> None:
    found = sgverify.verify(step, checks=["settings"])
    assert found.outcome == outcome, found[0].reason
