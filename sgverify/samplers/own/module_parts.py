"""How is a torch module evaluated as a function of one flat vector of parameters, for many chains at once?"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from sgverify.errors import DefinitionError
from sgverify.samplers.own.module_gradient import ChainGradient, as_one_operation
from sgverify.samplers.own.module_operations import Layout, ModuleOperations, operations_of
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.constants import lasting

_VALUES = 100
"""The most values of a column of whole numbers, such as classes, by which entries are looked up."""

_TRIED, _NUMBERS = 256, 1 << 22
"""The most data whose gradients say whether module and loss have changed, those that tell outputs apart first: fewer of a large
module, so many that they have this many numbers."""


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
        return torch.func.vmap(self._of_flat)(flat, single).reshape(lead)

    def of_rows(self, theta: Tensor, rows: Tensor) -> Tensor:
        """The sum over n data, of one chain; shapes (d,), (n, w) give ()."""
        return self._of_flat(theta, rows)

    def of_each(self, theta: Tensor, rows: Tensor) -> Tensor:
        """The loss of each of n data, of one chain; shapes (d,), (n, w) give (n,)."""
        return torch.func.vmap(self._of_flat, in_dims=(None, 0))(theta, rows[:, None])

    def of_batch(self, theta: Tensor, rows: Tensor) -> Tensor:
        """The sum over n data, one pass per chain; theta (*batch, d) and data (n, *batch or 1, w) give shape (*batch)."""
        flat, data, shared = _by_chain(theta, rows)
        found = torch.func.vmap(self._of_flat, in_dims=(0, None if shared else 0))(flat, data)
        return found.reshape(theta.shape[:-1])

    @as_one_operation
    def gradient_of_batch(self, theta: Tensor, rows: Tensor) -> Tensor:
        """The gradient of `of_batch` in theta; shape (*batch, d)."""
        flat, data, shared = _by_chain(theta, rows)
        return _laid_out(self._gradient(flat, data, shared=shared).reshape(theta.shape), theta)

    def operations(self, dtype: torch.dtype, data: np.ndarray) -> ModuleOperations | None:
        """The arithmetic of the gradient of one datum; None where it is not known."""
        if dtype not in self._operations:
            rows, whole = self._telling(data)
            self._operations[dtype] = operations_of(
                self._total, self.layout, self._start.to(dtype), rows.to(dtype), whole
            )
        return self._operations[dtype]

    def follow(self, data: np.ndarray) -> None:
        """Forget what was recorded where gradients have changed since, by buffers or numbers of Python.

        Raises `DefinitionError` for a module that has been put into training mode.
        """
        check_module(self.module, type(self.module).__name__)
        rows = self._telling(data)[0][: max(4, min(_TRIED, _NUMBERS // self.layout.dim))]
        now = _seen(lambda parts: self._total(parts, rows), self.layout, self._start)
        if vars(self).setdefault("_followed", now) != now:
            vars(self).update(_followed=now, _operations={}, _gradient=self._recorder())

    @cached_property
    def _operations(self) -> dict[torch.dtype, ModuleOperations | None]:
        return {}

    @cached_property
    def _start(self) -> Tensor:
        """The module's own parameters, at which it is tried. Shape (d,), float64."""
        parts = {name: value.detach() for name, value in self.module.named_parameters()}
        return self.layout.flatten(parts).double().cpu()

    def _telling(self, data: np.ndarray) -> tuple[Tensor, Tensor]:
        """See `_telling_rows`, of the data of this likelihood, which do not change."""
        if "_told" not in vars(self):
            vars(self)["_told"] = tuple(torch.tensor(found) for found in _telling_rows(data))
        found: tuple[Tensor, Tensor] = vars(self)["_told"]
        return found

    def outputs_of(self, theta: Tensor, x: Tensor) -> Tensor:
        """The module's outputs; theta (*chains, d) and n inputs (n, *input) give shape (*chains, n, *output)."""
        flat = theta.reshape(-1, theta.shape[-1])
        parts = self.layout.unflatten(flat)
        found = torch.func.vmap(self._module, in_dims=(0, None))(parts, x)
        return found.reshape(*theta.shape[:-1], *found.shape[1:])

    def gradient_of_one(self, theta: Tensor, rows: Tensor) -> Tensor:
        """The gradient of the sum over n data, of one chain; shapes (d,), (n, w) give (d,)."""
        return self.layout.flatten(torch.func.grad(self._total)(self.layout.unflatten(theta), rows))

    def raw(self, parts: Mapping[str, Tensor], rows: Tensor) -> Tensor:
        """The loss's own value for a batch; the parameters of one chain and data (n, w) give shape () or (n, ...)."""
        width = math.prod(self.inputs)
        x, y = rows[:, :width].reshape(-1, *self.inputs), rows[:, width:].reshape(-1, *self.outputs)
        x, y = (
            item if kind is None else item.to(kind) for item, kind in zip((x, y), self.kinds, strict=True)
        )
        value: Tensor = self.loss(self._module(parts, x), y)
        return value

    @cached_property
    def _gradient(self) -> ChainGradient:
        return self._recorder()

    def _recorder(self) -> ChainGradient:
        return ChainGradient(self._total, self.layout)

    def _of_flat(self, theta: Tensor, rows: Tensor) -> Tensor:
        return self._total(self.layout.unflatten(theta), rows)

    def _total(self, parts: Mapping[str, Tensor], rows: Tensor) -> Tensor:
        value = self.raw(parts, rows)
        if self.reduction == "mean":
            return value * len(rows)
        return value.sum()

    def _module(self, parts: Mapping[str, Tensor], x: Tensor) -> Tensor:
        state = {**parts, **self._buffers(next(iter(parts.values())))}
        value: Tensor = torch.func.functional_call(self.module, state, (x,))
        return value

    def _buffers(self, like: Tensor) -> dict[str, Tensor]:
        """The module's buffers by name; floating ones are converted to the dtype of the run."""
        return {
            name: value.to(like) if value.is_floating_point() else value.to(like.device)
            for name, value in self.module.named_buffers()
        }


