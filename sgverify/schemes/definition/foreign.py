"""Functions of torch, numpy, JAX, scipy and math in definitions: each is read as the function of `mathematics` that it is.

A definition's values are no tensors, and `torch.tanh(theta)` means tanh(theta) all the same. So a definition that names such a
function is run among other names: a library stands for itself with these functions exchanged, and so do the user's own helpers.
A function of a library without a counterpart is left, and refused where a value of a definition meets it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from sgverify.schemes.definition import mathematics
from sgverify.schemes.definition.mathematics import FUNCTIONS, dot, exp, log, logistic, power, sqrt

LIBRARIES = frozenset({"torch", "numpy", "jax", "jaxlib", "scipy", "math"})
"""The libraries whose functions are exchanged."""


def _square(value: Any) -> Any:
    return value * value


COUNTERPARTS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in FUNCTIONS},
    "dot": dot,
    "sigmoid": logistic,
    "expit": logistic,
    "log1p": lambda value: log(1 + value),
    "log_expit": lambda value: -mathematics.softplus(-value),
    "log_sigmoid": lambda value: -mathematics.softplus(-value),
    "logsigmoid": lambda value: -mathematics.softplus(-value),
    "pow": power,
    "power": power,
    "reciprocal": lambda value: 1 / value,
    "rsqrt": lambda value: 1 / sqrt(value),
    "sinh": lambda value: (exp(value) - exp(-value)) / 2,
    "cosh": lambda value: (exp(value) + exp(-value)) / 2,
    "square": _square,
}
"""The functions of definitions under the names that libraries have for them."""


def in_own_terms(function: Any) -> Any:
    """The function among names of which those of `LIBRARIES` mean functions of definitions; itself where it uses none."""
    return _translated(function, {}) if _speaks(function, set()) else function


class Library:
    """A library, or a part of one, whose functions that have a counterpart are it."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if isinstance(value, ModuleType):
            return Library(value)
        return COUNTERPARTS.get(name, value)


class ForeignNames(dict[str, Any]):
    """The names that a function sees, those of libraries exchanged; looked up in its own module each time."""

    def __init__(self, seen: dict[str, Any], known: dict[int, Any]) -> None:
        super().__init__(
            __builtins__={**vars(builtins), "__import__": _import}, __name__=seen.get("__name__")
        )
        self._seen, self._known = seen, known

    def __missing__(self, name: str) -> Any:
        return _translated(self._seen[name], self._known)

    def meanings(self) -> dict[str, Any]:
        """All names with what they mean."""
        return {name: self[name] for name in self._seen}


def _import(*wanted: Any, **options: Any) -> Any:
    return _translated(__import__(*wanted, **options), {})


def _library_of(value: Any) -> str:
    """The library that a module or a function is of, by its name."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return str(name or type(value).__module__).partition(".")[0]


def _counterpart(value: Any) -> Callable[..., Any] | None:
    name = getattr(value, "__name__", None)
    if not callable(value) or isinstance(value, type) or not isinstance(name, str):
        return None
    return COUNTERPARTS.get(name.removeprefix("special_")) if _library_of(value) in LIBRARIES else None


def _is_own(value: Any) -> bool:
    return isinstance(value, FunctionType) and _library_of(value) not in (*LIBRARIES, "sgverify")


def _speaks(value: Any, met: set[int]) -> bool:
    """Whether a value is of a library, or a user's function that uses one, by itself or by its helpers."""
    if isinstance(value, ModuleType):
        return _library_of(value) in LIBRARIES
    if not _is_own(value):
        return _counterpart(value) is not None
    if id(value) in met:
        return False
    met.add(id(value))
    seen = value.__globals__
    names = [*_names_in(value.__code__)]
    named = [seen[name] for name in names if name in seen]
    if any(name in LIBRARIES and name not in seen for name in names):
        return True
    return any(_speaks(item, met) for item in (*named, *_enclosed(value)))


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _names_in(item)


def _enclosed(function: FunctionType) -> list[Any]:
    cells = function.__closure__ or ()
    return [cell.cell_contents for cell in cells if cell != CellType()]


def _translated(value: Any, known: dict[int, Any]) -> Any:
    if isinstance(value, ModuleType):
        return Library(value) if _library_of(value) in LIBRARIES else value
    if not _is_own(value):
        return _counterpart(value) or value
    if id(value) not in known:
        made = FunctionType(
            value.__code__,
            ForeignNames(value.__globals__, known),
            value.__name__,
            value.__defaults__,
            tuple(CellType() for _ in value.__closure__ or ()),
        )
        known[id(value)] = made
        for cell, own in zip(made.__closure__ or (), value.__closure__ or (), strict=True):
            if own != CellType():
                cell.cell_contents = _translated(own.cell_contents, known)
        made.__dict__.update(value.__dict__)
        made.__module__, made.__qualname__ = value.__module__, value.__qualname__
        made.__doc__, made.__annotations__ = value.__doc__, value.__annotations__
        made.__kwdefaults__ = value.__kwdefaults__
    return known[id(value)]
