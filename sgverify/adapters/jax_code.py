"""How does a JAX function of a key and a state become a step?

    def sgld(key, theta, *, grad, step_size, temperature): ...

The first parameter is the key, the next ones are the state by position (theta; theta, p; theta, p, xi), and the others are known by
their names: the gradient or the log density that is handed over, and the settings, of which `adapter.map` tells what it has to.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sgverify.adapters.optimizers.options import uses
from sgverify.errors import DefinitionError
from sgverify.schemes.adapting import Adapter, AdapterSettings, is_of
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.definition.declaration import Declaration
from sgverify.schemes.dynamics import Dynamics, kinetic, langevin, thermostat
from sgverify.schemes.scheme import ClaimedOrders
from sgverify.schemes.tempering import is_tempered
from sgverify.schemes.torch_step import LifeCycle, TorchStep, tempered

if TYPE_CHECKING:
    from sgverify.adapters.jax_draws.step import Handover

KEYS = ("key", "rng_key", "prng_key", "rng")

CONVENTIONS = {
    **dict.fromkeys(("h", "step_size", "stepsize", "lr", "learning_rate", "dt", "eps", "epsilon"), "h"),
    **dict.fromkeys(("T", "temperature", "temp"), "T"),
    **dict.fromkeys(("D", "friction", "gamma", "alpha"), "D"),
    "dim": "dim",
}
"""The settings of a function in h, T and D, by their names."""

GRADIENTS = {
    **dict.fromkeys(("grad", "grad_U", "grad_potential"), 1),
    **dict.fromkeys(("grad_log_density", "logdensity_grad", "grad_log_prob", "grad_logprob", "score"), -1),
}
"""The names of the gradient, with its sign: that of U, or of the log density."""

DENSITIES = ("log_density", "logdensity", "logdensity_fn", "log_prob", "logprob", "log_posterior")

BY_STATE = (langevin, kinetic, thermostat)


@dataclass(frozen=True)
class JaxSampler:
    """A library's step as a call of JAX, with the dynamics that its state is of and the settings that it takes.

    `settings` are the names with their defaults (`inspect.Parameter.empty` where there is none), `usual` the conventions of those
    that follow from h, T and D.
    """

    name: str
    call: Callable[[Any, tuple[Any, ...], Handover], Sequence[Any]]
    function: Callable[..., Any]
    dynamics: Dynamics
    settings: Mapping[str, Any]
    usual: Mapping[str, str]
    summary: str = ""
    life_cycle: Callable[[], LifeCycle] | None = None


def step_of(sampler: JaxSampler, settings: AdapterSettings, reference: str) -> TorchStep:
    """The step, with its settings as the conventions and the map have them; raises `DefinitionError` for unknown or open ones."""
    from sgverify.adapters.jax_draws.step import JaxStep

    told, known = f"scheme={reference or sampler.name!r}", sampler.settings
    wrong = [name for name in settings.map if name not in known]
    if wrong:
        raise DefinitionError(
            f"{told}: adapter.map.{wrong[0]}: {sampler.name} has no such setting; expected {', '.join(known) or 'none'}"
        )
    dynamics = settings.dynamics_or(sampler.dynamics)
    if dynamics.state != sampler.dynamics.state:
        raise DefinitionError(
            f"{told}: adapter.dynamics={dynamics.name!r} has the state ({', '.join(dynamics.state)}), and {sampler.name} moves "
            f"({', '.join(sampler.dynamics.state)})"
        )
    spelled = {**{name: text for name, text in sampler.usual.items() if name in known}, **settings.map}
    open_ones = [
        name for name, value in known.items() if name not in spelled and value is inspect.Parameter.empty
    ]
    if open_ones:
        raise DefinitionError(
            f"{told}: nothing is told of {', '.join(open_ones)}; add adapter.map.{open_ones[0]}, in h, T, D and dim"
        )
    kept = {name: value for name, value in known.items() if name not in spelled}
    read = {name: settings.read(name, text) for name, text in spelled.items()}
    read.update({name: functools.partial(_constant, value) for name, value in kept.items()})
    claimed = ClaimedOrders.of(settings.order)
    shown = {**spelled, **{name: repr(value) for name, value in kept.items()}, "jax_enable_x64": "True"}
    return TorchStep(
        name=sampler.name,
        dynamics=dynamics,
        function=JaxStep(sampler.call, dynamics, sampler.function, sampler.name, read),
        declaration=Declaration(dynamics.state, ("h", "grad", "dim", *dynamics.parameters)),
        order=claimed.finite_time,
        invariant_order=claimed.invariant,
        chains=True,
        summary=sampler.summary,
        reference=reference,
        life_cycle=sampler.life_cycle,
        generator="jax.random",
        untried=(("jax.random itself: torch draws in its place", ""),),
        conventions=", ".join(f"{name} = {text}" for name, text in shown.items()),
    )


def takes(found: Any) -> bool:
    """Is it a function whose first parameter is a key, written with JAX, jitted or not?"""
    inner = plain(found)
    if inner is None or not any(_of_jax(value) for value in inner.__globals__.values()):
        return False
    names = list(inspect.signature(inner).parameters)
    return bool(names) and names[0] in KEYS


def adapt(found: Any, settings: AdapterSettings, reference: str) -> TorchStep:
    """The step that a function of a key and a state is.

    Raises `DefinitionError` for a signature that is none of a step, or for settings of which nothing is told.
    """
    inner = plain(found)
    assert inner is not None
    given = getattr(found, "keywords", {}) if isinstance(found, functools.partial) else {}
    state, others = [], {}
    for name, item in list(inspect.signature(inner).parameters.items())[1:]:
        if item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD):
            continue
        known = name in CONVENTIONS or name in GRADIENTS or name in DENSITIES or name in given
        if known or item.kind is item.KEYWORD_ONLY or item.default is not item.empty or name in settings.map:
            others[name] = given.get(name, item.default)
        else:
            state.append(name)
    dynamics = next((each for each in BY_STATE if len(each.state) == len(state)), None)
    if dynamics is None:
        raise DefinitionError(
            f"scheme={reference or inner.__name__!r}: takes ({', '.join(state)}) after its key; expected the state by position, of "
            "one to three variables (theta, p, xi), then settings by name"
        )
    handed = [name for name in others if name in GRADIENTS or name in DENSITIES]
    if not handed:
        raise DefinitionError(
            f"scheme={reference or inner.__name__!r}: takes no gradient and no log density, so that no target can be handed over; "
            f"expected a parameter such as {', '.join([*GRADIENTS][:1])} or {DENSITIES[0]}"
        )

    run = _unjitted(found)

    def call(key: Any, state: tuple[Any, ...], given: Handover) -> Sequence[Any]:
        handles = {name: _handed(name, given) for name in handed}
        result = run(key, *state, **{**given.settings, **handles})
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    usual = {name: CONVENTIONS[name] for name in others if name in CONVENTIONS and name not in given}
    step = step_of(
        JaxSampler(
            inner.__name__,
            call,
            inner,
            dynamics,
            {name: value for name, value in others.items() if name not in handed},
            usual,
            (inspect.getdoc(inner) or "").partition("\n")[0],
        ),
        settings,
        reference,
    )
    step = _with_trees(step, call)
    if any(uses(text, "T") for text in {**usual, **settings.map}.values()):
        return step
    read = tuple(name for name in step.declaration.ingredients if name != "T")
    step = replace(step, declaration=Declaration(step.declaration.state, read))
    return tempered(step) if is_tempered(step.dynamics, step.declaration) else step


def _with_trees(step: TorchStep, call: Callable[..., Sequence[Any]]) -> TorchStep:
    """The step, which tries a pytree of several leaves beside itself, or says that it takes none, and float32."""
    from sgverify.adapters.jax_draws.leaves import DIM, H, LeafTrial

    numbers = {name: {"T": 1.0, "D": 1.25}[name] for name in step.dynamics.parameters}
    vectors = tuple(shape == VECTOR for shape in step.dynamics.shapes.values())
    read = step.function.read  # type: ignore[attr-defined]
    try:
        settings = {name: value({"h": H, "dim": float(DIM), **numbers}) for name, value in read.items()}
    except DefinitionError:
        # An expression in N or n, of which this trial has none.
        return step
    trial = LeafTrial(call, vectors, settings, numbers)
    apart = (
        ()
        if trial.takes_trees()
        else (("states that are pytrees of several leaves, which it does not take", ""),)
    )
    return replace(step, life_cycle=trial.life_cycle, untried=(*step.untried, *apart))


def plain(found: Any) -> Any:
    """The Python function of a function that is jitted, or has settings; None if there is none."""
    while isinstance(found, functools.partial):
        found = found.func
    inner = inspect.unwrap(found) if callable(found) else found
    return inner if inspect.isfunction(inner) else None


def _unjitted(found: Any) -> Callable[..., Any]:
    """The function without `jax.jit`, which takes no functions as arguments; the step is compiled as a whole."""
    if isinstance(found, functools.partial):
        return functools.partial(_unjitted(found.func), *found.args, **found.keywords)
    made: Callable[..., Any] = found.__wrapped__ if is_of(found, "jaxlib") else found
    return made


def _handed(name: str, given: Handover) -> Any:
    if name in DENSITIES:
        return given.log_density
    if GRADIENTS[name] == 1:
        return given.grad
    from jax.tree_util import tree_map

    return lambda theta, *more: tree_map(operator.neg, given.grad(theta))


def _constant(value: Any, quantities: Mapping[str, float]) -> Any:
    return value


def _of_jax(value: Any) -> bool:
    name = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
    return name.partition(".")[0] in ("jax", "jaxlib")


ADAPTER = Adapter(
    name="jax",
    summary="a JAX function step(key, theta, ..., grad, step_size), its state by position",
    takes=takes,
    adapt=adapt,
    conventions=CONVENTIONS,
)
