"""Which values does an optimizer keep between its steps, and how are they read and restored?

They are found by running it: what changes from step to step in the state of a parameter, in a parameter group or in an attribute
is kept. A number that grows by the same amount at every step is a counter; the others are memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from sgverify.errors import DefinitionError

DEEPEST = 4
"""The depth to which dictionaries and lists are followed."""

OF_TORCH = ("state", "param_groups", "defaults")
"""The attributes of an optimizer that hold its state, its parameter groups and its defaults."""


class _Own:
    """Stands for the parameter itself among keys: a dictionary or a list of one's own has an entry for each parameter."""

    def __repr__(self) -> str:
        return "p"


OWN = _Own()


@dataclass(frozen=True)
class KeptValue:
    """A value under `keys`: in the state of parameter `number`, in group `number`, or in an attribute of the optimizer."""

    root: str
    number: int
    keys: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The name of the value, the same for every parameter and group."""
        return "_".join(str(key) for key in self.keys if key is not OWN)

    @property
    def told(self) -> str:
        """The place as a user finds it."""
        first = {"state": "state[p]", "group": f"param_groups[{self.number}]"}.get(self.root)
        keys = self.keys if first else self.keys[1:]
        return (first or f"self.{self.keys[0]}") + "".join(f"[{key!r}]" for key in keys)

    def read(self, optimizer: Any, parameters: Sequence[Tensor]) -> Any:
        """The value."""
        holder, key = self._holder(optimizer, parameters)
        return getattr(holder, key) if holder is optimizer else holder[key]

    def write(self, optimizer: Any, parameters: Sequence[Tensor], value: Any) -> None:
        """Put a value, in the type of the one that is there."""
        holder, key = self._holder(optimizer, parameters)
        old = getattr(holder, key) if holder is optimizer else holder[key]
        new = _like(value, old)
        if holder is optimizer:
            setattr(holder, key, new)
        else:
            holder[key] = new

    def _holder(self, optimizer: Any, parameters: Sequence[Tensor]) -> tuple[Any, Any]:
        keys = list(self.keys)
        if self.root == "state":
            holder = optimizer.state[parameters[self.number]]
        elif self.root == "group":
            holder = optimizer.param_groups[self.number]
        else:
            holder = optimizer
        for place, key in enumerate(keys):
            found = key
            if key is OWN:
                found = parameters[self.number] if isinstance(holder, Mapping) else self.number
            if place == len(keys) - 1:
                return holder, found
            holder = getattr(holder, found) if holder is optimizer else holder[found]
        raise AssertionError(self)


def _like(value: Any, old: Any) -> Any:
    """A number or tensor in the type of an old value."""
    if isinstance(old, Tensor):
        new = torch.as_tensor(value, dtype=old.dtype)
        return new.expand(old.shape).clone() if new.numel() == 1 else new.clone()
    return type(old)(float(value))


def leaves(optimizer: Any, parameters: Sequence[Tensor]) -> dict[KeptValue, Any]:
    """Copies of the values that an optimizer holds in its state by parameter, in its groups and in its attributes."""
    number_of = {id(parameter): number for number, parameter in enumerate(parameters)}
    found: dict[KeptValue, Any] = {}
    for parameter, kept in optimizer.state.items():
        if id(parameter) in number_of:
            found.update(_below(KeptValue("state", number_of[id(parameter)], ()), kept, number_of))
    for number, group in enumerate(optimizer.param_groups):
        for key, value in group.items():
            if key != "params":
                found.update(_below(KeptValue("group", number, (key,)), value, number_of))
    for key, value in vars(optimizer).items():
        if key not in OF_TORCH and not key.startswith(("_optimizer_", "_zero_grad", "_patched", "_warned")):
            found.update(_below(KeptValue("self", 0, (key,)), value, number_of))
    return found


def _below(place: KeptValue, value: Any, number_of: Mapping[int, int]) -> Iterator[tuple[KeptValue, Any]]:
    if isinstance(value, Mapping) and len(place.keys) < DEEPEST:
        for key, inner in value.items():
            if id(key) in number_of:
                yield from _below(
                    KeptValue(place.root, number_of[id(key)], (*place.keys, OWN)), inner, number_of
                )
            elif isinstance(key, (str, int)):
                yield from _below(KeptValue(place.root, place.number, (*place.keys, key)), inner, number_of)
    elif isinstance(value, list) and len(place.keys) < DEEPEST:
        of_parameters = place.root == "self" and len(value) == len(number_of)
        for number, inner in enumerate(value):
            whose = (number, OWN) if of_parameters else (place.number, number)
            yield from _below(KeptValue(place.root, whose[0], (*place.keys, whose[1])), inner, number_of)
    else:
        yield place, value.detach().clone() if isinstance(value, Tensor) else value


def is_number(value: Any) -> bool:
    """Is a value one number?"""
    return (isinstance(value, (int, float)) and not isinstance(value, bool)) or (
        isinstance(value, Tensor) and value.ndim == 0
    )


def moving(history: Sequence[Mapping[KeptValue, Any]], what: str) -> tuple[list[KeptValue], list[KeptValue]]:
    """The counters and the other places whose values change, in the values after each of some steps.

    Raises `DefinitionError` if what changes is no number and no tensor of one shape, or is not there after every step.
    """
    first = history[0]
    for later in history[1:]:
        for place in later.keys() ^ first.keys():
            raise DefinitionError(
                f"{what}: keeps a list or a dictionary that grows from step to step ({place.told}); expected numbers and tensors "
                "of one shape, which are read and restored between its steps"
            )
    counters: list[KeptValue] = []
    others: list[KeptValue] = []
    for place, value in first.items():
        values = [held[place] for held in history]
        if all(_same(value, other) for other in values[1:]):
            continue
        if all(is_number(other) for other in values):
            steps = {float(b) - float(a) for a, b in pairwise(values)}
            (counters if len(steps) == 1 else others).append(place)
        elif all(isinstance(other, Tensor) and other.shape == value.shape for other in values):
            others.append(place)
        else:
            raise DefinitionError(
                f"{what}: keeps {place.told} of type {type(value).__name__}, which changes from step to step; expected numbers "
                "and tensors of one shape, which are read and restored between its steps"
            )
    return counters, others


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and one.dtype == other.dtype and bool(torch.equal(one, other))
    if isinstance(one, Tensor) or isinstance(other, Tensor) or type(one) is not type(other):
        return False
    return one is other or bool(one == other)


__all__ = ["KeptValue", "is_number", "leaves", "moving"]
