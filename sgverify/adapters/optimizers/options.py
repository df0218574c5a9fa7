"""Which values does an optimizer keep between its steps, and how are they read and restored?

They are found by running it: what changes from step to step in the state of a parameter, in a parameter group or in an attribute
is kept. A number that grows by the same amount at every step is a counter; the others are memory.

The parameters of an optimizer's constructor: which are h, T and D, and which keep their defaults?
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from sgverify.adapters.optimizers.arguments import arguments_of_step, giving
from sgverify.errors import DefinitionError, find_named
from sgverify.schemes.adapting import AdapterSettings, Parameter, parameter
from sgverify.schemes.dynamics import Dynamics, kinetic, langevin

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

    def write(self, optimizer: Any, parameters: Sequence[Tensor], value: Any, *, exact: bool = False) -> None:
        """Put a value, in the type of the one that is there; `exact`: in float64, for a counter that is a tensor rounds nothing."""
        holder, key = self._holder(optimizer, parameters)
        old = getattr(holder, key) if holder is optimizer else holder[key]
        new = _like(
            value, old.double() if exact and isinstance(old, Tensor) and old.is_floating_point() else old
        )
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
    for place, kept in optimizer.state.items():
        if id(place) in number_of:
            found.update(_below(KeptValue("state", number_of[id(place)], ()), kept, number_of))
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
    elif not isinstance(value, torch.Generator):
        # A generator is no state: what it draws is put in, and a run shows whether it draws anew.
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


NAMES: dict[str, tuple[str, ...]] = {
    "h": ("lr", "learning_rate", "step_size", "stepsize", "h"),
    "T": ("temperature", "temp", "T"),
    "D": ("friction", "momentum_decay", "alpha", "D"),
}
"""The names by which constructors call the step size, the temperature and the friction."""

CONVENTIONS = {name: quantity for quantity, names in NAMES.items() for name in names}

EMPTY = inspect.Parameter.empty


@dataclass(frozen=True)
class At:
    """The options at some h, T and D, and what the gradient is divided by.

    An optimizer without an option for T samples at the temperature 1; it is given U/T. For langevin one of its steps then is
    one of size h T, for kinetic one of size h sqrt(T) with friction D/sqrt(T) and momentum p/sqrt(T): `h` is this step size and
    `root` the momentum's factor.
    """

    values: dict[str, Any]
    h: float
    temperature: float = 1.0
    root: float = 1.0


@dataclass(frozen=True)
class Options:
    """The options of `make(params, **options)`: `told` as expressions in h, T and D, `left` with their defaults.

    `tempered`: there is no option for T, so that the optimizer is given U/T.
    """

    name: str
    make: Callable[..., Any]
    told: Mapping[str, str]
    read: Mapping[str, Parameter]
    left: Mapping[str, Any]
    dynamics: Dynamics
    tempered: bool
    needed: tuple[str, ...] = ()
    """Those without default."""
    of_step: tuple[str, ...] = ()
    """Those that are arguments of `step`, and not of the constructor."""

    def at(self, quantities: Mapping[str, float]) -> At:
        """The options at h, T, D and dim."""
        if not self.tempered:
            return At(self._values(quantities), quantities["h"])
        temperature = quantities["T"]
        if self.dynamics is langevin:
            given = {**quantities, "h": quantities["h"] * temperature, "T": 1.0}
            return At(self._values(given), given["h"], temperature)
        root = math.sqrt(temperature)
        given = {**quantities, "h": quantities["h"] * root, "D": quantities["D"] / root, "T": 1.0}
        return At(self._values(given), given["h"], temperature, root)

    def made_with(self, option: str, at: At) -> Any:
        """The value of an option with which the optimizer is made there."""
        return at.values.get(option, self.left.get(option))

    def is_one(self, name: str, value: Any) -> bool:
        """Is it an option that is told, or whose default is a number like this value: no integer, as counters are?"""
        default = self.left.get(name)
        return name in self.read or (isinstance(default, float) and isinstance(value, float))

    def _values(self, quantities: Mapping[str, float]) -> dict[str, Any]:
        return {name: read(quantities) for name, read in self.read.items()}

    @property
    def call(self) -> str:
        """The calls that make an optimizer, and its step if it is given arguments, as they are told to a user."""
        given = [f"{name}={text}" for name, text in self.told.items() if name not in self.of_step]
        stepped = [f"{name}={text}" for name, text in self.told.items() if name in self.of_step]
        return f"{self.name}({', '.join(['params', *given])})" + (
            f".step({', '.join(stepped)})" if stepped else ""
        )


def read_options(
    make: Callable[..., Any], name: str, dynamics: Dynamics, settings: AdapterSettings, told: str
) -> Options:
    """The options of a class or a function `make`, with those of `adapter.map`.

    Raises `DefinitionError` for unknown names in the map, an option without default that has no name known here, and
    options of which none is the step size, or none the friction of dynamics that have one.
    """
    given = settings.map
    try:
        parameters = list(inspect.signature(make).parameters.values())[1:]
    except (TypeError, ValueError):
        raise DefinitionError(
            f"{told}: {name} has no signature that can be read; expected def __init__(self, params, lr, ...)"
        ) from None
    any_name = any(item.kind is item.VAR_KEYWORD for item in parameters)
    known = {
        item.name: item.default
        for item in parameters
        if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)
    }
    of_step = arguments_of_step(make, {*CONVENTIONS, *given})
    of_step = {option: default for option, default in of_step.items() if option not in known}
    known |= of_step
    for option in given:
        if not any_name:
            find_named(
                f"option of {name}",
                option,
                known,
                "adapter.map has the parameters of the constructor and of step.",
            )
    usual = {
        option: CONVENTIONS[option]
        for option in known
        if option not in given and CONVENTIONS.get(option) in ("h", *dynamics.parameters)
    }
    spelled = {
        option: usual.get(option, given.get(option))
        for option in [*known, *given]
        if option in usual or option in given
    }
    wanting = [option for option, default in known.items() if default is EMPTY and option not in spelled]
    if wanting:
        raise DefinitionError(
            f"{told}: {name} needs {', '.join(wanting)}, of which nothing is told; expected an expression in h, T and D; add "
            f"adapter.map.{wanting[0]}"
        )
    used = {
        quantity
        for quantity in ("h", *dynamics.parameters)
        for text in spelled.values()
        if uses(text, quantity)
    }
    listed = ", ".join(known) or "no option"
    if "h" not in used:
        raise DefinitionError(
            f"{told}: no option of {name} is the step size ({listed}); expected one of {', '.join(NAMES['h'])}; add "
            "adapter.map.NAME=h"
        )
    if "D" in dynamics.parameters and "D" not in used:
        raise DefinitionError(
            f"{told}: no option of {name} is the friction D of {dynamics.name} ({listed}); expected one of "
            f"{', '.join(NAMES['D'])}; add adapter.map.NAME, such as adapter.map.momentum=1-h*D, or adapter.dynamics=langevin"
        )
    tempered = "T" in dynamics.parameters and "T" not in used
    if tempered and dynamics not in (langevin, kinetic):
        raise DefinitionError(
            f"{told}: no option of {name} is the temperature T of {dynamics.name} ({listed}); expected one of "
            f"{', '.join(NAMES['T'])}; add adapter.map.NAME=T"
        )
    read = {option: settings.read(option, text) for option, text in spelled.items()}
    left = {option: default for option, default in known.items() if option not in spelled}
    told_as = {option: str(text) for option, text in spelled.items()}
    needed = tuple(option for option in spelled if known.get(option) is EMPTY)
    make = giving(make, of_step)
    return Options(name, make, told_as, read, left, dynamics, tempered, needed, tuple(of_step))


def uses(text: Any, quantity: str) -> bool:
    """Does the value of an expression depend on a quantity? It is tried at two values of it."""
    if not isinstance(text, str):
        return False
    read = parameter("", text)
    first = {"h": 0.3, "T": 0.7, "D": 0.9, "N": 11.0, "n": 3.0, "dim": 2.0}
    try:
        return bool(read(first) != read({**first, quantity: first[quantity] * 1.25}))
    except DefinitionError:
        return True
