"""Code with its own loss, data and minibatches as a step: which functions are taken, and the step that is made of one.

The modules, optimizers and numbers are found that such a function reaches by its globals, its closure and the functions that it
calls. It is run once from a given position, and everything that it touches is put back.
"""

from __future__ import annotations

import copy
import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from sgverify.adapters.optimizers.idle_options import idle_options, plain_values, told_of, untried
from sgverify.adapters.optimizers.kept_values import named_values
from sgverify.adapters.optimizers.options import CONVENTIONS, EMPTY, NAMES, constant, uses
from sgverify.adapters.optimizers.step import apart
from sgverify.errors import DefinitionError, find_named
from sgverify.samplers.intercepted.numpy_draws import NumpyDraws
from sgverify.schemes.adapting import SIZE, Adapter, AdapterSettings, Parameter, adapted_step, is_of
from sgverify.schemes.dynamics import langevin
from sgverify.schemes.torch_step import OwnLoss, TorchStep

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
    named = list(named_values(function))
    for name, value, holder in named:
        if holder is function.__globals__ and isinstance(value, (int, float)) and not isinstance(value, bool):
            found.numbers.setdefault(name, []).append(holder)
    for value in (*(value for _, value, _ in named), *(function.__defaults__ or ())):
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


class TrainingStep:
    """One call of a function from (theta, ...): handed over as tensors (`pure`), or as the values of a module's parameters.

    `arguments` are the function's own parameters in h, T and D, `numbers` those of its globals, `options` those of the optimizers
    that it reaches.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        reached: Reached,
        *,
        pure: bool,
        arguments: Mapping[str, Parameter],
        numbers: Mapping[str, Parameter],
        options: Mapping[str, Parameter],
        told: str,
    ) -> None:
        self.function = self.__wrapped__ = function
        self._numpy = NumpyDraws(function)
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self._reached, self._pure, self._told = reached, pure, told
        self._arguments, self._numbers, self._options = arguments, numbers, options
        self.parameters = [] if pure else position_of(reached)

    @property
    def dim(self) -> int:
        """The number of coordinates of the position; 0 if it is handed over."""
        return sum(parameter.numel() for parameter in self.parameters)

    def __call__(self, *state: Tensor, h: float, dim: int, **given: float) -> Any:
        """The state after one call."""
        quantities = {"h": h, "dim": float(dim), **given}
        arguments = {name: read(quantities) for name, read in self._arguments.items()}
        with self._put_back(), self._numpy:
            for name, read in self._numbers.items():
                for space in self._reached.numbers[name]:
                    space[name] = read(quantities)
            for optimizer in self._reached.optimizers:
                for group in optimizer.param_groups:
                    group.update(
                        {name: read(quantities) for name, read in self._options.items() if name in group}
                    )
            if self._pure:
                return self.function(*state, **arguments)
            (theta,) = state
            self._write(theta)
            self.function(**arguments)
            self._check_optimizers()
            return torch.cat([item.detach().reshape(-1).to(theta.dtype) for item in self.parameters])

    def taken(self, variables: int, values: Mapping[str, Any]) -> list[Tensor]:
        """The state after a call with these arguments in the place of its own, from a fixed one with fixed draws."""
        step = copy.copy(self)
        step._arguments = {**self._arguments, **{name: constant(value) for name, value in values.items()}}
        place = torch.linspace(-1.3, 2.2, self.dim or 3, dtype=torch.float64)
        with apart():
            after = step(*[place] * variables, h=2.0**-5, T=1.0, D=1.25, N=SIZE, n=1.0, dim=len(place))
        return list(after) if isinstance(after, tuple) else [after]

    def _write(self, theta: Tensor) -> None:
        if theta.ndim != 1 or len(theta) != self.dim:
            raise DefinitionError(
                f"{self._told}: a position of shape {tuple(theta.shape)} for {self.dim} parameters; expected one chain of "
                f"dimension {self.dim}, that of the modules which the code trains"
            )
        with torch.no_grad():
            parts = theta.split([item.numel() for item in self.parameters])
            for item, part in zip(self.parameters, parts, strict=True):
                item.copy_(part.reshape(item.shape))

    def _check_optimizers(self) -> None:
        for optimizer in self._reached.optimizers:
            kept = sorted(
                {
                    str(key)
                    for state in optimizer.state.values()
                    for key, value in state.items()
                    if value is not None
                }
            )
            if kept:
                raise DefinitionError(
                    f"{self._told}: the optimizer of the loop carries on {', '.join(kept)}, which a call of the loop alone does "
                    f"not show; verify {type(optimizer).__name__} by its class, or use one without state in the loop"
                )

    @contextmanager
    def _put_back(self) -> Iterator[None]:
        """A context after which parameters, gradients, buffers, optimizers and numbers are what they were."""
        reached = self._reached
        spaces = [(space, name, space[name]) for name in self._numbers for space in reached.numbers[name]]
        held = [item for module in reached.modules for item in (*module.parameters(), *module.buffers())]
        held += [item for item in self.parameters if not any(item is other for other in held)]
        values = [(item, item.detach().clone(), item.grad) for item in held]
        groups = [
            (group, {key: value for key, value in group.items() if key != "params"})
            for optimizer in reached.optimizers
            for group in optimizer.param_groups
        ]
        states = [(optimizer, copy.copy(optimizer.state)) for optimizer in reached.optimizers]
        try:
            yield
        finally:
            for space, name, value in spaces:
                space[name] = value
            with torch.no_grad():
                for item, value, grad in values:
                    item.copy_(value)
                    item.grad = grad
            for group, options in groups:
                group.update(options)
            for optimizer, state in states:
                optimizer.state = state


def position_of(reached: Reached) -> list[Tensor]:
    """The parameters that are trained: those of the reached modules, else those of the reached optimizers."""
    sources: Sequence[Any] = [item for module in reached.modules for item in module.parameters()]
    if not sources:
        sources = [
            item
            for optimizer in reached.optimizers
            for group in optimizer.param_groups
            for item in group["params"]
        ]
    found: list[Tensor] = []
    for item in sources:
        if item.requires_grad and not any(item is other for other in found):
            found.append(item)
    return found


def takes(found: Any) -> bool:
    """Is it a plain function that reaches torch, and takes a position by name or trains a module?"""
    if not isinstance(found, types.FunctionType):
        return False
    names = list(inspect.signature(found).parameters)
    seen = reached(found)
    return (
        seen.torch
        and "grad" not in names
        and (names[:1] == ["theta"] or bool(seen.modules or seen.optimizers))
    )


def adapt(found: Any, settings: AdapterSettings, reference: str) -> TorchStep:
    """The step that one call of the function is.

    Raises `DefinitionError` if the position, the step size or a parameter is not understood.
    """
    told = f"scheme={reference or found.__name__!r}"
    dynamics, seen = settings.dynamics_or(langevin), reached(found)
    known = {name: item.default for name, item in inspect.signature(found).parameters.items()}
    pure = next(iter(known), "") == "theta"
    state = dynamics.state if pure else ("theta",)
    if (pure and tuple(known)[: len(state)] != state) or dynamics.state != state:
        raise DefinitionError(
            f"{told}: takes ({', '.join(known)}); expected the state of {dynamics.name}, ({', '.join(dynamics.state)}), first"
            + ("" if pure else "; a loop over a module has theta alone: leave adapter.dynamics out")
        )
    for name in state if pure else ():
        known.pop(name)
    options = {
        key: value
        for item in seen.optimizers
        for group in item.param_groups
        for key, value in group.items()
        if key != "params"
    }
    knobs = {**dict.fromkeys(seen.numbers), **options, **known}
    for name in settings.map:
        find_named(
            "parameter, option or number of the code",
            name,
            knobs,
            "adapter.map has what the code is called with.",
        )
    usual = {
        name: CONVENTIONS[name] for name in knobs if CONVENTIONS.get(name) in ("h", *dynamics.parameters)
    }
    spelled = {name: str(text) for name, text in {**usual, **settings.map}.items()}
    wanting = [name for name, default in known.items() if default is EMPTY and name not in spelled]
    if wanting:
        raise DefinitionError(
            f"{told}: needs {', '.join(wanting)}, of which nothing is told; expected a function of theta, or one that trains a "
            f"module it reaches, whose other parameters are expressions in h, T and D; add adapter.map.{wanting[0]}"
        )
    if not any(uses(text, "h") for text in spelled.values()):
        raise DefinitionError(
            f"{told}: nothing that the code is called with is the step size ({', '.join(knobs) or 'no parameter or number'}); "
            f"expected one of {', '.join(NAMES['h'])}; add adapter.map.NAME=h"
        )
    read = {name: settings.read(name, settings.map.get(name, spelled[name])) for name in spelled}
    step = TrainingStep(
        found,
        seen,
        pure=pure,
        arguments={name: value for name, value in read.items() if name in known},
        numbers={name: value for name, value in read.items() if name in seen.numbers and name not in known},
        options={name: value for name, value in read.items() if name in options},
        told=told,
    )
    if not pure and not step.dim:
        raise DefinitionError(
            f"{told}: reaches no parameter that is trained; expected a module or an optimizer among its globals"
        )
    left = {name: value for name, value in known.items() if name not in spelled}
    plain = {**left, **{name: value for name, value in plain_values(read, spelled).items() if name in known}}
    idle = idle_options(lambda values: step.taken(len(state), values), plain)
    used = tuple(name for name in dynamics.parameters if any(uses(text, name) for text in spelled.values()))
    return adapted_step(
        settings,
        found,
        dynamics,
        ("h", "dim", *used),
        name=found.__name__,
        function=step,
        reference=reference,
        conventions=_conventions(found, spelled, known, options, seen, step.dim),
        untried=tuple(_untried(used, left, idle)),
        idle=told_of(idle, settings.map),
        own_loss=OwnLoss(step.dim, settings.density),
    )


def _conventions(
    found: Any,
    spelled: dict[str, str],
    known: dict[str, Any],
    options: dict[str, Any],
    seen: Reached,
    dim: int,
) -> str:
    called = ", ".join(f"{name}={text}" for name, text in spelled.items() if name in known)
    parts = [f"{found.__name__}({called})"]
    parts += [f"the optimizer's {name} = {text}" for name, text in spelled.items() if name in options]
    parts += [
        f"its number {name} = {text}"
        for name, text in spelled.items()
        if name in seen.numbers and name not in known
    ]
    if dim:
        parts.append(f"theta = the {dim} parameters that it trains")
    return "; ".join(parts)


def _untried(
    used: tuple[str, ...], left: dict[str, Any], idle: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    if "T" not in used:
        yield "temperatures other than 1", "--set adapter.map.NAME=T"
    yield from untried(idle, left, "arguments")


ADAPTER = Adapter(
    name="training",
    summary="a function in torch with its own loss and minibatches, which takes theta or trains a module",
    takes=takes,
    adapt=adapt,
    conventions=CONVENTIONS,
    reads=("density",),
)
