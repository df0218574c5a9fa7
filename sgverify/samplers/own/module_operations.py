"""Which arithmetic is the gradient of a torch module's loss, datum by datum?

torch differentiates the loss of one datum; the operations that this takes are recorded, and expressed by arithmetic coordinate by
coordinate (`module_lowering`). Its bits depend neither on the batch nor on the processor, and a kernel in C can repeat it. Where an
operation has no such form, gradients are torch's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sgverify.samplers.own.module_layout import Layout
from sgverify.samplers.own.module_lowering import Instruction, Number, instructions_of

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


__all__ = ["LARGEST", "ModuleOperations", "operations_of"]
