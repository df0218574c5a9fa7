"""devinterp: the samplers of its class `SGMCMC`, and the older classes `SGLD` and `SGNHT`, which are deprecated.

Its update is Delta theta = -(lr/2) nbeta grad U + sqrt(lr) N(0, 1), whose invariant density is exp(-nbeta U): nbeta = 1/T and lr =
2 h T make it the step of size h at the temperature T.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from devinterp.optim import SGLD, SGMCMC, SGNHT
from torch import Tensor

from reports.making.in_the_wild.samplers.tempering import with_momentum
from sgverify.schemes.dynamics import langevin, thermostat
from sgverify.schemes.torch_step import torch_step


def _stepped(make: Any, theta: Tensor, gradient: Tensor) -> tuple[Tensor, Any]:
    """theta after `step()` of the optimizer that `make(params)` makes, and the optimizer."""
    parameter = torch.nn.Parameter(theta.clone())
    with warnings.catch_warnings():
        # It warns of nbeta = 1, and of classes that are deprecated.
        warnings.simplefilter("ignore")
        optimizer = make([parameter])
    parameter.grad = gradient
    optimizer.step()
    return parameter.detach(), optimizer


@torch_step(langevin, order=1)
def sgld(theta: Tensor, *, h: float, grad: Any, T: float) -> Tensor:
    """`SGMCMC.sgld`: lr = 2 h T, nbeta = 1/T."""
    return _stepped(lambda params: SGMCMC.sgld(params, lr=2 * h * T, nbeta=1 / T), theta, grad(theta))[0]


@torch_step(langevin, order=1)
def old_sgld(theta: Tensor, *, h: float, grad: Any, T: float) -> Tensor:
    """`SGLD`, deprecated: lr = 2 h T, nbeta = 1/T."""
    return _stepped(lambda params: SGLD(params, lr=2 * h * T, nbeta=1 / T), theta, grad(theta))[0]


@torch_step(langevin, order=1)
def sgnht(theta: Tensor, *, h: float, grad: Any, T: float) -> Tensor:
    """`SGMCMC.sgnht` at its own diffusion_factor of 0.01: lr = 2 h T, nbeta = 1/T, as those of `SGMCMC.sgld`."""
    return _stepped(lambda params: SGMCMC.sgnht(params, lr=2 * h * T, nbeta=1 / T), theta, grad(theta))[0]


@torch_step(thermostat, order=1)
def old_sgnht(
    theta: Tensor, p: Tensor, xi: Tensor, *, h: float, grad: Any, D: float, T: float
) -> tuple[Tensor, ...]:
    """`SGNHT`, deprecated: lr = h^2, diffusion_factor = h D, nbeta = 1, momentum = h p, thermostat = h xi."""
    return with_momentum(_old_sgnht, theta, p, xi, h=h, grad=grad, T=T, D=D)


def _old_sgnht(theta: Tensor, p: Tensor, xi: Tensor, *, h: float, grad: Any, D: float) -> tuple[Tensor, ...]:
    def make(params: list[Tensor]) -> Any:
        made = SGNHT(params, lr=h * h, diffusion_factor=h * D, nbeta=1.0)
        made.state[params[0]]["momentum"] = h * p
        made.param_groups[0]["thermostat"] = (h * xi).reshape(())
        return made

    moved, optimizer = _stepped(make, theta, grad(theta))
    momentum = optimizer.state[optimizer.param_groups[0]["params"][0]]["momentum"]
    return moved, momentum.detach() / h, (optimizer.param_groups[0]["thermostat"] / h).reshape(xi.shape)
