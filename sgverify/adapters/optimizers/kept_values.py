"""Which values does an optimizer keep between its steps, and how are they read and restored?

They are found by running it: a value that changes from step to step is kept, wherever it lies: in the state of a parameter, at the
parameter itself, in a parameter group, in an attribute, in a closure, or in a global of its module. A number that grows by the same
amount at every step is a counter; the others are memory.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from types import CodeType, FunctionType
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


class _OwnOf(_Own):
    """Stands for a key made of the parameter: its id, or its shape."""

    def __init__(self, key_of: Callable[[Tensor], Any]) -> None:
        self.key_of = key_of


OWN_ID, OWN_SHAPE = _OwnOf(id), _OwnOf(lambda parameter: tuple(parameter.shape))


def is_own(key: Any) -> bool:
    """Does a key stand for the parameter?"""
    return isinstance(key, _Own)


@dataclass(frozen=True)
class KeptValue:
    """A value under `keys`, by its root.

    "state" and "param" are the state of parameter `number` and the parameter itself, "group" is group `number`, "self" are the
    attributes of the optimizer, and "outside" the closures and globals of its code.
    """

    root: str
    number: int
    keys: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The name of the value, the same for every parameter and group."""
        return "_".join(str(key) for key in self.keys if not is_own(key))

    @property
    def told(self) -> str:
        """The place as a user finds it."""
        first = {"state": "state[p]", "group": f"param_groups[{self.number}]"}.get(self.root)
        keys = self.keys if first else self.keys[1:]
        owner = {"self": "self.", "param": "p."}.get(self.root, "")
        return (first or f"{owner}{self.keys[0]}") + "".join(f"[{key!r}]" for key in keys)

    def is_in(self, holder: KeptValue) -> bool:
        """Is the value an entry of a list or a dictionary?"""
        same = (self.root, self.number, self.keys[: len(holder.keys)])
        return same == (holder.root, holder.number, holder.keys)

    def read(self, optimizer: Any, parameters: Sequence[Tensor]) -> Any:
        """The value."""
        holder, key = self._holder(optimizer, parameters)
        return holder[key]

    def write(self, optimizer: Any, parameters: Sequence[Tensor], value: Any, *, exact: bool = False) -> None:
        """Put a value, in the type of the one that is there; `exact`: in float64, for a counter that is a tensor rounds nothing."""
        holder, key = self._holder(optimizer, parameters)
        old = holder[key]
        wide = exact and isinstance(old, Tensor) and old.is_floating_point()
        holder[key] = _like(value, old.double() if wide else old)

    def _holder(self, optimizer: Any, parameters: Sequence[Tensor]) -> tuple[Any, Any]:
        keys = list(self.keys)
        if self.root == "state":
            holder = optimizer.state[parameters[self.number]]
        elif self.root == "param":
            holder = vars(parameters[self.number])
        elif self.root == "group":
            holder = optimizer.param_groups[self.number]
        elif self.root == "outside":
            holder = vars(optimizer)[OUTSIDE]
        else:
            holder = vars(optimizer)
        for place, key in enumerate(keys):
            found = key
            if key is OWN:
                found = parameters[self.number] if isinstance(holder, Mapping) else self.number
            elif isinstance(key, _OwnOf):
                found = key.key_of(parameters[self.number])
            if place == len(keys) - 1:
                return holder, found
            holder = holder[found]
        raise AssertionError(self)


def _like(value: Any, old: Any) -> Any:
    """A number or tensor in the type of an old value."""
    if isinstance(old, Tensor):
        new = torch.as_tensor(value, dtype=old.dtype)
        return new.expand(old.shape).clone() if new.numel() == 1 else new.clone()
    return type(old)(float(value))


def leaves(optimizer: Any, parameters: Sequence[Tensor]) -> dict[KeptValue, Any]:
    """Copies of the values that an optimizer holds, wherever they lie."""
    # Of parameters of one shape the first stands for it.
    number_of: dict[Any, int] = {tuple(p.shape): k for k, p in reversed(list(enumerate(parameters)))}
    number_of |= {id(parameter): number for number, parameter in enumerate(parameters)}
    found: dict[KeptValue, Any] = {}
    for place, kept in optimizer.state.items():
        if id(place) in number_of:
            found.update(values_below(KeptValue("state", number_of[id(place)], ()), kept, number_of))
    for number, parameter in enumerate(parameters):
        found.update(values_below(KeptValue("param", number, ()), vars(parameter), number_of))
    found.update(values_below(KeptValue("outside", 0, ()), vars(optimizer).get(OUTSIDE, {}), number_of))
    for number, group in enumerate(optimizer.param_groups):
        for key, value in group.items():
            if key != "params":
                found.update(values_below(KeptValue("group", number, (key,)), value, number_of))
    for key, value in vars(optimizer).items():
        if key not in (*OF_TORCH, OUTSIDE) and not key.startswith(
            ("_optimizer_", "_zero_grad", "_patched", "_warned")
        ):
            found.update(values_below(KeptValue("self", 0, (key,)), value, number_of))
    return found


