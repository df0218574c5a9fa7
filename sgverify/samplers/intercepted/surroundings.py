"""What a function can keep from one call to the next: its defaults, its closure, its globals, objects and classes."""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

DEEPEST = 8
"""How far attributes and containers are followed."""

_FOREIGN = (
    "torch",
    "numpy",
    "math",
    "functools",
    "typing",
    "collections",
    "dataclasses",
    "builtins",
    "sgverify",
    "abc",
)


def surroundings(function: Callable[..., Any]) -> dict[str, str]:
    """The places that a function can reach besides its arguments, each with the contents found there, as text.

    Followed are closure cells, defaults, attributes, the globals that its code names, and what these hold: containers,
    objects, classes and functions, but for those of libraries. Numpy's and Python's global random generators are among
    them, torch's are not: what torch draws is put in.
    """
    found = {
        "the state of numpy's global random generator": _digest(repr(np.random.get_state())),
        "the state of Python's random generator": _digest(repr(random.getstate())),
    }
    _Walk(found).follow(function, _name_of(function), 0)
    return found


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The places whose contents differ."""
    return [place for place in {**before, **after} if before.get(place) != after.get(place)]


class _Walk:
    def __init__(self, found: dict[str, str]) -> None:
        self._found = found
        # Kept, so that no id is given to another object.
        self._seen: dict[int, Any] = {}

    def follow(self, value: Any, place: str, depth: int) -> None:
        text = _text(value)
        if text is not None:
            self._found[place] = text
            return
        if id(value) in self._seen or depth > DEEPEST:
            return
        self._seen[id(value)] = value
        for part, inner in self._parts(value, place):
            self.follow(inner, part, depth + 1)

    def _parts(self, value: Any, place: str) -> Iterator[tuple[str, Any]]:
        if isinstance(value, functools.partial):
            yield place, value.func
            yield f"{place}.args", list(value.args)
            yield f"{place}.keywords", value.keywords
        elif isinstance(value, MethodType):
            yield place, value.__func__
            yield f"{place}.__self__", value.__self__
        elif isinstance(value, FunctionType):
            yield from _of_function(value, place)
        elif isinstance(value, Mapping):
            self._found[f"{place} (keys)"] = repr([repr(key) for key in value])
            yield from ((f"{place}[{key!r}]", inner) for key, inner in value.items())
        elif isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "deque":
            self._found[f"{place} (length)"] = str(len(value))
            yield from ((f"{place}[{k}]", inner) for k, inner in enumerate(value))
        elif isinstance(value, type):
            if not _of_a_library(value.__module__):
                yield from ((f"{value.__name__}.{name}", inner) for name, inner in _own(value))
        elif hasattr(value, "__wrapped__"):
            yield place, value.__wrapped__
        elif not isinstance(value, (ModuleType, BuiltinFunctionType)):
            yield from self._of_object(value, place)

    def _of_object(self, value: Any, place: str) -> Iterator[tuple[str, Any]]:
        kind = type(value)
        if _of_a_library(kind.__module__):
            # A TorchStep or a scheme: what it wraps is the user's.
            if hasattr(value, "function"):
                yield place, value.function
            return
        yield f"the class {kind.__name__}", kind
        names = [
            *getattr(value, "__dict__", {}),
            *(s for c in kind.__mro__ for s in getattr(c, "__slots__", ())),
        ]
        yield from ((f"{place}.{name}", getattr(value, name)) for name in names if hasattr(value, name))


def _of_function(function: FunctionType, place: str) -> Iterator[tuple[str, Any]]:
    if _of_a_library(function.__module__ or ""):
        return
    name = function.__name__
    yield from ((f"the default {k} of {name}", v) for k, v in enumerate(function.__defaults__ or ()))
    yield from ((f"the default of {name}({k})", v) for k, v in (function.__kwdefaults__ or {}).items())
    yield from ((f"{name}.{k}", v) for k, v in vars(function).items() if k != "__wrapped__")
    for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"{variable} in the closure of {name}", cell.cell_contents
        except ValueError:
            continue
    for variable in sorted(_named_in(function.__code__)):
        if variable in function.__globals__:
            yield f"the global {variable}", function.__globals__[variable]


def _named_in(code: CodeType) -> set[str]:
    """The names that a code looks up, nested functions included."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_named_in, inner))


def _own(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(kind).items():
        if name in ("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__"):
            continue
        yield name, value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def _text(value: Any) -> str | None:
    """The contents of what holds nothing else; None for what is followed further."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, torch.dtype, torch.device)):
        return repr(value)
    if isinstance(value, Tensor):
        held = value.detach().cpu().contiguous()
        return f"{held.dtype} {tuple(held.shape)} {_digest(held.view(-1).numpy().tobytes())}"
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{value.dtype} {value.shape} {_digest(value.tobytes())}"
    if isinstance(value, np.random.Generator):
        return _digest(repr(value.bit_generator.state))
    if isinstance(value, np.random.RandomState):
        return _digest(repr(value.get_state()))
    if isinstance(value, random.Random):
        return _digest(repr(value.getstate()))
    return None


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:16]


def _of_a_library(module: str) -> bool:
    return module.partition(".")[0] in _FOREIGN


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
