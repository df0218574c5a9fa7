"""The square root as IEEE 754 rounds it, which torch's on a processor need not be.

Where MKL is behind torch's, one float32 number in six is a unit in the last place off. A chain's bits would then depend
on the machine, and nothing promises that they would not on the chains beside it. numpy's is correctly rounded, and so
are those of accelerators.
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
