"""Values and derivatives of a potential's parts on torch: autograd of the one definition, at many points at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers import black_box as _black_box  # noqa: F401 - teaches a user's log density to read tensors
from sgverify.samplers.carrier import Chains
from sgverify.schemes.mathematics import dot
from sgverify.targets import Target


def of_pair(target: Target, data: Tensor) -> Callable[[Chains], Any]:
    """theta -> likelihood(theta, x) of each datum x. Shapes (n, *batch, d), and (n, *, d) of the data."""
    likelihood: Any = target.likelihood
    x = Chains(data)
    return lambda theta: likelihood(theta, x)


def of_batch(summed: Callable[[Tensor, Tensor], Tensor], data: Tensor) -> Callable[[Chains], Any]:
    """theta -> sum_i likelihood(theta, x_i), summed in one pass by the likelihood itself. Shape (*batch, d)."""
    return lambda theta: Chains(summed(theta.tensor, data)[..., None])


def linearise(function: Callable[[Chains], Any], points: Tensor) -> tuple[Tensor, Tensor] | None:
    """Gradient and Hessian at each point, None where the Hessian may depend on it. (n, d) -> (n, d), (n, d, d)."""
    with torch.enable_grad():
        at = points.detach().clone(memory_format=torch.contiguous_format).requires_grad_()
        value: Tensor = function(Chains(at)).tensor
        (gradient,) = torch.autograd.grad(value.sum(), at, create_graph=True)
        rows = []
        for i in range(points.shape[1]):
            row = torch.zeros_like(at)
            if gradient.requires_grad:
                (row,) = torch.autograd.grad(
                    gradient[:, i].sum(), at, create_graph=True, retain_graph=True, materialize_grads=True
                )
            if row.requires_grad:
                return None
            rows.append(row)
    return gradient.detach(), torch.stack(rows, dim=1)


def value_and_gradient(function: Callable[[Chains], Any], points: Tensor) -> tuple[Tensor, Tensor]:
    """Value and gradient at each point. Shape (*batch, d) -> (*batch), (*batch, d)."""
    with torch.enable_grad():
        at = points.detach().clone(memory_format=torch.contiguous_format).requires_grad_()
        value: Tensor = function(Chains(at)).tensor
        (gradient,) = torch.autograd.grad(value.sum(), at)
    return value.detach()[..., 0], gradient


def hessian_product(function: Callable[[Chains], Any], points: Tensor, vectors: Tensor) -> Tensor:
    """The Hessian at each point times the vector there. Shapes (*batch, d), (*batch, d) -> (*batch, d)."""
    with torch.enable_grad():
        at = points.detach().clone(memory_format=torch.contiguous_format).requires_grad_()
        value: Tensor = function(Chains(at)).tensor
        (gradient,) = torch.autograd.grad(value.sum(), at, create_graph=True)
        if not gradient.requires_grad:
            return torch.zeros_like(points)
        # Points do not meet: the sum over them keeps each one's own.
        (found,) = torch.autograd.grad((gradient * vectors.detach()).sum(), at, materialize_grads=True)
    return found


def value_of(function: Callable[[Chains], Any], points: Tensor) -> Tensor:
    """The value at each point, in float64. Shape (*batch, d) -> (*batch)."""
    with torch.no_grad():
        value: Tensor = function(Chains(points.detach())).tensor
    return value[..., 0].double()


def inner(left: Tensor, right: Tensor) -> Tensor:
    """sum_k left_k right_k in this order. Shapes (*batch, d), (*batch, d) -> (*batch)."""
    value: Tensor = dot(Chains(left), Chains(right)).tensor
    return value[..., 0]
