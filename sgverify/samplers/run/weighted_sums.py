"""How does a state with a weight of its own enter the running sums?"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sgverify.samplers.reading.elementary import exp


def in_units(
    before: Tensor, top: Tensor, logs: Tensor, values: Sequence[Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """What sums in units of exp(before) are multiplied by in units of exp(top), and the values times their weights exp(logs).

    The weights come last. All have shape (S, C); the log of the unit is -inf before the first weight.
    """
    shrunk = torch.where(top == -torch.inf, 0.0, exp(before - top))
    own = torch.where(logs == -torch.inf, 0.0, exp(logs - top))
    # Not multiplied by 0: the test function may overflow where the weight is 0.
    return shrunk, [*(torch.where(own == 0, 0.0, value * own) for value in values), own]


def with_weights(
    sums: Sequence[Tensor], values: Sequence[Tensor], logs: Tensor, factor: Tensor
) -> list[Tensor]:
    """The sums of values and of weights, and the log of their unit, after a state with these log weights counts `factor` times."""
    top = torch.maximum(sums[-1], logs)
    shrunk, added = in_units(sums[-1], top, logs, values)
    return [
        *(total * shrunk + value * factor for total, value in zip(sums[:-1], added, strict=True)),
        top,
    ]


__all__ = ["in_units", "with_weights"]