def check_module(module: torch.nn.Module, name: str) -> None:
    """Raise `DefinitionError`, with the layer's name, for layers that are random or couple the data of a batch."""
    for place, layer in module.named_modules():
        kind = f"{type(layer).__name__} at {place!r}" if place else type(layer).__name__
        if isinstance(layer, _DropoutNd) and layer.training and layer.p > 0:
            raise DefinitionError(
                f"{name}: {kind} draws a mask at every call, so that there is no one potential; expected a module whose "
                "outputs are a function of its parameters; call module.eval() first, or leave the layer out"
            )
        if isinstance(layer, _NormBase) and (layer.training or not layer.track_running_stats):
            raise DefinitionError(
                f"{name}: {kind} normalises by the batch, so that the loss of a datum depends on the others and a minibatch "
                "estimate is biased; expected stored statistics; call module.eval() first, or use LayerNorm or GroupNorm"
            )


def _telling_rows(data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some data, shape (n, w), and the columns, shape (w,), of whole numbers of which each value is among them.

    The data with the values of the last columns, which are outputs, come first.
    """
    places, whole = dict.fromkeys(range(min(4, len(data)))), np.zeros(data.shape[1], dtype=bool)
    for number in reversed(range(data.shape[1])):
        column = data[:, number]
        if (column == np.round(column)).all():
            values, first = np.unique(column, return_index=True)
            whole[number] = len(values) <= _VALUES
            places.update(dict.fromkeys(first.tolist() if whole[number] else ()))
    return data[[*places]], whole


def _seen(loss: Callable[[Mapping[str, Tensor]], Tensor], layout: Layout, start: Tensor) -> bytes:
    """A hash of the gradients of a loss at two points."""
    shift = torch.linspace(-0.7, 0.9, len(start), dtype=start.dtype)
    found = hashlib.blake2b()
    for point in (start, start + shift):
        try:
            gradient = layout.flatten(torch.func.grad(loss)(layout.unflatten(point)))
        except Exception as error:  # a user's function may raise anything; a run says what is wrong
            found.update(type(error).__name__.encode())
        else:
            found.update(gradient.detach().numpy().tobytes())
    return found.digest()


def _laid_out(found: Tensor, theta: Tensor) -> Tensor:
    """`found` in the memory layout of theta: a sum of tensors of two layouts takes ten times as long."""
    return found if theta.is_contiguous() else found.mT.contiguous().mT


def _by_chain(theta: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, bool]:
    """theta as (B, d); data as (B, n, w), or as (n, w) where all chains have the same, which the last value says."""
    flat = theta.reshape(-1, theta.shape[-1])
    if all(size == 1 for size in rows.shape[1:-1]):
        return flat, rows.reshape(len(rows), -1), True
    each = rows.expand(len(rows), *theta.shape[:-1], -1)
    return flat, each.reshape(len(rows), len(flat), -1).movedim(1, 0), False


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

    def gradient(self, theta: Tensor) -> Tensor:
        """diag(precision) theta; both have shape (*batch, d)."""
        kind = (theta.dtype, theta.device)
        if kind not in self._weights:
            self._weights[kind] = lasting(torch.tensor(self.precision, dtype=torch.float64).to(theta))
        return theta * self._weights[kind]

    @cached_property
    def _weights(self) -> dict[Any, Tensor]:
        return {}


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

    @as_one_operation
    def gradient(self, theta: Tensor) -> Tensor:
        """The gradient in theta; both have shape (*batch, d)."""
        return _laid_out(self._gradient(theta.reshape(-1, theta.shape[-1])).reshape(theta.shape), theta)

    def follow(self, data: np.ndarray) -> None:
        """Forget what was recorded where gradients have changed since, by numbers of Python."""
        now = _seen(self._value, self.layout, torch.zeros(self.layout.dim, dtype=torch.float64))
        if vars(self).setdefault("_followed", now) != now:
            vars(self).update(_followed=now, _gradient=self._recorder())

    @cached_property
    def _gradient(self) -> ChainGradient:
        return self._recorder()

    def _recorder(self) -> ChainGradient:
        return ChainGradient(self._value, self.layout)

    def _value(self, parts: Mapping[str, Tensor]) -> Tensor:
        return self.function(dict(parts))

    def _each(self, theta: Tensor) -> Tensor:
        flat = theta.reshape(-1, theta.shape[-1])
        found = torch.func.vmap(lambda one: self.function(self.layout.unflatten(one)))(flat)
        return found.reshape(theta.shape[:-1])
