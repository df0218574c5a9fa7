"""How is code with its own loss and data run once from a given position, and everything that it touches put back?"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from sgverify.adapters.training.reach import Reached
from sgverify.errors import DefinitionError
from sgverify.schemes.adapting import Parameter


class TrainingStep:
    """One call of a function from (theta, ...): handed over as tensors (`pure`), or as the values of a module's parameters.

    `arguments` are the function's own parameters in h, T and D, `numbers` those of its globals, `options` those of the optimizers
    that it reaches.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        reached: Reached,
        *,
        pure: bool,
        arguments: Mapping[str, Parameter],
        numbers: Mapping[str, Parameter],
        options: Mapping[str, Parameter],
        told: str,
    ) -> None:
        self.function = self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self._reached, self._pure, self._told = reached, pure, told
        self._arguments, self._numbers, self._options = arguments, numbers, options
        self.parameters = [] if pure else position_of(reached)

    @property
    def dim(self) -> int:
        """The number of coordinates of the position; 0 if it is handed over."""
        return sum(parameter.numel() for parameter in self.parameters)

    def __call__(self, *state: Tensor, h: float, dim: int, **given: float) -> Any:
        """The state after one call."""
        quantities = {"h": h, "dim": float(dim), **given}
        arguments = {name: read(quantities) for name, read in self._arguments.items()}
        with self._put_back():
            for name, read in self._numbers.items():
                for space in self._reached.numbers[name]:
                    space[name] = read(quantities)
            for optimizer in self._reached.optimizers:
                for group in optimizer.param_groups:
                    group.update(
                        {name: read(quantities) for name, read in self._options.items() if name in group}
                    )
            if self._pure:
                return self.function(*state, **arguments)
            (theta,) = state
            self._write(theta)
            self.function(**arguments)
            self._check_optimizers()
            return torch.cat([item.detach().reshape(-1).to(theta.dtype) for item in self.parameters])

    def _write(self, theta: Tensor) -> None:
        if theta.ndim != 1 or len(theta) != self.dim:
            raise DefinitionError(
                f"{self._told}: a position of shape {tuple(theta.shape)} for {self.dim} parameters; expected one chain of "
                f"dimension {self.dim}, that of the modules which the code trains"
            )
        with torch.no_grad():
            parts = theta.split([item.numel() for item in self.parameters])
            for item, part in zip(self.parameters, parts, strict=True):
                item.copy_(part.reshape(item.shape))

    def _check_optimizers(self) -> None:
        for optimizer in self._reached.optimizers:
            kept = sorted(
                {
                    str(key)
                    for state in optimizer.state.values()
                    for key, value in state.items()
                    if value is not None
                }
            )
            if kept:
                raise DefinitionError(
                    f"{self._told}: the optimizer of the loop carries on {', '.join(kept)}, which a call of the loop alone does "
                    f"not show; verify {type(optimizer).__name__} by its class, or use one without state in the loop"
                )

    @contextmanager
    def _put_back(self) -> Iterator[None]:
        """A context after which parameters, gradients, buffers, optimizers and numbers are what they were."""
        reached = self._reached
        spaces = [(space, name, space[name]) for name in self._numbers for space in reached.numbers[name]]
        held = [item for module in reached.modules for item in (*module.parameters(), *module.buffers())]
        held += [item for item in self.parameters if not any(item is other for other in held)]
        values = [(item, item.detach().clone(), item.grad) for item in held]
        groups = [
            (group, {key: value for key, value in group.items() if key != "params"})
            for optimizer in reached.optimizers
            for group in optimizer.param_groups
        ]
        states = [(optimizer, copy.copy(optimizer.state)) for optimizer in reached.optimizers]
        try:
            yield
        finally:
            for space, name, value in spaces:
                space[name] = value
            with torch.no_grad():
                for item, value, grad in values:
                    item.copy_(value)
                    item.grad = grad
            for group, options in groups:
                group.update(options)
            for optimizer, state in states:
                optimizer.state = state


def position_of(reached: Reached) -> list[Tensor]:
    """The parameters that are trained: those of the reached modules, else those of the reached optimizers."""
    sources: Sequence[Any] = [item for module in reached.modules for item in module.parameters()]
    if not sources:
        sources = [
            item
            for optimizer in reached.optimizers
            for group in optimizer.param_groups
            for item in group["params"]
        ]
    found: list[Tensor] = []
    for item in sources:
        if item.requires_grad and not any(item is other for other in found):
            found.append(item)
    return found


__all__ = ["TrainingStep", "position_of"]
