"""How is a torch module evaluated as a function of one flat vector of parameters, for many chains at once?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import DefinitionError
from sgverify.samplers.reading.carrier import Chains


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


@dataclass(frozen=True, eq=False)
class ModuleLikelihood:
    """sum_i loss(module(x_i), y_i) as a function of theta.

    A datum is one row of numbers: x and then y, each flattened. `inputs` and `outputs` are the shapes of one x and one y, and
    `kinds` their dtypes for module and loss if these are not the run's dtype. `reduction` is the loss's operation over a batch; a
    mean is multiplied by the number of data.
    """

    module: torch.nn.Module = field(repr=False)
    loss: Callable[[Any, Any], Any] = field(repr=False)
    reduction: str
    layout: Layout = field(repr=False)
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kinds: tuple[torch.dtype | None, torch.dtype | None]

    def __call__(self, theta: Any, x: Any) -> Any:
        """The loss of each datum; theta (*batch, d) and data (*batch, w) give shape (*batch), as values of the carrier."""
        if isinstance(theta, Chains):
            return Chains(self.of_one(theta.tensor, x.tensor)[..., None])
        if isinstance(theta, np.ndarray):
            with torch.no_grad():
                return self.of_one(*(torch.tensor(item, dtype=torch.float64) for item in (theta, x))).numpy()
        raise DefinitionError(
            f"a torch module was evaluated on a {type(theta).__name__}; it takes torch tensors"
        )

    def of_one(self, theta: Tensor, rows: Tensor) -> Tensor:
        """The loss of each datum at its own theta; shapes (*batch, d), (*batch, w) give (*batch)."""
        lead = torch.broadcast_shapes(theta.shape[:-1], rows.shape[:-1])
        flat = theta.expand(*lead, -1).reshape(-1, theta.shape[-1])
        single = rows.expand(*lead, -1).reshape(-1, 1, rows.shape[-1])
        return torch.func.vmap(self._total)(flat, single).reshape(lead)

    def of_batch(self, theta: Tensor, rows: Tensor) -> Tensor:
        """The sum over n data, one pass per chain; theta (*batch, d) and data (n, *batch or 1, w) give shape (*batch)."""
        lead = theta.shape[:-1]
        flat = theta.reshape(-1, theta.shape[-1])
        if all(size == 1 for size in rows.shape[1:-1]):
            found = torch.func.vmap(self._total, in_dims=(0, None))(flat, rows.reshape(len(rows), -1))
        else:
            each = rows.expand(len(rows), *lead, -1).reshape(len(rows), len(flat), -1).movedim(1, 0)
            found = torch.func.vmap(self._total)(flat, each)
        return found.reshape(lead)

    def outputs_of(self, theta: Tensor, x: Tensor) -> Tensor:
        """The module's outputs; theta (*chains, d) and n inputs (n, *input) give shape (*chains, n, *output)."""
        flat = theta.reshape(-1, theta.shape[-1])
        found = torch.func.vmap(self._module, in_dims=(0, None))(flat, x)
        return found.reshape(*theta.shape[:-1], *found.shape[1:])

    def raw(self, theta: Tensor, rows: Tensor) -> Tensor:
        """The loss's own value for a batch; theta (d,) and data (n, w) give shape () or (n, ...)."""
        width = math.prod(self.inputs)
        x, y = rows[:, :width].reshape(-1, *self.inputs), rows[:, width:].reshape(-1, *self.outputs)
        x, y = (
            item if kind is None else item.to(kind) for item, kind in zip((x, y), self.kinds, strict=True)
        )
        value: Tensor = self.loss(self._module(theta, x), y)
        return value

    def _total(self, theta: Tensor, rows: Tensor) -> Tensor:
        value = self.raw(theta, rows)
        if self.reduction == "mean":
            return value * len(rows)
        return value.sum()

    def _module(self, theta: Tensor, x: Tensor) -> Tensor:
        state = {**self.layout.unflatten(theta), **self._buffers(theta)}
        value: Tensor = torch.func.functional_call(self.module, state, (x,))
        return value

    def _buffers(self, like: Tensor) -> dict[str, Tensor]:
        """The module's buffers by name; floating ones are converted to the dtype of the run."""
        return {
            name: value.to(like) if value.is_floating_point() else value.to(like.device)
            for name, value in self.module.named_buffers()
        }


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """The prior theta . diag(precision) theta / 2; `precision`, shape (d,), is 1/sd^2 of each coordinate."""

    precision: np.ndarray

    def __call__(self, theta: Any) -> Any:
        """-log of the prior up to a constant; theta of shape (*batch, d) gives shape (*batch)."""
        if isinstance(theta, Chains):
            weights = torch.tensor(self.precision, dtype=torch.float64).to(theta.tensor)
            return Chains((theta.tensor.square() * (weights / 2)).sum(-1, keepdim=True))
        if isinstance(theta, np.ndarray):
            return (theta**2 * (self.precision / 2)).sum(-1)
        raise DefinitionError(
            f"the prior of a module was evaluated on a {type(theta).__name__}; it takes tensors"
        )


@dataclass(frozen=True, eq=False)
class WrittenPrior:
    """A prior given by a user's function -log prior of {name: parameter} for one chain."""

    function: Callable[[dict[str, Tensor]], Tensor] = field(repr=False)
    layout: Layout = field(repr=False)

    def __call__(self, theta: Any) -> Any:
        """-log of the prior for every chain; theta of shape (*batch, d) gives shape (*batch)."""
        if isinstance(theta, Chains):
            return Chains(self._each(theta.tensor)[..., None])
        if isinstance(theta, np.ndarray):
            with torch.no_grad():
                return self._each(torch.tensor(theta, dtype=torch.float64)).numpy()
        raise DefinitionError(
            f"the prior of a module was evaluated on a {type(theta).__name__}; it takes tensors"
        )

    def _each(self, theta: Tensor) -> Tensor:
        flat = theta.reshape(-1, theta.shape[-1])
        found = torch.func.vmap(lambda one: self.function(self.layout.unflatten(one)))(flat)
        return found.reshape(theta.shape[:-1])
