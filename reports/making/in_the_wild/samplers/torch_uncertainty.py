"""TorchUncertainty: its optimizers SGLD and SGHMC, whose noise is multiplied by `noise_factor` = sqrt(T).

The files of the optimizers are loaded by themselves: the package asks for torchvision, and they do not.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from typing import Any

import torch
from torch import Tensor

from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import torch_step


def _file(name: str) -> Any:
    """The module of one file of the package."""
    package = importlib.util.find_spec("torch_uncertainty")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'torch_uncertainty'", name="torch_uncertainty")
    own = f"sgverify_torch_uncertainty_{name}"
    if own in sys.modules:
        return sys.modules[own]
    spec = importlib.util.spec_from_file_location(
        own, f"{package.submodule_search_locations[0]}/optim/{name}.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[own] = module
    spec.loader.exec_module(module)
    return module


SGLD, SGHMC = _file("sgld").SGLD, _file("sghmc").SGHMC


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
