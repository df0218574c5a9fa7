"""Where does each parameter of a torch module stand in the flat vector theta?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


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
