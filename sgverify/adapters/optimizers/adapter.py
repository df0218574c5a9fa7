"""Which objects are optimizers, and the step that is made of one."""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sgverify.adapters.optimizers.idle_options import plain_values, told_of, untried
from sgverify.adapters.optimizers.kept_values import named_values, names_in
from sgverify.adapters.optimizers.options import CONVENTIONS, Options, inverted, read_options
from sgverify.errors import DefinitionError
from sgverify.schemes.adapting import Adapter, AdapterSettings, adapted_step, is_of
from sgverify.schemes.dynamics import Dynamics, langevin
from sgverify.schemes.memory import Memory
from sgverify.schemes.scheme import ClaimedOrders
from sgverify.schemes.torch_step import TorchStep

if TYPE_CHECKING:
    from sgverify.adapters.optimizers.step import Kept, MomentumBuffer, OptimizerStep


FAMILY = "torch.optim"
"""The package of the class that all optimizers inherit."""


def takes(found: Any) -> bool:
    """Is it a class of optimizers, or a function of params that makes one?"""
    if isinstance(found, functools.partial):
        return takes(found.func)
    if isinstance(found, type) or not isinstance(found, types.FunctionType):
        return is_of(found, FAMILY)
    first = next(iter(inspect.signature(found).parameters), "")
    return first in ("params", "parameters") and any(
        isinstance(named, type) and is_of(named, FAMILY) for named in _named_by(found)
    )


def _named_by(function: types.FunctionType) -> Iterator[Any]:
    """The objects that a function names: of its closure, globals, and what it names of modules among them."""
    for _, value, _ in named_values(function):
        yield value
        if isinstance(value, types.ModuleType):
            yield from (getattr(value, name, None) for name in names_in(function.__code__))


def adapt(found: Any, settings: AdapterSettings, reference: str) -> TorchStep:
    """The step that `step()` of an optimizer is.

    Raises `DefinitionError` where the options, the momentum or what the optimizer keeps are not understood, and `UserError` if
    it cannot be made or does not step.
    """
    from sgverify.adapters.optimizers.as_it_is import OptimizerRun
    from sgverify.adapters.optimizers.conventions import conventions_of
    from sgverify.adapters.optimizers.finding import (
        depends_on_loss,
        find_kept,
        held_counters,
        idle_of,
        with_closure_differs,
    )
    from sgverify.adapters.optimizers.momentum import find_momentum, find_thermostat
    from sgverify.adapters.optimizers.step import OptimizerStep

    name = _name(found)
    told = f"scheme={reference or name!r}"
    convention = conventions_of(found, name, settings, told)
    settings = convention.settings
    dynamics = settings.dynamics_or(langevin)
    options = read_options(found, name, dynamics, settings, told)
    options = replace(options, prior=convention.prior, prior_at=convention.prior_at)
    kept, shapes, starts = find_kept(options, told)
    code = _code(options, found, told)
    step = OptimizerStep(options, code, kept, None, told)
    kept, counter = held_counters(step)
    step = step.holding(kept)
    momentum = xi = None
    if "p" in dynamics.state:
        momentum = find_momentum(step, settings.state.get("p"))
    if "xi" in dynamics.state and momentum is not None:
        xi = find_thermostat(step, momentum)
    _check_state(dynamics, settings, told)
    valued = depends_on_loss(step)
    other_call = ("without" if valued else "with") if with_closure_differs(step) else None
    step = OptimizerStep(options, code, kept, momentum, told, valued=valued, xi=xi)
    memory = tuple(
        Memory(b.name, shapes[b.name] if shapes[b.name] else "scalar", starts[b.name]) for b in step.memory
    )
    if memory and ClaimedOrders.of(settings.order).finite_time is not None:
        raise DefinitionError(
            f"{told}: adapter.order={settings.order!r}: {name} keeps {', '.join(item.name for item in memory)} from step to step, "
            "so that one step has no order of its own; expected adapter.order.invariant=K, or leave it out"
        )
    plain = {**options.left, **plain_values(options.read, options.told)}
    idle = idle_of(step, plain)
    asked = ["h", "grad", "dim", *["log_density"] * valued, *dynamics.parameters]
    return adapted_step(
        settings,
        found if isinstance(found, type) else None,
        dynamics,
        asked,
        name=name,
        function=step,
        reference=reference,
        memory=memory,
        conventions=_called(options, kept, step),
        own_step=options.own_step,
        untried=tuple(_untried(options.left, idle, kept, other_call)),
        idle=told_of(idle, settings.map),
        held=_held(step, counter, convention.idle, [n for n in plain if n not in idle]),
        samples=_samples(options, momentum),
        as_it_is=functools.partial(OptimizerRun, step),
    )


