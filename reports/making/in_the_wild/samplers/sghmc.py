"""sghmc: its one sampler, which works on arrays of numpy; `numpy.random.randn` is replaced by torch's draws while it runs."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reports.making.in_the_wild.samplers.tempering import with_momentum
from sgverify.schemes.dynamics import kinetic
from sgverify.schemes.torch_step import torch_step

module: Any = importlib.import_module("sghmc.sghmc")


@torch_step(kinetic, order=1)
def sghmc(theta: Tensor, p: Tensor, *, h: float, grad: Any, D: float, T: float) -> tuple[Tensor, ...]:
    """`sghmc(gradU, eta, L, alpha, x, V)`, one step after a new momentum: eta = h^2, L = 1, alpha = h D, V = 0."""
    return with_momentum(_sghmc, theta, p, h=h, grad=grad, T=T, D=D)


sghmc = sghmc.named("sghmc", generator="numpy.random")


def _sghmc(theta: Tensor, p: Tensor, *, h: float, grad: Any, D: float) -> tuple[Tensor, ...]:
    # Its first draw is the new momentum in units of its deviation sqrt(eta): here it is the state's.
    supplied = [p.numpy()]

    def drawn(*shape: int) -> np.ndarray:
        return supplied.pop() if supplied else torch.randn(*shape, dtype=p.dtype).numpy()

    own, module.np = module.np, _Numpy(drawn)
    try:
        x = theta.numpy().copy()
        moved = module.sghmc(lambda at: grad(torch.from_numpy(at.copy())).numpy(), h * h, 1, h * D, x, 0.0)
    finally:
        module.np = own
    # The last momentum is what the position moved by.
    after = torch.from_numpy(moved)
    return after, (after - theta) / h


class _Numpy:
    """numpy, its normal draws apart."""

    def __init__(self, randn: Any) -> None:
        self.random = SimpleNamespace(randn=randn)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)
