"""With which conventions is the buffer of an optimizer the momentum of the kinetic dynamics? The mean of a step tells.

Which objects are optimizers, and the step that is made of one.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sgverify.adapters.optimizers.finding import AT
from sgverify.adapters.optimizers.options import CONVENTIONS, Options, read_options, uses
from sgverify.errors import DefinitionError, SgverifyError
from sgverify.samplers.intercepted import BlackBox
from sgverify.samplers.intercepted.dtypes import default_dtype
from sgverify.schemes.adapting import QUANTITIES, Adapter, AdapterSettings, is_of
from sgverify.schemes.definition.declaration import Declaration
from sgverify.schemes.dynamics import Dynamics, kinetic, langevin
from sgverify.schemes.memory import Memory
from sgverify.schemes.scheme import ClaimedOrders
from sgverify.schemes.torch_step import TorchStep

if TYPE_CHECKING:
    from sgverify.adapters.optimizers.step import Kept, MomentumBuffer, OptimizerStep


STEPS = ("h", "h**2")
"""The step size of published optimizers, in the kinetic dynamics' own."""

FRICTIONS = ("D", "h*D", "1-h*D", "exp(-h*D)")
"""What published optimizers call friction, decay of the momentum, or the momentum that is left."""

SMALL = (2.0**-10, 2.0**-11)
"""The step sizes at which a mean motion is looked at."""

NEAR = 1e-3
"""The tolerance of the drift that two step sizes give: its error is of order h^2."""

Adapt = Callable[[Any, AdapterSettings, str], TorchStep]


def momentum_settings(
    adapt: Adapt, found: Any, name: str, settings: AdapterSettings, reference: str
) -> Mapping[str, str] | None:
    """Settings with which a step without its draws moves by h times the kinetic drift, as h -> 0; None if none of those tried does.

    They say what the step's own numbers mean, and nothing of its noise: whether the step is right is for the checks to say.
    """
    told = f"scheme={reference or name!r}"
    options = read_options(found, name, langevin, settings, told)
    own = [option for option, text in options.told.items() if text == "h" and option not in settings.map]
    left = [option for option, default in options.left.items() if isinstance(default, float)]
    for size in STEPS:
        for option in left:
            for friction in FRICTIONS:
                given = {**settings.map, **dict.fromkeys(own, size), option: friction}
                try:
                    step = adapt(found, replace(settings, dynamics=kinetic.name, map=given), reference)
                    fits = not step.memory and _drifts(step)
                except SgverifyError:
                    continue
                if fits:
                    # The step size by its usual name needs no setting.
                    maps = {f"adapter.map.{key}": str(text) for key, text in given.items() if text != "h"}
                    return {"adapter.dynamics": kinetic.name, **maps}
    return None


def _drifts(step: TorchStep) -> bool:
    """Does a step without its draws move by h (p, -g - D p) + O(h^2), g the gradient?"""
    given = {name: AT[name] for name in step.parameters}
    theta, p = (torch.tensor(values, dtype=torch.float64) for values in ([0.7, -0.4], [0.3, 0.9]))

    def gradient(place: Tensor, minibatch: int) -> Tensor:
        return 1.3 * place + 0.2

    box = BlackBox(step, gradient, len(theta), given)
    with default_dtype(torch.float64):
        rates = []
        for h in SMALL:
            draws = torch.zeros(box.census((theta, p), h), dtype=torch.float64)
            moved, _ = box.run((theta, p), draws, h)
            rates.append(torch.cat([(moved[0] - theta) / h, (moved[1] - p) / h]))
    due = torch.cat([p, -gradient(theta, 0) - AT["D"] * p])
    return bool((2 * rates[1] - rates[0] - due).abs().max() <= NEAR)


FAMILY = "torch.optim"
"""The package of the class that all optimizers inherit."""


def takes(found: Any) -> bool:
    """Is it a class of optimizers, one of them, or a function of params that makes one?"""
    if isinstance(found, functools.partial):
        return takes(found.func)
    if isinstance(found, type) or not isinstance(found, types.FunctionType):
        return is_of(found, FAMILY)
    first = next(iter(inspect.signature(found).parameters), "")
    return first in ("params", "parameters") and any(
        isinstance(named, type) and is_of(named, FAMILY) for named in _named_by(found)
    )


def _named_by(function: types.FunctionType) -> Iterator[Any]:
    """The objects that a function names: globals, and what it names of modules among them."""
    names = function.__code__.co_names
    for name in names:
        value = function.__globals__.get(name)
        yield value
        if isinstance(value, types.ModuleType):
            yield from (getattr(value, inner, None) for inner in names)
    yield from (cell.cell_contents for cell in function.__closure__ or ())


