"""Adapters: samplers of other libraries as steps that can be judged, and the settings by which a user tells their conventions."""

from __future__ import annotations

import ast
import inspect
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sgverify.errors import ConfigurationError, DefinitionError, PluginWarning, find_named
from sgverify.plugins import Installed, Plugin, of_type, plugins
from sgverify.schemes.definition.declaration import Declaration
from sgverify.schemes.dynamics import Dynamics, kinetic, langevin, thermostat
from sgverify.schemes.numbers.text import Grammar
from sgverify.schemes.scheme import ClaimedOrders, Order
from sgverify.user_code import own_code

if TYPE_CHECKING:
    from sgverify.schemes.composites import Composite
    from sgverify.schemes.scheme import Order, Scheme
    from sgverify.schemes.torch_step import TorchStep


@dataclass(frozen=True)
class Adapter:
    """Makes a step of the objects of one library.

    `takes(found)` tells whether an object is of this kind; it is asked of every object that is no step by itself, and
    must not import the library (`is_of` tells by the modules of a type's ancestors). `adapt(found, settings, reference)`
    makes the step; it raises `DefinitionError` (given, expected, mend) where the object or the settings do not allow one.
    `conventions` are the parameters of the library by default, in h, T and D, as they are printed with an answer:
    `{"lr": "h"}`. `reads` are the keys of the settings that the adapter reads besides `dynamics`, `map` and `order`.
    """

    name: str
    summary: str
    takes: Callable[[Any], bool]
    adapt: Callable[[Any, AdapterSettings, str], Scheme | TorchStep | Composite]
    conventions: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[str, ...] = ()


def dynamics_of(fields: Iterable[str], variables: Mapping[str, str]) -> Dynamics | None:
    """The dynamics whose variables a library's state holds, by its names of the variables; None if there is none."""
    held = {*fields}
    return next(
        (each for each in DYNAMICS.values() if {variables[name] for name in each.state} == held), None
    )


def is_of(found: Any, module: str) -> bool:
    """Does an object's type, or a class itself, or one of its ancestors, come from a module or package of this name?

    >>> from fractions import Fraction
    >>> is_of(Fraction(1), "fractions"), is_of(Fraction, "numbers"), is_of(1, "fractions")
    (True, True, False)
    """
    kind = found if isinstance(found, type) else type(found)
    return any(f"{ancestor.__module__}.".startswith(f"{module}.") for ancestor in kind.__mro__)


GRADIENTS = {"sum": 1, "mean": 1}
"""The losses whose gradient a sampler is given: that of all data, or their mean."""

DYNAMICS = {known.name: known for known in (langevin, kinetic, thermostat)}


@dataclass(frozen=True)
class AdapterSettings:
    """The keys of the configuration's table `adapter`; what is left open is the adapter's convention.

    dynamics: the equation that the sampler discretises, by name: langevin, kinetic or thermostat.
    map: the sampler's own parameters, as expressions in h, T, D, N (data), n (minibatch) and dim, as numbers, or True and
        False: `{"lr": "h**2", "momentum_decay": "h*D"}`; a text that is meant as text has quotes within: `"'baoab'"`.
    state: variables of the dynamics by what the sampler keeps, in the same arithmetic: `{"p": "momentum_buffer/h"}`.
    gradient: "mean" where the sampler takes the gradient of the mean loss, U/N, and not of the sum.
    density: a reference to the log density, or to minus the loss on all data, that the sampler is held against; for code that
        brings its own loss and data.
    order: the claimed order, as in `torch_step`.
    data: N and n, as far as data and minibatches are configured; no key of the table.

    Raises `DefinitionError` where a name is unknown or an expression does not parse.
    """

    dynamics: str | None = None
    map: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, str] = field(default_factory=dict)
    gradient: str | None = None
    density: str | None = None
    order: Order = None
    data: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.dynamics is not None:
            find_named("dynamics", self.dynamics, DYNAMICS)
        if self.gradient is not None:
            find_named("adapter.gradient", self.gradient, GRADIENTS)
        for table, given in (("map", self.map), ("state", self.state)):
            if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
                raise DefinitionError(
                    f"adapter.{table}={given!r}: expected a table from names to expressions, such as {{'lr': 'h**2'}}"
                )
        for name, text in self.map.items():
            parameter(name, text)

    @property
    def given(self) -> list[str]:
        """The keys that were set, as a configuration names them."""
        return [
            f"adapter.{key.name}"
            for key in fields(self)
            if key.name != "data" and getattr(self, key.name) not in (None, {})
        ]

    def read(self, name: str, given: Any) -> Parameter:
        """The parameter that is written so, with N and n of the configured data."""
        value = parameter(name, given)
        return lambda quantities: value({**self.data, **quantities})

    def dynamics_or(self, default: Dynamics) -> Dynamics:
        """The named dynamics, or the adapter's."""
        return default if self.dynamics is None else DYNAMICS[self.dynamics]


