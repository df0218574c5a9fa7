"""What a step may change beside its state: the walk over what its code can reach."""

from __future__ import annotations

import torch

from sgverify.samplers.intercepted.kept_state import changed, surroundings

KEPT: dict[str, torch.Tensor] = {}


def test_a_tensor_kept_from_inside_a_batch_that_is_over_is_read_all_the_same() -> None:
    def step(theta):
        KEPT["last"] = theta * 2
        return theta

    torch.func.vmap(step)(torch.ones(3))
    before = surroundings(step)
    torch.func.vmap(step)(torch.zeros(3))
    assert changed(before, surroundings(step))
