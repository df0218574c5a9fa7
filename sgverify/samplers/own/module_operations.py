"""Which arithmetic is the gradient of a torch module's loss, datum by datum?

torch differentiates the loss of one datum; the operations that this takes are recorded, and expressed by arithmetic coordinate by
coordinate (`module_lowering`). Its bits depend neither on the batch nor on the processor, and a kernel in C can repeat it. Where an
operation has no such form, gradients are torch's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.own.module_lowering import Instruction, Number, instructions_of


@dataclass(frozen=True)
class Layout:
    """The positions of a module's parameters in theta: one after the other in the module's order, each row by row."""

    shapes: Mapping[str, tuple[int, ...]]

    @staticmethod
    def of(module: torch.nn.Module) -> Layout:
        """The layout of all parameters of a module."""
        return Layout({name: tuple(value.shape) for name, value in module.named_parameters()})

    @property
    def dim(self) -> int:
        """The length of theta."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def places(self) -> Iterator[tuple[str, tuple[int, ...], slice]]:
        """The name, shape and slice of theta of each parameter."""
        first = 0
        for name, shape in self.shapes.items():
            last = first + math.prod(shape)
            yield name, shape, slice(first, last)
            first = last

    def unflatten(self, theta: Any) -> dict[str, Any]:
        """The parameters by name, each of shape (*chains, *shape), from a tensor or array of shape (*chains, d)."""
        lead = tuple(theta.shape[:-1])
        return {name: theta[..., place].reshape(*lead, *shape) for name, shape, place in self.places()}

    def flatten(self, parameters: Mapping[str, Tensor]) -> Tensor:
        """The inverse of `unflatten`: parameters of shape (*chains, *shape) give theta of shape (*chains, d)."""
        pieces = [
            parameters[name].reshape(*parameters[name].shape[: parameters[name].ndim - len(shape)], -1)
            for name, shape in self.shapes.items()
        ]
        return torch.cat(pieces, -1)


Loss = Callable[..., Tensor]
"""The loss of a batch of one chain: a function of its parameters by name, and of its data, (n, w)."""


LARGEST = 1024
"""The most parameters of a module, those that a kernel takes: larger networks are faster by torch's products of matrices."""


@dataclass(frozen=True, eq=False)
class ModuleOperations:
    """The gradient in theta of the loss of one datum, for one dtype."""

    instructions: tuple[Instruction, ...]

    def gradient(self, theta: Tensor, datum: Tensor) -> Tensor:
        """Shapes (*batch, d) and (*batch, w), which broadcast, give (*batch, d)."""
        values = [theta, datum]
        for step in self.instructions:
            given = [values[part.value] if isinstance(part, Number) else part for part in step.operands]
            values.append(step.function(*given, *step.options))
        lead = torch.broadcast_shapes(theta.shape[:-1], datum.shape[:-1])
        return values[-1].expand(*lead, theta.shape[-1])


def operations_of(
    loss: Loss, layout: Layout, start: Tensor, rows: Tensor, whole: Tensor
) -> ModuleOperations | None:
    """The operations, for the dtype of `start`, shape (d,).

    None for more than `LARGEST` parameters, if some operations are unknown, or if gradients differ from those of torch. They are
    compared at some points near `start`, for `rows` of shape (n, w). `whole`, shape (w,), marks the columns of whole numbers of
    which each value is among the rows: only these may say which entries are looked up.
    """

    def of_one(theta: Tensor, datum: Tensor) -> Tensor:
        return layout.flatten(torch.func.grad(loss)(layout.unflatten(theta), datum[None]))

    if layout.dim > LARGEST:
        return None
    try:
        with torch.no_grad():
            found = ModuleOperations(instructions_of(of_one, start, rows[0], whole))
            return found if _agree(found, of_one, start, rows) else None
    except Exception:  # torch raises errors of many types for code that it cannot follow
        return None


def _agree(found: ModuleOperations, of_one: Callable[..., Tensor], start: Tensor, rows: Tensor) -> bool:
    """Are the gradients those of torch? Both have the rounding errors of a few thousand operations."""
    shifts = torch.linspace(-0.7, 0.9, 3 * len(start), dtype=start.dtype).reshape(3, -1)
    points = torch.stack([start, *(start + shift for shift in shifts)])
    tolerance = torch.finfo(start.dtype).eps ** 0.5
    each = torch.func.vmap(torch.func.vmap(of_one, in_dims=(None, 0)), in_dims=(0, None))
    expected = each(points, rows)
    given = found.gradient(points[:, None], rows)
    scale = expected.abs().amax(-1, keepdim=True) + torch.finfo(start.dtype).tiny
    return bool(((given - expected).abs() <= tolerance * scale).all())
