"""Which arguments does `step` of an optimizer take besides a closure, such as a learning rate or a flag, and how are they given?

The parameters of an optimizer's constructor: which are h, T and D, and which keep their defaults?
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sgverify.adapters.optimizers.kept_values import with_own_surroundings
from sgverify.errors import DefinitionError, find_named
from sgverify.samplers.intercepted.numpy_draws import with_torch_draws
from sgverify.schemes.adapting import AdapterSettings, Parameter, parameter
from sgverify.schemes.dynamics import Dynamics, langevin
from sgverify.user_code import leave_compiler_out

EMPTY = inspect.Parameter.empty


def arguments_of_step(make: Callable[..., Any], known: Collection[str]) -> dict[str, Any]:
    """The arguments of the step of a class with their defaults; those without default have a name among `known`.

    The first one that is none of these is the closure, whatever it is called.
    """
    kind = make.func if isinstance(make, functools.partial) else make
    step = inspect.unwrap(getattr(kind, "step", None)) if isinstance(kind, type) else None  # type: ignore[arg-type]
    if step is None:
        return {}
    return {
        item.name: item.default
        for item in list(inspect.signature(step).parameters.values())[1:]
        if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)
        and "closure" not in item.name
        and (item.name in known or (item.default is not EMPTY and item.default is not None))
    }


def giving(make: Callable[..., Any], arguments: Mapping[str, Any]) -> Callable[..., Any]:
    """A function that makes an optimizer whose `step` is given those of its options that are arguments of the step."""

    def made(params: Any, **options: Any) -> Any:
        leave_compiler_out()
        optimizer = make(params, **{name: value for name, value in options.items() if name not in arguments})
        given = {name: value for name, value in options.items() if name in arguments}
        if given:
            optimizer.step = _given(optimizer.step, given)
        return optimizer

    return made


def _given(step: Callable[..., Any], arguments: Mapping[str, Any]) -> Callable[..., Any]:
    """A step with these arguments, to which the others are given in their order: a closure need not be the first one."""
    signature = inspect.signature(step)
    left = [item for name, item in signature.parameters.items() if name not in arguments]

    def stepped(*others: Any) -> Any:
        names = (item.name for item in left if item.kind is not item.VAR_POSITIONAL)
        return step(**arguments, **dict(zip(names, others, strict=False)))

    stepped.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    return stepped


NAMES: dict[str, tuple[str, ...]] = {
    "h": ("lr", "learning_rate", "step_size", "stepsize", "h"),
    "T": ("temperature", "temp", "T"),
    "D": ("friction", "momentum_decay", "alpha", "D"),
}
"""The names by which constructors call the step size, the temperature and the friction."""

CONVENTIONS = {name: quantity for quantity, names in NAMES.items() for name in names}


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
    prior: float = 0.0
    """The precision of a prior that the optimizer adds itself: the gradient that it is given is without it."""


def measured_once(measure: Callable[[At], float]) -> Callable[[At], float]:
    """A number of the code that depends on the values of its options, measured once with each values."""
    kept: dict[Any, float] = {}

    def measured(at: At) -> float:
        key = tuple(at.values.items())
        if key not in kept:
            kept[key] = measure(at)
        return kept[key]

    return measured


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
    size: float = 1.0
    """N where the gradient of the mean loss is given."""
    prior: str = ""
    """The option that is the precision of a prior."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    prior_at: Callable[[At], float] = lambda at: 0.0

    @property
    def own_step(self) -> float | None:
        """The step size h that an option makes at its own default; None where none is a power of h, or it has no default."""
        for name, text in self.told.items():
            default = self.defaults.get(name)
            if inverted(name, text, "h") and isinstance(default, float) and default > 0:
                one, two = (self.at({"h": h, "T": 1.0, "D": 1.0, "dim": 1}).values[name] for h in (1.0, 2.0))
                return float((default / one) ** (1 / math.log2(two / one)))
        return None

    def at(self, quantities: Mapping[str, float]) -> At:
        """The options at h, T, D and dim."""
        at = self._at(quantities)
        return replace(at, temperature=at.temperature * self.size, prior=self.prior_at(at))

    def _at(self, quantities: Mapping[str, float]) -> At:
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


def known_options(
    make: Callable[..., Any], name: str, given: Mapping[str, Any], told: str
) -> tuple[dict[str, Any], tuple[str, ...], Callable[..., Any]]:
    """The options with their defaults, those of them that are arguments of `step`, and a function that makes an optimizer of all.

    Raises `DefinitionError` where they cannot be read, or `given` has one that is unknown.
    """
    try:
        parameters = list(inspect.signature(make).parameters.values())[1:]
    except (TypeError, ValueError):
        raise DefinitionError(
            f"{told}: {name} has no signature that can be read; expected def __init__(self, params, lr, ...)"
        ) from None
    known = {
        item.name: item.default
        for item in parameters
        if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)
    }
    of_step = arguments_of_step(make, {*CONVENTIONS, *given})
    of_step = {option: default for option, default in of_step.items() if option not in known}
    known |= of_step
    for option in given if all(item.kind is not item.VAR_KEYWORD for item in parameters) else ():
        find_named(
            f"option of {name}",
            option,
            known,
            "adapter.map has the parameters of the constructor and of step.",
        )
    made = with_own_surroundings(giving(make, of_step), make)
    return known, tuple(of_step), with_torch_draws(made, make)


def read_options(
    make: Callable[..., Any], name: str, dynamics: Dynamics, settings: AdapterSettings, told: str
) -> Options:
    """The options of a class or a function `make`, with those of `adapter.map`.

    Raises `DefinitionError` for unknown names in the map, an option without default that has no name known here, and
    options of which none is the step size, or none the friction of dynamics that have one.
    """
    given = settings.map
    known, of_step, make = known_options(make, name, given, told)
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
    # Many enter no step; one that does is held at this (`adapter._held`), which decides nothing.
    spelled |= dict.fromkeys(wanting, 1)
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
    read = {option: settings.read(option, text) for option, text in spelled.items()}
    left = {option: default for option, default in known.items() if option not in spelled}
    told_as = {option: str(text) for option, text in spelled.items()}
    needed = tuple(option for option in spelled if known.get(option) is EMPTY)
    size = settings.data["N"] if settings.gradient == "mean" else 1.0
    return Options(name, make, told_as, read, left, dynamics, tempered, needed, of_step, size, defaults=known)


def inverted(name: str, text: str, quantity: str) -> str:
    """A quantity by the option that is told as this: `lr/2` of h for lr=2*h; "" where it is told otherwise."""
    forms = {
        "h": (("h", "{}"), ("h**2", "sqrt({})")),
        "D": (("D", "{}"), ("h*D", "{}/h"), ("1-h*D", "(1 - {})/h"), ("exp(-h*D)", "-log({})/h")),
    }
    factor = re.fullmatch(r"(?:(\d+)(?:/(\d+))?\*)?(.*?)((?:[*/])(?:N|sqrt\(N\)))?", text.replace(" ", ""))
    if factor is None:
        return ""
    over, under, core, size = factor.groups()
    divisors = [
        part for part in (over if over != "1" else "", size[1:] if size and size[0] == "*" else "") if part
    ]
    factors = [part for part in (name, under or "", size[1:] if size and size[0] == "/" else "") if part]
    below = divisors[0] if len(divisors) == 1 else f"({'*'.join(divisors)})"
    told = "*".join(factors) + f"/{below}" * bool(divisors)
    return next((form.format(told) for known, form in forms[quantity] if known == core), "")


def constant(value: Any) -> Parameter:
    """An option that has the same value everywhere."""
    return lambda quantities: value


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
