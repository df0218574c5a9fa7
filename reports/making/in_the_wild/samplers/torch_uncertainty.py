"""TorchUncertainty: its optimizers SGLD and SGHMC, whose noise is multiplied by `noise_factor` = sqrt(T).

The package is made without running its `__init__`, which asks for lightning and torchvision; its optimizers do not.
"""

from __future__ import annotations

import importlib
import math
import sys
from importlib.util import find_spec, module_from_spec
from typing import Any

import torch
from torch import Tensor

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step

_SPEC = find_spec("torch_uncertainty")
if _SPEC is None:
    raise ModuleNotFoundError("No module named 'torch_uncertainty'", name="torch_uncertainty")
sys.modules.setdefault("torch_uncertainty", module_from_spec(_SPEC))
_OPTIM: Any = importlib.import_module("torch_uncertainty.optim")
SGLD, SGHMC = _OPTIM.SGLD, _OPTIM.SGHMC


@torch_step(langevin, order=1)
def sgld(theta: Tensor, *, h: float, grad: Any, T: float) -> Tensor:
    """`SGLD`: lr = h, noise_factor = sqrt(T)."""
    parameter = torch.nn.Parameter(theta.clone())
    optimizer = SGLD([parameter], lr=h, noise_factor=math.sqrt(T))
    parameter.grad = grad(theta)
    optimizer.step()
    return parameter.detach()


@torch_step(kinetic, order=1)
def sghmc(theta: Tensor, p: Tensor, *, h: float, grad: Any, D: float, T: float) -> tuple[Tensor, ...]:
    """`SGHMC` after its burn-in: lr = h, friction = h D, noise_factor = sqrt(T), momentum = h p, preconditioner 1."""
    parameter = torch.nn.Parameter(theta.clone())
    optimizer = SGHMC([parameter], lr=h, friction=h * D, noise_factor=math.sqrt(T), burn_in_steps=0)
    # The preconditioner is 1/(sqrt(v_hat) + eps).
    held = torch.full_like(theta, (1 - optimizer.eps) ** 2)
    one = torch.ones_like(theta)
    optimizer.state[parameter].update(v_hat=held, tau=one, g=one.clone(), momentum=h * p)
    parameter.grad = grad(theta)
    optimizer.step()
    return parameter.detach(), optimizer.state[parameter]["momentum"].detach() / h
