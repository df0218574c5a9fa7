"""The square root as IEEE 754 rounds it, which torch's on a processor need not be.

Where MKL is behind torch's, one float32 number in six is a unit in the last place off. A chain's bits would then depend
on the machine, and nothing promises that they would not on the chains beside it. numpy's is correctly rounded, and so
are those of accelerators.

Sums over data in an order that depends on nothing else, so that they have the same bits whatever is batched.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary


def root(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root of every entry, to `out` where that is given.

    Where it is to be differentiated it is torch's: the bits of gradients through a root are torch's own anyway.
    """
    if has_torch_function_unary(x):
        # So that a tape sees one operation and not numpy's, of which it knows nothing.
        found: Any = (
            handle_torch_function(root, (x,), x, out=out)
            if out is not None
            else handle_torch_function(root, (x,), x)
        )
        return found
    if x.device.type != "cpu" or x.requires_grad or torch.compiler.is_compiling():
        return torch.sqrt(x, out=out)
    result = torch.empty_like(x) if out is None else out
    with np.errstate(invalid="ignore"):
        np.sqrt(x.numpy(), out=result.numpy())
    return result


RUN = 16
"""Data that are summed by halves, all runs at once; the runs are then added one by one."""


def add_up(total: Tensor, terms: Tensor) -> Tensor:
    """`total` plus the terms along the first axis. Shapes (*batch), (n, *batch) -> (*batch).

    Terms may be handed over in pieces: where all but the last have a multiple of RUN terms, the bits are the same.
    """
    whole = len(terms) // RUN * RUN
    if whole:
        runs = terms[:whole].unflatten(0, (-1, RUN))
        while runs.shape[1] > 1:
            runs = runs[:, 0::2] + runs[:, 1::2]
        for run in runs[:, 0].unbind():
            total = total + run
    for term in terms[whole:].unbind():
        total = total + term
    return total


def in_order(values: Tensor) -> Tensor:
    """The terms along the first axis, one after the other. Shape (n, *batch) -> (*batch)."""
    total = torch.zeros_like(values[0])
    for value in values.unbind():
        total = total + value
    return total


__all__ = ["RUN", "add_up", "in_order"]