def spelled_settings(
    settings: AdapterSettings, known: Mapping[str, Any], usual: Mapping[str, str], name: str, told: str
) -> dict[str, Any]:
    """The settings `known` of a library, with their defaults, that are told: by the map, else as they are `usual`.

    Raises `DefinitionError` for one in the map that is not known, and for one without default of which nothing is told.
    """
    wrong = [setting for setting in settings.map if setting not in known]
    if wrong:
        raise DefinitionError(
            f"{told}: adapter.map.{wrong[0]}: {name} has no such setting; expected {', '.join(known) or 'none'}"
        )
    found = {**{setting: text for setting, text in usual.items() if setting in known}, **settings.map}
    empty = inspect.Parameter.empty
    open_ones = [setting for setting, value in known.items() if setting not in found and value is empty]
    if open_ones:
        raise DefinitionError(
            f"{told}: nothing is told of {', '.join(open_ones)}; add adapter.map.{open_ones[0]}, in h, T, D and dim"
        )
    return found


def adapted_step(
    settings: AdapterSettings, documented: Any, dynamics: Dynamics, asked: Iterable[str], **given: Any
) -> TorchStep:
    """A step of a dynamics that asks for these ingredients, of the claimed order, summed up as an object documents itself."""
    from sgverify.schemes.torch_step import TorchStep

    claimed = ClaimedOrders.of(settings.order)
    state = (*dynamics.state, *(item.name for item in given.get("memory", ())))
    return TorchStep(
        dynamics=dynamics,
        declaration=Declaration(state, tuple(asked)),
        order=claimed.finite_time,
        invariant_order=claimed.invariant,
        summary="" if documented is None else (inspect.getdoc(documented) or "").strip().partition("\n")[0],
        **given,
    )


SIZE = 1000.0
"""The number of data where none are configured, that of the usual target."""

QUANTITIES = ("h", "T", "D", "N", "n", "dim")

FUNCTIONS = {"exp": math.exp, "log": math.log, "sqrt": math.sqrt}

_GRAMMAR = Grammar(QUANTITIES, FUNCTIONS, "1 - h*D", signs="+ - * / **", number=float)

Parameter = Callable[[Mapping[str, float]], Any]
"""The value of a parameter for h, T, D, N, n and dim."""


