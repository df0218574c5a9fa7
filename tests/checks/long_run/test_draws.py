"""The draws of torch code as it runs: repeated, seeded anew, shared by chains, or not torch's at all."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sgverify import torch_step, verify
from sgverify.schemes import TorchStep, langevin

pytestmark = pytest.mark.usefixtures("short_runs")

KEPT = torch.Generator().manual_seed(3)
CALLS = [0]

Noise = Callable[[Tensor], Tensor]


def stepped(noise: Noise, **options: Any) -> TorchStep:
    def step(theta, *, h, grad, T):  # type: ignore[no-untyped-def]
        return theta - h * grad(theta) + math.sqrt(2 * T * h) * noise(theta)

    return torch_step(langevin, order=1, **options)(step)


def own_generator(theta: Tensor) -> Tensor:
    return torch.randn(theta.shape, generator=KEPT, dtype=theta.dtype)


def same_generator(theta: Tensor) -> Tensor:
    return torch.randn(theta.shape, generator=torch.Generator().manual_seed(3), dtype=theta.dtype)


def seeded_every_twenty(theta: Tensor) -> Tensor:
    CALLS[0] += 1
    if CALLS[0] % 20 == 0:
        torch.manual_seed(5)
    return torch.randn_like(theta)


def of_numpy(theta: Tensor) -> Tensor:
    return torch.tensor(np.random.standard_normal(theta.shape))


def of_numpy_seeded(theta: Tensor) -> Tensor:
    return torch.tensor(np.random.default_rng(4).standard_normal(theta.shape))


def of_python(theta: Tensor) -> Tensor:
    return torch.tensor([random.gauss(0.0, 1.0) for _ in range(theta.numel())]).to(theta).reshape(theta.shape)


def outcome(step: TorchStep) -> str:
    (item,) = verify(step, checks=["long-run"])
    return str(item.outcome)


@pytest.mark.by_default("seeded_every_twenty-fail")
@pytest.mark.parametrize(
    ("noise", "found"),
    [
        (torch.randn_like, "pass"),
        (own_generator, "pass"),
        (same_generator, "fail"),
        (seeded_every_twenty, "fail"),
        (of_numpy, "pass"),
        (of_numpy_seeded, "fail"),
        (lambda theta: (torch.randn_like(theta) + of_numpy(theta)) / math.sqrt(2), "pass"),
        (of_python, "undecided"),
    ],
)
def test_draws_that_are_not_fresh_are_refuted(noise: Noise, found: str) -> None:
    assert outcome(stepped(noise)) == found


def shared(theta: Tensor) -> Tensor:
    return torch.randn(theta.shape[-1], dtype=theta.dtype)


def mirrored(theta: Tensor) -> Tensor:
    z, half = torch.randn_like(theta), len(theta) // 2
    return torch.cat([z[:half], -z[:half], z[2 * half :]])


@pytest.mark.by_default("randn_like-pass", "mirrored-fail")
@pytest.mark.parametrize(
    ("noise", "found"), [(torch.randn_like, "pass"), (shared, "fail"), (mirrored, "fail")]
)
def test_chains_in_one_tensor_are_independent(noise: Noise, found: str) -> None:
    assert outcome(stepped(noise, chains=True)) == found


def test_a_run_of_pythons_draws_is_the_same_again_and_leaves_its_generator() -> None:
    reasons = []
    for seed in (7, 8):
        random.seed(seed)
        before = random.getstate()
        (found,) = verify(stepped(of_python, chains=True), checks=["long-run"])
        assert random.getstate() == before
        reasons.append(found.reason)
    assert reasons[0] == reasons[1] and "steps in a row the variance of theta stays" in reasons[0]
