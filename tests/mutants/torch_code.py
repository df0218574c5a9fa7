"""Correct steps in plain torch code, in which the bugs of published samplers are planted.

They are written as such samplers are: tensors with the chains first, noise from torch, constants made within.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sgverify.schemes.dynamics import kinetic, langevin, thermostat
from sgverify.schemes.torch_step import torch_step

KEPT: dict[str, Tensor] = {}
"""Values that a careless step keeps from call to call; the correct steps leave it empty."""


@torch_step(langevin, order=1, chains=True)
def sgld(theta: Tensor, *, h: float, grad: object, T: float) -> Tensor:
    """SGLD, Euler."""
    noise = torch.randn_like(theta)
    gradient: Tensor = grad(theta)  # type: ignore[operator]
    return theta - h * gradient + (2 * T * h) ** 0.5 * noise


@torch_step(langevin, order=1, chains=True)
def sgld_of_signs(theta: Tensor, *, h: float, grad: object, T: float) -> Tensor:
    """SGLD whose noise has two values: its first three moments are those of a normal draw."""
    drawn = torch.randn_like(theta)
    sign = torch.where(drawn > 0, torch.ones_like(drawn), -torch.ones_like(drawn))
    return theta - h * grad(theta) + (2 * T * h) ** 0.5 * sign  # type: ignore[operator]


@torch_step(langevin, order=1, chains=True)
def sgld_box_muller(theta: Tensor, *, h: float, grad: object, T: float) -> Tensor:
    """SGLD whose normal draws are made of uniform ones (Box and Muller 1958)."""
    radius = (-2 * torch.log1p(-torch.rand_like(theta))) ** 0.5
    noise = radius * torch.cos(2 * torch.pi * torch.rand_like(theta))
    return theta - h * grad(theta) + (2 * T * h) ** 0.5 * noise  # type: ignore[operator]


@torch_step(kinetic, order=1, chains=True)
def sghmc(theta: Tensor, p: Tensor, *, h: float, grad: object, D: float, T: float) -> tuple[Tensor, Tensor]:
    """SGHMC, Euler: the momentum first, the position with the new momentum."""
    gradient: Tensor = grad(theta)  # type: ignore[operator]
    p = p - h * gradient - h * D * p + (2 * D * T * h) ** 0.5 * torch.randn_like(p)
    return theta + h * p, p


@torch_step(kinetic, order=2, chains=True)
def baoab(theta: Tensor, p: Tensor, *, h: float, grad: object, D: float, T: float) -> tuple[Tensor, Tensor]:
    """BAOAB with its constants in the dtype of the state."""
    decay = torch.exp(torch.tensor(-D * h, dtype=theta.dtype))
    spread = torch.sqrt(T * (1 - decay**2))
    p = p - h / 2 * grad(theta)  # type: ignore[operator]
    theta = theta + h / 2 * p
    p = decay * p + spread * torch.randn_like(p)
    theta = theta + h / 2 * p
    return theta, p - h / 2 * grad(theta)  # type: ignore[operator]


@torch_step(thermostat, order=1, chains=True)
def sgnht(
    theta: Tensor, p: Tensor, xi: Tensor, *, h: float, grad: object, D: float, T: float
) -> tuple[Tensor, Tensor, Tensor]:
    """SGNHT, Euler."""
    gradient: Tensor = grad(theta)  # type: ignore[operator]
    p = p - h * xi * p - h * gradient + (2 * D * T * h) ** 0.5 * torch.randn_like(p)
    energy = (p**2).sum(-1, keepdim=True) / p.shape[-1]
    return theta + h * p, p, xi + h * (energy - T)