def parameter(name: str, given: Any) -> Parameter:
    """The parameter `name` that a user writes as an expression, a number, True or False, or text in quotes within quotes.

    The value of an expression is a float. Raises `DefinitionError` for anything else, and, when it is evaluated, where the
    expression has no finite value or needs a quantity that this run lacks (N and n without data).

    >>> parameter("momentum_decay", "1 - exp(-h*D)")({"h": 0.0, "D": 2.0})
    0.0
    >>> parameter("kernel", "'baoab'")({}), parameter("nesterov", False)({}), parameter("lr", 0.5)({})
    ('baoab', False, 0.5)
    """
    if isinstance(given, (bool, int, float)) or given is None:
        return lambda quantities: given
    if not isinstance(given, str):
        raise DefinitionError(
            f"adapter.map.{name}={given!r}: expected an expression in {', '.join(QUANTITIES)}, a number, or true or false"
        )
    text = _text_in(given)
    if text is not None:
        return lambda quantities: text
    try:
        node = _GRAMMAR.read(given)
    except DefinitionError as error:
        raise DefinitionError(
            f"adapter.map.{name}: {error} A text that is meant as text has quotes within: \"'{given[:40]}'\"."
        ) from None
    needed = _GRAMMAR.names_in(node)

    def value(quantities: Mapping[str, float]) -> float:
        lacking = sorted(needed - quantities.keys())
        if lacking:
            raise DefinitionError(
                f"adapter.map.{name}={given!r}: this run has no {', '.join(lacking)}; expected an expression in "
                f"{', '.join(name for name in QUANTITIES if name in quantities)}"
            )
        try:
            found = float(_GRAMMAR.value(node, quantities))
        except (ValueError, ArithmeticError, TypeError):
            found = math.nan
        if not math.isfinite(found):
            shown = ", ".join(f"{name} = {quantities[name]:g}" for name in sorted(needed))
            raise DefinitionError(
                f"adapter.map.{name}={given!r}: has no finite value at {shown}; mend the expression"
            )
        return found

    return value


def _text_in(given: str) -> str | None:
    """The text between quotes that are part of what was given; None if there are none."""
    if given[:1] not in ("'", '"'):
        return None
    try:
        value = ast.literal_eval(given)
    except (SyntaxError, ValueError):
        return None
    return value if isinstance(value, str) else None


# The adapter that takes an object which is no step by itself.


SHIPPED: tuple[str, ...] = (
    "sgverify.adapters.posteriors:ADAPTER",
    "sgverify.adapters.plain.trainers:ADAPTER",
    "sgverify.adapters.optimizers.adapter:ADAPTER",
    "sgverify.adapters.blackjax:ADAPTER",
    "sgverify.adapters.sgmcmcjax:ADAPTER",
    "sgverify.adapters.jax_code:ADAPTER",
    "sgverify.adapters.plain.functions:ADAPTER",
    "sgverify.adapters.training:ADAPTER",
)
"""The places, module:attribute, of the adapters that ship; those of other packages come first."""

READ_BY_ALL = ("dynamics", "map", "order", "gradient")
"""The settings that every adapter reads."""


def adapters() -> Iterator[Adapter]:
    """The adapters in the order in which they are asked, each loaded when its turn comes: those of other distributions first.

    An adapter of a library's own authors knows its objects better than one that takes every object of a kind.
    """
    yield from INSTALLED.values()
    yield from shipped_adapters()


def shipped_adapters() -> Iterator[Adapter]:
    """The adapters that ship."""
    for place in SHIPPED:
        module, _, attribute = place.partition(":")
        yield getattr(import_module(module), attribute)


def adapt(
    found: Any,
    *,
    dynamics: str | None = None,
    map: Mapping[str, Any] | None = None,
    state: Mapping[str, str] | None = None,
    gradient: str | None = None,
    density: str | None = None,
    order: Order = None,
) -> Scheme | TorchStep | Composite:
    """The step that an adapter makes of another library's sampler, under these conventions (see `AdapterSettings`).

    Raises `DefinitionError` (given, expected, mend) if no adapter takes the object, or the adapter cannot make a step of it.
    """
    return adapted(found, AdapterSettings(dynamics, map or {}, state or {}, gradient, density, order))