def _name(found: Any) -> str:
    inner = found.func if isinstance(found, functools.partial) else found
    return str(getattr(inner, "__name__", type(inner).__name__))


def _code(options: Options, found: Any, told: str) -> Callable[..., Any]:
    """The function `step` of the optimizer's class, without torch's hooks around it."""
    from sgverify.adapters.optimizers.finding import class_of

    inner = found.func if isinstance(found, functools.partial) else found
    kind: Any = inner if isinstance(inner, type) else class_of(options, told)
    code: Callable[..., Any] = inspect.unwrap(kind.step)
    return code


def _check_state(dynamics: Dynamics, settings: AdapterSettings, told: str) -> None:
    """Refuse variables in `adapter.state` that are read from no buffer."""
    able = ("p",) if "p" in dynamics.state else ()
    for variable in settings.state:
        if variable not in able:
            raise DefinitionError(
                f"{told}: adapter.state.{variable} with dynamics {dynamics.name!r}: expected "
                f"{'adapter.state.p alone' if able else 'adapter.dynamics=kinetic beside adapter.state.p, or none of the two'}"
            )


def _called(options: Options, kept: Kept, step: OptimizerStep) -> str:
    """How the optimizer is called, in one line."""
    parts = [options.call]
    parts += [f"{name} = {v.told}" for name, v in zip(("p", "xi"), step.variables, strict=False)]
    if kept.split:
        parts.append("theta in two groups where dim > 1, the first of two parameters where dim > 2")
    given = "U/T" if options.tempered else "U"
    if options.size != 1:
        given = f"the mean loss, {'U/(T N)' if options.tempered else 'U/N'} with N = {options.size:g},"
    given += f" less {options.prior} |theta|^2/2" * bool(options.prior)
    if options.tempered or given != "U":
        parts.append(f"{'no option is T: ' * options.tempered}it is given the gradient of {given}")
    return "; ".join(parts)


def _samples(options: Options, momentum: MomentumBuffer | None) -> str:
    """The density that a right step samples, and its scheme, in the user's options."""
    step = friction = ""
    for name, text in options.told.items():
        step = step or inverted(name, text, "h")
        friction = friction or inverted(name, text, "D")
    # No option is h: it is said by the one that gives it.
    own_step = step if re.fullmatch(r"\w+(\([^()]*\))?", step) else f"({step})"
    friction = re.sub(r"\bh\b", own_step, friction)
    scheme = (
        f"SGLD with step {step}" if momentum is None else f"{options.dynamics.name} Langevin with step {step}"
    )
    scheme = scheme.replace("thermostat Langevin", "thermostat")
    parts = [
        f"exp(-U{'' if options.tempered else '/T'}): {scheme}" + f" and friction {friction}" * bool(friction)
    ]
    if options.size != 1:
        parts.append("U is N times the mean loss")
    if options.prior:
        parts.append(f"the prior {options.prior} |theta|^2/2 is in {'U/N' if options.size != 1 else 'U'}")
    return "; ".join(parts)


def _held(step: OptimizerStep, counter: str, idle: str, moving: Collection[str]) -> dict[str, str]:
    """What is held although a step depends on it: a counter, and an option without default that is told as a plain number."""
    from sgverify.adapters.optimizers.finding import silent_flag

    options = step.options
    told = [
        f"{name} at {options.told[name]} (--set adapter.map.{name}=... says what it is)"
        for name in options.needed
        if name in moving
    ]
    told += filter(None, [silent_flag(step)])
    if idle:
        told.append(
            f"your loss, a mean (--gradient mean) or a sum (--set adapter.map.{idle}=1): {idle} changes no step"
        )
    names = ", ".join(dict.fromkeys(place.name for place in step.kept.rewritten))
    changed = f"its options {names}, which it changes, as it is made with" if names else ""
    time = " and ".join(filter(None, [counter, changed]))
    shapes = f"{step.kept.shared}, which parameters of one shape have together" if step.kept.shared else ""
    texts = {"time": time, "options": " and ".join(told), "shapes": shapes}
    return {axis: text for axis, text in texts.items() if text}


def _untried(
    left: Mapping[str, Any], idle: Mapping[str, Any], kept: Kept, other_call: str | None
) -> Iterator[tuple[str, str]]:
    """What the adapter leaves out, each with the setting that tries it; `other_call`: of step(), "with" or "without" a closure."""
    if other_call is not None:
        yield f"step() {other_call} a closure, which is another step", ""
    yield from untried(idle, left)
    if not kept.split:
        yield "several parameters and groups, for it takes one alone, or keeps one value for all", ""


ADAPTER = Adapter(
    name="optimizers",
    summary="a subclass of torch.optim.Optimizer, or a function of params that makes one",
    takes=takes,
    adapt=adapt,
    conventions=CONVENTIONS,
    reads=("state",),
)
