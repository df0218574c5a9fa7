"""What torch code carries from call to call besides the state of its dynamics: names, shapes and first values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.abstract_value import SCALAR, VECTOR

Axes = tuple[int | str, ...]
"""The shape of one chain's tensor: whole numbers, and "dim" for the dimension of theta."""

DIM = "dim"

SHAPES: dict[str, Axes] = {VECTOR: (DIM,), SCALAR: ()}
"""The shapes that have names: a vector is as long as theta, a scalar is one number."""


@dataclass(frozen=True)
class Memory:
    """A variable that a step takes after the state of its dynamics and returns with it.

    `shape` is that of one chain's tensor: "vector" (theta's), "scalar", or a tuple such as ("dim", "dim") or (3, "dim").
    `start` is its first value: a number for all of its coordinates, a function of the dynamics' state that returns a tensor,
    or None if it may start anywhere. Where a start is stated, code is tried at memories that it reaches from there: a second
    moment is never negative, for one.

    >>> Memory("v").shape_at(2), Memory("count", shape="scalar", start=1.0).shape_at(2)
    ((2,), ())
    """

    name: str
    shape: str | Axes = VECTOR
    start: float | Callable[..., Any] | None = None

    @property
    def axes(self) -> Axes:
        """The shape with its name resolved."""
        return axes_of(self.shape)

    def shape_at(self, dim: int) -> tuple[int, ...]:
        """The shape of one chain's tensor in this dimension."""
        return shape_at(self.shape, dim)


def axes_of(shape: str | Axes) -> Axes:
    """A named shape, or a tuple as it is."""
    return SHAPES[shape] if isinstance(shape, str) else shape


def shape_at(shape: str | Axes, dim: int) -> tuple[int, ...]:
    """The shape of one chain's tensor in this dimension: (dim,) of a vector, () of a scalar."""
    return tuple(dim if axis == DIM else int(axis) for axis in axes_of(shape))


def size_at(shape: str | Axes, dim: int) -> int:
    """The number of coordinates in this dimension."""
    return math.prod(shape_at(shape, dim))


def shaped(flat: Any, shape: str | Axes, dim: int, *, chains: bool) -> Any:
    """Coordinates as the tensor that a step takes.

    Of one chain, `flat` has shape (size,) and becomes (dim,), () and the like; of many, (chains, size) becomes (chains, dim),
    for a scalar (chains, 1).
    """
    axes = shape_at(shape, dim)
    return flat.reshape((len(flat), *(axes or (1,)))) if chains else flat.reshape(axes)


def coordinate_names(name: str, shape: str | Axes, dim: int) -> list[str]:
    """The names of a variable's coordinates, such as theta[0]; of a single one the variable's."""
    size = size_at(shape, dim)
    return [name] if size == 1 else [f"{name}[{i}]" for i in range(size)]


Given = Iterable[str | Memory] | Mapping[str, "float | Callable[..., Any] | Memory"]


def read_memory(given: Given, call: str, taken: Iterable[str]) -> tuple[Memory, ...]:
    """The memory that `call`, such as "torch_step(langevin", is given; `taken` are names with another meaning.

    Raises `DefinitionError` for anything but new names, each with a shape and a start.
    """
    if isinstance(given, str):
        raise _refused(given, call)
    if isinstance(given, Mapping):
        found = [_started(name, start) for name, start in given.items()]
    else:
        found = [item if isinstance(item, Memory) else Memory(item) for item in given]
    names = [item.name for item in found]
    right = all(isinstance(name, str) and name.isidentifier() for name in names)
    if not right or len({*names}) < len(names) or {*taken}.intersection(names):
        raise _refused(given, call)
    for item in found:
        _check(item, call)
    return tuple(found)


def _started(name: str, start: Any) -> Memory:
    if isinstance(start, Memory):
        return Memory(name, start.shape, start.start)
    return Memory(name, start=start)


def _check(item: Memory, call: str) -> None:
    known = isinstance(item.shape, str) and item.shape in SHAPES
    sized = isinstance(item.shape, tuple) and all(
        axis == DIM or (isinstance(axis, int) and not isinstance(axis, bool) and axis >= 1)
        for axis in item.shape
    )
    if not (known or sized):
        raise DefinitionError(
            f"{call}, memory={item.name}): has shape={item.shape!r}; expected 'vector', 'scalar', or a tuple of whole numbers and "
            "'dim', such as ('dim', 'dim')"
        )
    number = isinstance(item.start, (int, float)) and not isinstance(item.start, bool)
    if not (item.start is None or callable(item.start) or (number and math.isfinite(item.start))):
        raise DefinitionError(
            f"{call}, memory={item.name}): starts at {item.start!r}; expected a finite number, or a function of the state"
        )


def _refused(given: Any, call: str) -> DefinitionError:
    return DefinitionError(
        f"{call}, memory={given!r}): expected new names of positional parameters, such as memory=['v']; a first value is "
        "memory={'v': 0.0}, another shape memory=[Memory('n', shape='scalar')]"
    )
