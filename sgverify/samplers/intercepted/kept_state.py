"""Which values can a function keep from one call to the next: defaults, closure, globals, objects, classes?"""

from __future__ import annotations

import array
import functools
import gc
import hashlib
import io
import itertools
import operator
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from types import BuiltinFunctionType, CodeType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

DEEPEST = 8
"""The depth to which attributes and containers are followed."""

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
    "jax",
    "jaxlib",
)

_KEPT_BY_TORCH: dict[type, tuple[str, ...]] = {
    torch.nn.Module: ("training", "_parameters", "_buffers", "_modules"),
    torch.optim.Optimizer: ("state", "param_groups"),
}


def surroundings(function: Callable[..., Any]) -> dict[str, str]:
    """The places that a function can reach besides its arguments, each with its contents as text.

    The search follows closure cells, defaults, attributes and the globals that the code names, and the contents of these:
    containers, iterators, objects, classes and functions. Of modules and of libraries' classes it follows the attributes that
    the code names; of torch's modules and optimisers their parameters, buffers and state. The global random generators of numpy
    and Python are included; torch's are not, since torch's draws are prescribed. Attributes with computed names, and state
    inside C libraries, are not seen.
    """
    found = {
        "the state of numpy's global random generator": _digest(repr(np.random.get_state())),
        "the state of Python's random generator": _digest(repr(random.getstate())),
    }
    _Walk(found).follow(function, _name_of(function), 0)
    return found


def kept_shapes(function: Callable[..., Any]) -> dict[str, tuple[int, ...]]:
    """The tensors and arrays of one axis or more that a function can reach besides its arguments, each with its shape."""
    walk = _Walk({})
    walk.follow(function, _name_of(function), 0)
    return {place: shape for place, shape in walk.shapes.items() if shape}


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The places whose contents differ between the two searches."""
    return [place for place in {**before, **after} if before.get(place) != after.get(place)]


class _Walk:
    def __init__(self, found: dict[str, str]) -> None:
        self._found = found
        # Names in the code found so far: attributes, and strings (which may be arguments of getattr).
        self._names: set[str] = set()
        # The objects are kept alive, so that no id is reused for another object.
        self._seen: dict[int, Any] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}

    def follow(self, value: Any, place: str, depth: int) -> None:
        if isinstance(value, (Tensor, np.ndarray)):
            self.shapes[place] = tuple(value.shape)
        text = _text(value)
        if text is not None:
            self._found[place] = text
            for key, inner in vars(value).items() if isinstance(value, Tensor) else ():
                self.follow(inner, f"{place}.{key}", depth + 1)
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
            if not of_a_library(value.__module__ or ""):
                self._names |= _named_in(value.__code__)
            yield from _of_function(value, place)
        elif value is sys.modules:
            yield from ((name, inner) for name, inner in value.items() if name in self._names)
        elif isinstance(value, ModuleType) or (isinstance(value, type) and of_a_library(value.__module__)):
            yield from self._named(value)
        elif isinstance(value, Mapping):
            keys = [_key(number, key) for number, key in enumerate(value)]
            self._found[f"{place} (keys)"] = repr(keys)
            yield from ((f"{place}[{key}]", inner) for key, inner in zip(keys, value.values(), strict=True))
        elif isinstance(value, GeneratorType):
            self._found[f"{place} (at)"] = str(value.gi_frame and value.gi_frame.f_lasti)
            yield f"{place} (locals)", dict(value.gi_frame.f_locals) if value.gi_frame else None
        elif isinstance(value, ContextVar):
            yield f"{place} (value)", value.get(None)
        elif isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "deque":
            self._found[f"{place} (length)"] = str(len(value))
            yield from ((f"{place}[{k}]", inner) for k, inner in enumerate(value))
        elif isinstance(value, type):
            yield from ((f"{value.__name__}.{name}", inner) for name, inner in _own(value))
        elif hasattr(value, "__wrapped__"):
            if hasattr(value, "cache_info"):
                # The size of the cache, not its hits and misses: a cached value equals the computed one.
                self._found[f"{place} (cached)"] = str(value.cache_info().currsize)
                # A caller may write to a value that the cache returned.
                held = [
                    inner
                    for inner in gc.get_referents(value)
                    if isinstance(inner, _MUTABLE) and inner is not vars(value)
                ]
                yield from ((f"{place} (cached {k})", inner) for k, inner in enumerate(sorted(held, key=id)))
            yield place, value.__wrapped__
        elif not isinstance(value, BuiltinFunctionType):
            yield from self._of_object(value, place)

    def _named(self, holder: ModuleType | type) -> Iterator[tuple[str, Any]]:
        """The attributes of a module, or of a library's class, that the code names."""
        held = vars(holder)
        yield from ((f"{holder.__name__}.{name}", held[name]) for name in sorted(self._names) if name in held)

    def _of_object(self, value: Any, place: str) -> Iterator[tuple[str, Any]]:
        kind = type(value)
        if of_a_library(kind.__module__):
            # A TorchStep or a scheme wraps a function of the user.
            if hasattr(value, "function"):
                yield place, value.function
            for name in _KEPT_BY_TORCH.get(next((c for c in kind.__mro__ if c in _KEPT_BY_TORCH), kind), ()):
                yield f"{place}.{name}", getattr(value, name)
            return
        yield f"the class {kind.__name__}", kind
        names = [
            *getattr(value, "__dict__", {}),
            # An extension's type may list the slot of weak references, which cannot be read.
            *(s for c in kind.__mro__ for s in getattr(c, "__slots__", ()) if s != "__weakref__"),
        ]
        yield from ((f"{place}.{name}", getattr(value, name)) for name in names if hasattr(value, name))


