"""Which square root and which sums have bits that do not depend on the machine or on the batch?

torch's square root on a CPU need not be rounded correctly: with MKL, one float32 result in six is off by a unit in the last
place. The bits of a chain would depend on the machine, and possibly on the other chains of the batch. numpy's square root is
correctly rounded, and so are those of accelerators. Sums over data use a fixed order, independent of the batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary


def root(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The correctly rounded square root of every entry, written to `out` if it is given.

    A root that autograd must differentiate is torch's own; the bits of gradients through a root are torch's in any case.
    """
    if has_torch_function_unary(x):
        # A tape records this function as one operation; it does not see numpy's operations.
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
"""The length of a run of data that is summed by halves; all runs at once, then the runs are added one by one."""


def add_up(total: Tensor, terms: Tensor) -> Tensor:
    """`total`, shape (*batch), plus the sum of the terms, shape (n, *batch), along the first axis.

    The terms may be given in several calls: if all pieces but the last have a multiple of RUN terms, the bits are the same.
    """
    whole = len(terms) // RUN * RUN
    if whole:
        runs = terms[:whole].reshape(-1, RUN, *terms.shape[1:])
        while runs.shape[1] > 1:
            runs = runs[:, 0::2] + runs[:, 1::2]
        for place in range(len(runs)):
            total = total + runs[place, 0]
    for place in range(whole, len(terms)):
        total = total + terms[place]
    return total


def in_order(values: Tensor) -> Tensor:
    """The sum, shape (*batch), of the terms along the first axis of shape (n, *batch), one after the other."""
    if len(values) > _MANY and values.device.type == "cpu" and not values.requires_grad:
        # numpy's cumulative sums take the terms in this order too.
        sums = np.zeros((), dtype=values.numpy().dtype)
        for start in range(0, len(values), _MANY):
            part = values[start : start + _MANY].numpy()
            sums = np.add.accumulate(np.concatenate([np.broadcast_to(sums, part.shape[1:])[None], part]))[-1]
        return torch.from_numpy(np.array(sums))
    total = torch.zeros_like(values[0])
    for value in values.unbind():
        total = total + value
    return total


_MANY = 1 << 12
"""The number of terms from which numpy adds them up, in pieces of so many."""


__all__ = ["RUN", "add_up", "in_order"]
