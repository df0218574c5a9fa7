"""How are functions of theta differentiated at many points at once: by the reverse mode, or by autograd?

The reverse mode runs a potential on tracked values, whose operations a tape can record. Autograd differentiates torch code of users
and all that is differentiated twice. No closed form is written down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sgverify.errors import DefinitionError
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.definition.mathematics import dot
from sgverify.schemes.definition.reverse_mode import Tracked, gradient_of
from sgverify.targets import Target


def of_pair(target: Target, data: Tensor) -> Callable[[Chains], Any]:
    """The function theta -> likelihood(theta, x) of each datum x; theta has shape (n, *batch, d), data (n, *, d)."""
    likelihood: Any = target.likelihood
    x = Chains(data)
    return lambda theta: likelihood(theta, x)


def of_batch(summed: Callable[[Tensor, Tensor], Tensor], data: Tensor) -> Callable[[Chains], Any]:
    """The function theta -> sum_i likelihood(theta, x_i), theta of shape (*batch, d), by the likelihood's own sum."""
    return lambda theta: Chains(summed(theta.tensor, data)[..., None])


def linearise(function: Callable[[Chains], Any], points: Tensor) -> tuple[Tensor, Tensor] | None:
    """The gradients (n, d) and Hessians (n, d, d) at points (n, d); None if the Hessian may depend on the point."""
    with torch.enable_grad():
        at, gradient = _differentiated(function, points, again=True)
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


def gradient_by_autograd(function: Callable[[Chains], Any], points: Tensor) -> Tensor:
    """The gradients at points; both have shape (*batch, d)."""
    return _differentiated(function, points)[1]


@torch.enable_grad()
def _differentiated(
    function: Callable[[Chains], Any], points: Tensor, *, again: bool = False
) -> tuple[Tensor, Tensor]:
    """A copy of the points and the gradients there, which can be differentiated `again` with respect to it."""
    at = points.detach().clone(memory_format=torch.contiguous_format).requires_grad_()
    value: Tensor = function(Chains(at)).tensor
    return at, torch.autograd.grad(value.sum(), at, create_graph=again)[0]


def gradient_by_tracking(potential: Callable[..., Any], points: Tensor, *data: Tensor) -> Tensor:
    """The gradients of a potential in theta at points, by the reverse mode (`sgverify.schemes.definition.reverse_mode`).

    Points have shape (*batch, d). Data of shape (n, *batch, w), or one that broadcasts to it, give shape (n, *batch, d). Raises
    `DefinitionError` for a potential that runs on torch tensors alone, or that spreads one number over a wider vector.
    """
    theta = Tracked(Chains(points), VECTOR)
    (found,) = gradient_of(potential(theta, *(Chains(part) for part in data)), [theta])
    shape = torch.broadcast_shapes(points.shape[:-1], *(part.shape[:-1] for part in data))
    if not isinstance(found, Chains):
        return torch.full((*shape, points.shape[-1]), float(found), dtype=points.dtype, device=points.device)
    if found.tensor.shape[-1] != points.shape[-1]:
        # A single coordinate that was spread over wider data: the parts of its derivative are not summed.
        raise DefinitionError(
            f"a gradient of {found.tensor.shape[-1]} coordinates at a theta of {points.shape[-1]}; expected as many"
        )
    return found.tensor.expand(*shape, points.shape[-1])


def is_trackable(potential: Callable[..., Any], dim: int, *widths: int) -> bool:
    """Does a potential run on tracked values, and not on torch tensors alone? It is tried once, at 0."""
    try:
        theta, *data = (torch.zeros(1, width, dtype=torch.float64) for width in (dim, *widths))
        gradient_by_tracking(potential, theta, *data)
    except (DefinitionError, TypeError, AttributeError):
        return False
    return True


def hessian_product(function: Callable[[Chains], Any], points: Tensor, vectors: Tensor) -> Tensor:
    """The Hessian at each point times the vector of that point; points, vectors and result have shape (*batch, d)."""
    with torch.enable_grad():
        at, gradient = _differentiated(function, points, again=True)
        if not gradient.requires_grad:
            return torch.zeros_like(points)
        # No term couples two points, so that the gradient of the sum over points is the gradient at each.
        (found,) = torch.autograd.grad((gradient * vectors.detach()).sum(), at, materialize_grads=True)
    return found


def value_of(function: Callable[[Chains], Any], points: Tensor) -> Tensor:
    """The value at each point, in float64; points of shape (*batch, d) give shape (*batch)."""
    with torch.no_grad():
        value: Tensor = function(Chains(points.detach())).tensor
    return value[..., 0].double()


def inner(left: Tensor, right: Tensor) -> Tensor:
    """sum_k left_k right_k, in the order k = 0, 1, ...; shapes (*batch, d) give shape (*batch)."""
    value: Tensor = dot(Chains(left), Chains(right)).tensor
    return value[..., 0]