def _of_function(function: FunctionType, place: str) -> Iterator[tuple[str, Any]]:
    if of_a_library(function.__module__ or ""):
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
    """The names and the strings in a code object, nested functions included; a string may be a name for getattr."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    spelled = {constant for constant in code.co_consts if isinstance(constant, str)}
    return spelled.union(code.co_names, *map(_named_in, inner))


def _own(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(kind).items():
        if name in ("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__"):
            continue
        yield name, value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def _unwrapped(value: Tensor) -> Tensor:
    """The values of a tensor that code kept from inside a finished `torch.func.vmap`."""
    functorch = torch._C._functorch
    while functorch.is_batchedtensor(value):
        value = functorch.get_unwrapped(value)
    return value


def _text(value: Any) -> str | None:
    """The contents of a value without parts, as text; None for a value whose parts are followed."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, torch.dtype, torch.device)):
        return repr(value)
    if isinstance(value, Tensor):
        held = _unwrapped(value).detach().cpu().contiguous()
        text = f"{held.dtype} {tuple(held.shape)} {_digest(held.view(-1).numpy().tobytes())}"
        return f"{text}, gradient {_text(value.grad)}" if value.is_leaf and value.grad is not None else text
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{value.dtype} {value.shape} {_digest(value.tobytes())}"
    if isinstance(value, np.random.Generator):
        return _digest(repr(value.bit_generator.state))
    if isinstance(value, np.random.RandomState):
        return _digest(repr(value.get_state()))
    if isinstance(value, random.Random):
        return _digest(repr(value.getstate()))
    if isinstance(value, torch.Generator):
        return _text(value.get_state())
    if isinstance(value, (array.array, bytearray, memoryview)):
        return _digest(bytes(value))
    if isinstance(value, (io.StringIO, io.BytesIO)):
        return "closed" if value.closed else f"at {value.tell()} of {_digest(value.getvalue())}"
    if isinstance(value, itertools.count):
        return repr(value)
    if isinstance(value, _ITERATORS):
        # The number of remaining items, from the length hint, without advancing the iterator.
        return f"{operator.length_hint(value)} left"
    return None


_MUTABLE = (dict, list, set, bytearray, Tensor, np.ndarray)

_ITERABLE: tuple[Any, ...] = ((), [], {}, set(), "", b"", range(1), range(1 << 70))
_ITERATORS = tuple(type(iter(held)) for held in _ITERABLE)


def _key(number: int, key: Any) -> str:
    """The name of an entry of a mapping: its key if that is a plain value, else the key's type and the entry's index."""
    plain = isinstance(key, (str, bytes, int, float, complex, tuple, type(None)))
    return repr(key) if plain else f"{type(key).__name__} {number}"


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:16]


def of_a_library(module: str) -> bool:
    """Does a module, by its name, belong to a library, so that users write no steps in it?"""
    return module.partition(".")[0] in _FOREIGN


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
