"""Generators that a step seeds: by its state, which is wrong, or by a counter that it carries, which is right."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sgverify.samplers.intercepted.repeated_step import Repetition, State, judge_repetition


def repetition(seed: Callable[[Tensor, Tensor], int]) -> Repetition:
    def step(state: State, number: int) -> State:
        theta, count = state
        torch.manual_seed(seed(theta, count))
        return theta - 0.01 * theta + math.sqrt(0.02) * torch.randn_like(theta), count + 1

    start = (torch.tensor([0.3, -0.7], dtype=torch.float64), torch.tensor(5.0, dtype=torch.float64))
    return judge_repetition(step, ("theta", "count"), start)


@pytest.mark.parametrize(
    ("seed", "wrong"),
    [
        (lambda theta, count: int(1e6 * theta.sum()) % 2**31, True),
        (lambda theta, count: int(count), False),
        (lambda theta, count: int(1e6 * theta.sum() + 17 * count) % 2**31, True),
    ],
    ids=["state", "counter", "both"],
)
def test_a_seed_of_the_state_is_a_fault_and_a_counter_is_none(seed: Callable[..., int], wrong: bool) -> None:
    faults = repetition(seed).faults
    assert any("function of the state" in fault for fault in faults) is wrong
