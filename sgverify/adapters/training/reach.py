"""Which modules, optimizers and numbers does a function reach by its globals, its closure and the functions that it calls?"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sgverify.adapters.optimizers.kept_values import contents, names_in
from sgverify.schemes.adapting import is_of

DEEPEST = 4
"""The depth to which functions that call one another are followed."""


@dataclass
class Reached:
    """What a function reaches: `numbers` by name, with the namespace that holds each."""

    modules: list[Any] = field(default_factory=list)
    optimizers: list[Any] = field(default_factory=list)
    numbers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    torch: bool = False


def reached(function: types.FunctionType) -> Reached:
    """What the function and the plain functions that it names reach; libraries' code is not followed."""
    found = Reached()
    seen: set[int] = set()
    _follow(function, found, seen, 0)
    return found


def _follow(function: types.FunctionType, found: Reached, seen: set[int], depth: int) -> None:
    if id(function) in seen or depth > DEEPEST:
        return
    seen.add(id(function))
    space = function.__globals__
    named = {name: space[name] for name in names_in(function.__code__) if name in space}
    for name, value in named.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found.numbers.setdefault(name, []).append(space)
    cells = map(contents, function.__closure__ or ())
    for value in (*named.values(), *cells, *(function.__defaults__ or ())):
        for item in _items(value):
            _take(item, found, seen, depth)


def _take(value: Any, found: Reached, seen: set[int], depth: int) -> None:
    if isinstance(value, types.ModuleType):
        found.torch = found.torch or value.__name__.partition(".")[0] == "torch"
    elif isinstance(value, types.FunctionType):
        inside = value.__module__.partition(".")[0]
        found.torch = found.torch or inside == "torch"
        if inside not in ("torch", "numpy", "sgverify"):
            _follow(value, found, seen, depth + 1)
    elif is_of(value, "torch"):
        found.torch = True
        if is_of(value, "torch.optim.optimizer") and not isinstance(value, type):
            _add(found.optimizers, value)
        elif is_of(value, "torch.nn.modules.module") and not isinstance(value, type):
            _add(found.modules, value)


def _add(held: list[Any], value: Any) -> None:
    if not any(value is other for other in held):
        held.append(value)


def _items(value: Any) -> Iterator[Any]:
    """The value, or the entries of a container of few."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and len(value) <= 16:
        yield from value
    else:
        yield value


__all__ = ["Reached", "reached"]