def adapt(found: Any, settings: AdapterSettings, reference: str) -> TorchStep:
    """The step that `step()` of an optimizer is.

    Raises `DefinitionError` where the options, the momentum or what the optimizer keeps are not understood, and `UserError` if
    it cannot be made or does not step.
    """
    from sgverify.adapters.optimizers.as_it_is import OptimizerRun
    from sgverify.adapters.optimizers.counters import held_counters
    from sgverify.adapters.optimizers.finding import (
        depends_on_loss,
        find_kept,
        find_momentum,
        with_closure_differs,
    )
    from sgverify.adapters.optimizers.step import OptimizerStep

    name = _name(found)
    told = f"scheme={reference or name!r}"
    if not callable(found):
        raise DefinitionError(
            f"{told}: is an optimizer, with parameters of its own; expected its class, or a function of params that makes one, so "
            "that it can be made for theta"
        )
    dynamics = settings.dynamics_or(langevin)
    options = read_options(found, name, dynamics, settings, told)
    kept, shapes, starts = find_kept(options, told)
    code = _code(options, found, told)
    step = OptimizerStep(options, code, kept, None, told)
    kept, counter = held_counters(step)
    step = OptimizerStep(options, code, kept, None, told)
    momentum = None
    if "p" in dynamics.state:
        momentum = find_momentum(step, settings.state.get("p"))
    _check_state(dynamics, settings, told)
    valued = depends_on_loss(step)
    other_call = ("without" if valued else "with") if with_closure_differs(step) else None
    step = OptimizerStep(options, code, kept, momentum, told, valued=valued)
    claimed = ClaimedOrders.of(settings.order)
    memory = tuple(
        Memory(b.name, shapes[b.name] if shapes[b.name] else "scalar", starts[b.name]) for b in step.memory
    )
    if memory and claimed.finite_time is not None:
        raise DefinitionError(
            f"{told}: adapter.order={settings.order!r}: {name} keeps {', '.join(item.name for item in memory)} from step to step, "
            "so that one step has no order of its own; expected adapter.order.invariant=K, or leave it out"
        )
    asked = ["h", "grad", "dim", *["log_density"] * valued, *dynamics.parameters]
    return TorchStep(
        name=name,
        dynamics=dynamics,
        function=step,
        declaration=Declaration(
            (*dynamics.state, *(item.name for item in memory)),
            tuple(asked),
        ),
        order=claimed.finite_time,
        invariant_order=claimed.invariant,
        summary=(inspect.getdoc(found) or "").strip().split("\n")[0] if isinstance(found, type) else "",
        reference=reference,
        memory=memory,
        as_momentum=_as_momentum(found, name, settings, reference)
        if memory and dynamics is langevin
        else None,
        conventions=_called(options, kept, momentum),
        untried=tuple(_untried(options, kept, other_call)),
        held=_held(step, counter),
        as_it_is=functools.partial(OptimizerRun, step),
    )


def _as_momentum(
    found: Any, name: str, settings: AdapterSettings, reference: str
) -> Callable[[], Mapping[str, str] | None]:
    return functools.partial(momentum_settings, adapt, found, name, settings, reference)


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
    able = ("p",) if dynamics is kinetic else ()
    for variable in settings.state:
        if variable not in able:
            raise DefinitionError(
                f"{told}: adapter.state.{variable} with dynamics {dynamics.name!r}: expected "
                f"{'adapter.state.p alone' if able else 'adapter.dynamics=kinetic beside adapter.state.p, or none of the two'}"
            )
    if dynamics not in (langevin, kinetic):
        raise DefinitionError(
            f"{told}: adapter.dynamics={dynamics.name!r}: expected langevin or kinetic for an optimizer"
        )


def _called(options: Options, kept: Kept, momentum: MomentumBuffer | None) -> str:
    """How the optimizer is called, in one line."""
    parts = [options.call]
    if momentum is not None:
        parts.append(f"p = {momentum.told}")
    if kept.split:
        parts.append("theta in two groups where dim > 1, the first of two parameters where dim > 2")
    if options.tempered:
        parts.append("no option is T: it is given the gradient of U/T")
    return "; ".join(parts)


def _held(step: OptimizerStep, counter: str) -> dict[str, str]:
    """What is held although a step depends on it: a counter, and an option without default that is told as a plain number."""
    from sgverify.adapters.optimizers.counters import depends_on_option
    from sgverify.adapters.optimizers.flags import silent_flag

    options = step.options
    plain = [
        name
        for name in options.needed
        if not any(uses(options.told[name], quantity) for quantity in QUANTITIES)
    ]
    told = [f"{name} at {options.told[name]}" for name in plain if depends_on_option(step, name)]
    told += filter(None, [silent_flag(step)])
    names = ", ".join(dict.fromkeys(place.name for place in step.kept.rewritten))
    changed = f"its options {names}, which it changes, as it is made with" if names else ""
    time = " and ".join(filter(None, [counter, changed]))
    return {axis: text for axis, text in (("time", time), ("options", " and ".join(told))) if text}


def _untried(options: Options, kept: Kept, other_call: str | None) -> Iterator[tuple[str, str]]:
    """What the adapter leaves out, each with the setting that tries it; `other_call`: of step(), "with" or "without" a closure."""
    if other_call is not None:
        yield f"step() {other_call} a closure, which is another step", ""
    if options.left:
        shown = ", ".join(f"{name}={value!r}" for name, value in options.left.items())
        yield f"other options than {shown}", f"--set adapter.map.{next(iter(options.left))}=..."
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