def adapted(
    found: Any, settings: AdapterSettings | None = None, reference: str = ""
) -> Scheme | TorchStep | Composite:
    """The step that an adapter makes of an object; `reference` is how a command line names it.

    Raises `DefinitionError` if no adapter takes the object, with the kinds that are taken, `ConfigurationError` for a setting
    that the adapter does not read, and what the adapter raises.
    """
    settings = settings or AdapterSettings()
    for adapter in adapters():
        with own_code():
            if _takes(adapter, found):
                _refuse_unread(adapter, settings, reference or repr(found))
                if settings.gradient == "mean":
                    settings = replace(settings, data={"N": SIZE, **settings.data})
                step = adapter.adapt(found, settings, reference)
                return step if adapter.name == "optimizers" else given_gradient(step, settings)
    kind = f"the class {found.__name__}" if isinstance(found, type) else f"of type {type(found).__name__}"
    raise unmade(
        f"scheme={reference or found!r}: is {kind}, of which no adapter makes a step; expected a scheme, a word of an "
        "alphabet, a torch or JAX function of theta, the gradient and the step size, an optimizer, or code that trains a model "
        "which it is given",
        reference,
    )


def given_gradient(step: Any, settings: AdapterSettings) -> Any:
    """The step, with the gradient that the settings name: of the mean loss, or as it is."""
    from sgverify.schemes.torch_step import of_mean_gradient

    if settings.gradient != "mean":
        return step
    counted = any(re.search(r"\bN\b", str(text)) for text in settings.map.values())
    return of_mean_gradient(step, settings.data.get("N", SIZE), counted=counted)


def unmade(why: str, reference: str, paste: str = "") -> DefinitionError:
    """The refusal of an object of which no step is made, with a step to paste: of torch, unless one is given."""
    error = DefinitionError(f"{why}; {pasted_into(reference.rpartition(':')[0])}, with its update of theta")
    error.paste = paste or (
        "import torch; from sgverify.schemes import langevin, torch_step\n@torch_step(langevin)\n"
        "def my_step(theta, *, h, grad):\n    return theta - h * grad(theta) + (2 * h) ** 0.5 * torch.randn_like(theta)"
    )
    return error


def pasted_into(place: str) -> str:
    """Where a user pastes a step that is given, and how it is verified."""
    file = place if place.endswith(".py") else "steps.py"
    return f"paste this {'at the end of' if file == place else 'into'} {file}, and verify {file}:my_step"


def is_taken(found: Any) -> bool:
    """Does an adapter make a step of objects like this one?"""
    with own_code():
        return any(_takes(adapter, found) for adapter in adapters())


def _refuse_unread(adapter: Adapter, settings: AdapterSettings, told: str) -> None:
    """Raise `ConfigurationError` for a setting that this adapter does not read: nothing that a user says is passed over."""
    unread = [key for key in settings.given if key.partition(".")[2] not in (*READ_BY_ALL, *adapter.reads)]
    if unread:
        raise ConfigurationError(
            f"{unread[0]} with scheme={told}: the adapter {adapter.name} does not read it; expected "
            f"{', '.join(f'adapter.{key}' for key in (*READ_BY_ALL, *adapter.reads))}; leave it out"
        )


def _takes(adapter: Adapter, found: Any) -> bool:
    """Does the adapter take the object? One of another distribution that cannot tell is left out, with a warning."""
    if adapter.name not in INSTALLED:
        return adapter.takes(found)
    try:
        return adapter.takes(found)
    except Exception as error:
        why = f"whether it takes an object of type {type(found).__name__} ended in {type(error).__name__}: {error}"
        (plugin, *_) = plugins("adapters")[adapter.name]
        warnings.warn(PluginWarning(str(plugin.refused(why))), stacklevel=2)
        return False


def _read(plugin: Plugin, found: Any) -> Adapter:
    of_type(plugin, found, Adapter)
    return replace(found, name=plugin.name)


INSTALLED: Installed[Adapter] = Installed(
    "adapters", _read, lambda name: name in {adapter.name for adapter in shipped_adapters()}
)
"""The adapters that other distributions add."""