def values_below(
    place: KeptValue, value: Any, number_of: Mapping[Any, int]
) -> Iterator[tuple[KeptValue, Any]]:
    """Copies of what a dictionary or a list holds, with their places, or of a value itself.

    `number_of` are the parameters by their id, and those of one shape by that.
    """
    if isinstance(value, Mapping) and len(place.keys) < DEEPEST:
        for key, inner in value.items():
            made = isinstance(key, (int, tuple)) and key in number_of
            own = key if made else id(key)
            if own in number_of:
                sign = (OWN_ID if isinstance(key, int) else OWN_SHAPE) if made else OWN
                yield from values_below(
                    KeptValue(place.root, number_of[own], (*place.keys, sign)), inner, number_of
                )
            elif isinstance(key, (str, int, tuple)):
                yield from values_below(
                    KeptValue(place.root, place.number, (*place.keys, key)), inner, number_of
                )
    elif isinstance(value, list) and len(place.keys) < DEEPEST:
        of_parameters = place.root in ("self", "outside") and len(value) == len({*number_of.values()})
        for number, inner in enumerate(value):
            whose = (number, OWN) if of_parameters else (place.number, number)
            yield from values_below(
                KeptValue(place.root, whose[0], (*place.keys, whose[1])), inner, number_of
            )
    elif not isinstance(value, torch.Generator) and id(value) not in number_of:
        # Neither the parameters are, nor a generator: what it draws is put in, and a run shows whether it draws anew.
        yield place, value.detach().clone() if isinstance(value, Tensor) else value


def is_number(value: Any) -> bool:
    """Is a value one number?"""
    return (isinstance(value, (int, float)) and not isinstance(value, bool)) or (
        isinstance(value, Tensor) and value.ndim == 0
    )


def moving(history: Sequence[Mapping[KeptValue, Any]], what: str) -> tuple[list[KeptValue], list[KeptValue]]:
    """The counters and the other places whose values change, in the values after each of some steps.

    Raises `DefinitionError` if what changes is no number and no tensor of one shape.
    """
    first = history[0]
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


def stocks_of(history: Sequence[Mapping[KeptValue, Any]], what: str) -> list[KeptValue]:
    """The lists and dictionaries that have other entries after some steps than after the first, such as a pool of draws.

    Raises `DefinitionError` for a value that is not there after every step, and is in none.
    """
    first = history[0]
    found: dict[KeptValue, None] = {}
    for place in (place for later in history[1:] for place in later.keys() ^ first.keys()):
        if len(place.keys) < 2:
            raise DefinitionError(
                f"{what}: keeps {place.told} after some of its steps alone; expected numbers and tensors of one shape, which are "
                "read and restored between its steps"
            )
        found[replace(place, keys=place.keys[:-1])] = None
    return list(found)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and one.dtype == other.dtype and bool(torch.equal(one, other))
    if isinstance(one, Tensor) or isinstance(other, Tensor) or type(one) is not type(other):
        return False
    return one is other or bool(one == other)


OUTSIDE = "_values_outside"
"""The attribute under which an optimizer is given values of its own in the place of those of closures and globals."""


def with_own_surroundings(make: Callable[..., Any], kind: Any) -> Callable[..., Any]:
    """A function that makes optimizers each of which has closures and globals of its own, as those are now.

    They are in their places while the optimizer is made and while it steps. Without them, one that is made for another shape would
    find what an earlier one has left there.
    """
    places = list(_outside(kind))
    fresh = {name: _copied(read()) for name, read, _ in places}
    if not places:
        return make

    def within(own: dict[str, Any], function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        before = [read() for _, read, _ in places]
        for name, _, write in places:
            write(own[name])
        try:
            return function(*args, **options)
        finally:
            own.update((name, read()) for name, read, _ in places)
            for (_, _, write), value in zip(places, before, strict=True):
                write(value)

    def made(params: Any, **options: Any) -> Any:
        own = {name: _copied(value) for name, value in fresh.items()}
        optimizer = within(own, make, params, **options)
        setattr(optimizer, OUTSIDE, own)
        optimizer.step = functools.wraps(optimizer.step)(functools.partial(within, own, optimizer.step))
        return optimizer

    return made


_Place = tuple[str, Callable[[], Any], Callable[[Any], None]]

_DATA = (dict, list, Tensor, int, float, type(None))


def _outside(kind: Any) -> Iterator[_Place]:
    """The cells, globals and class attributes with data that the code of a class reaches, with how each is read and written."""
    seen: set[str] = set()
    for owner in _owners(kind):
        for name, value in vars(owner).items() if isinstance(owner, type) else ():
            if isinstance(value, (dict, list, Tensor)) and not name.startswith("__") and name not in seen:
                seen.add(name)
                yield name, functools.partial(getattr, owner, name), functools.partial(setattr, owner, name)
        for function in filter(None, map(_function, [owner, *vars(owner).values()])):
            for name, value, holder in named_values(function):
                if name in seen or not isinstance(value, _DATA):
                    continue
                seen.add(name)
                if isinstance(holder, dict):
                    write = functools.partial(holder.__setitem__, name)
                    yield name, functools.partial(holder.__getitem__, name), write
                else:
                    place = holder, "cell_contents"
                    yield name, functools.partial(getattr, *place), functools.partial(setattr, *place)


def _owners(kind: Any) -> list[Any]:
    """A class and its parents, those of torch and of the language left out, or a function that makes one."""
    inner = kind.func if isinstance(kind, functools.partial) else kind
    owners = inner.__mro__ if isinstance(inner, type) else (inner,)
    return [
        owner for owner in owners if not getattr(owner, "__module__", "").startswith(("torch", "builtins"))
    ]


def _function(value: Any) -> FunctionType | None:
    inner = inspect.unwrap(value) if callable(value) else None
    return inner if isinstance(inner, FunctionType) else None


def names_in(code: CodeType) -> set[str]:
    """The names of globals and attributes in code and in the functions within it."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(names_in, inner))


def named_values(function: FunctionType) -> Iterator[tuple[str, Any, Any]]:
    """The names, values and holders (a cell, or the namespace) of the closure and the globals that code names."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):
            # An empty cell has no contents.
            yield name, cell.cell_contents, cell
    space = function.__globals__
    yield from ((name, space[name], space) for name in sorted(names_in(function.__code__) & space.keys()))


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # a tensor of a graph, or an object that cannot be copied: it is shared
        return value
