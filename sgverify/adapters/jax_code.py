"""How does a JAX function of a key and a state become a step?

    def sgld(key, theta, *, grad, step_size, temperature): ...

One parameter is the key, the first others are the state by position (theta; theta, p; theta, p, xi), and the rest are known by
their names: the gradient or the log density that is handed over, and the settings, of which `adapter.map` tells what it has to. A
key that is returned is no state: what it was, and whether the next step may use it, is looked at.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sgverify.adapters.optimizers.idle_options import idle_options, plain_values, told_of, untried
from sgverify.adapters.optimizers.options import uses
from sgverify.adapters.plain.calls import role_of
from sgverify.errors import DefinitionError
from sgverify.schemes.adapting import Adapter, AdapterSettings, adapted_step, is_of, spelled_settings, unmade
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.definition.declaration import Declaration
from sgverify.schemes.dynamics import Dynamics, kinetic, langevin, thermostat
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

RUN = 5000
"""The number of steps whose numbers are tried."""

PASTE = (
    "import jax\ndef my_step(key, theta, *, grad, step_size):\n"
    "    return theta - step_size * grad(theta) + (2 * step_size) ** 0.5 * jax.random.normal(key, theta.shape)"
)
"""A step to paste, with another update."""

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
    life_cycle: Callable[[], LifeCycle] | None = None


def step_of(sampler: JaxSampler, settings: AdapterSettings, reference: str) -> TorchStep:
    """The step, with its settings as the conventions and the map have them; raises `DefinitionError` for unknown or open ones."""
    from sgverify.adapters.jax_draws.step import JaxStep

    told, known = f"scheme={reference or sampler.name!r}", sampler.settings
    spelled = spelled_settings(settings, known, sampler.usual, sampler.name, told)
    dynamics = settings.dynamics_or(sampler.dynamics)
    if dynamics.state != sampler.dynamics.state:
        raise DefinitionError(
            f"{told}: adapter.dynamics={dynamics.name!r} has the state ({', '.join(dynamics.state)}), and {sampler.name} moves "
            f"({', '.join(sampler.dynamics.state)})"
        )
    kept = {name: value for name, value in known.items() if name not in spelled}
    read = {name: settings.read(name, text) for name, text in spelled.items()}
    read.update({name: functools.partial(_constant, value) for name, value in kept.items()})
    shown = {**spelled, **{name: repr(value) for name, value in kept.items()}, "jax_enable_x64": "True"}
    return adapted_step(
        settings,
        sampler.function,
        dynamics,
        ("h", "grad", "dim", *dynamics.parameters),
        name=sampler.name,
        function=JaxStep(sampler.call, dynamics, sampler.function, sampler.name, read),
        chains=True,
        reference=reference,
        life_cycle=sampler.life_cycle,
        generator="jax.random",
        untried=(("jax.random itself: torch draws in its place", ""),),
        conventions=", ".join(f"{name} = {text}" for name, text in shown.items()),
    )


def takes(found: Any) -> bool:
    """Is it a function with a key among its parameters, written with JAX, jitted or not?"""
    inner = plain(found)
    if inner is None or not of_jax(inner):
        return False
    return any(name in KEYS for name in inspect.signature(inner).parameters)


def adapt(found: Any, settings: AdapterSettings, reference: str) -> TorchStep:
    """The step that a function of a key and a state is.

    Raises `DefinitionError` for a signature that is none of a step, or for settings of which nothing is told.
    """
    inner = plain(found)
    assert inner is not None
    given = getattr(found, "keywords", {}) if isinstance(found, functools.partial) else {}
    others: dict[str, Any] = {}
    state, conventions, told = [], dict(CONVENTIONS), reference or inner.__name__
    items = {
        name: item
        for name, item in inspect.signature(inner).parameters.items()
        if item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)
    }
    key_name = next(name for name in items if name in KEYS)
    counts: dict[str, Any] = {}
    for name, item in items.items():
        role = role_of(name)
        if role in ("h", "T", "D"):
            conventions.setdefault(name, role)
        known = name in conventions or name in given or role in ("grad", "score", "log_density")
        if name == key_name:
            continue
        if role in ("index", "steps") and item.default is item.empty and name not in {*settings.map, *given}:
            others[name] = counts[name] = {"index": 0, "steps": 1}[role]
        elif (
            known or item.kind is item.KEYWORD_ONLY or item.default is not item.empty or name in settings.map
        ):
            others[name] = given.get(name, item.default)
        else:
            state.append(name)
    dynamics = next((each for each in BY_STATE if len(each.state) == len(state)), None)
    if dynamics is None:
        raise unmade(
            f"scheme={told!r}: takes ({', '.join(state)}) beside its key; expected the state, of one to three variables (theta, p, "
            "xi), then settings whose names say what they are",
            reference,
            PASTE,
        )
    handed = [name for name in others if role_of(name) in ("grad", "score", "log_density")]
    if not handed:
        raise unmade(
            f"scheme={told!r}: takes no gradient and no log density, so that no target can be handed over; expected a parameter "
            "such as grad or log_density",
            reference,
            PASTE,
        )

    run = _unjitted(found)

    def call(key: Any, state: tuple[Any, ...], given: Handover) -> Sequence[Any]:
        handles = {name: _handed(name, given) for name in handed}
        result = run(
            **{key_name: key}, **dict(zip(state_names, state, strict=True)), **{**given.settings, **handles}
        )
        parts = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        keys = [part for part in parts if _is_key(part)]
        returned[:] = keys
        return tuple(part for part in parts if not any(part is key for key in keys))

    state_names = tuple(state)
    returned: list[Any] = []
    usual = {name: conventions[name] for name in others if name in conventions and name not in given}
    step = step_of(
        JaxSampler(
            inner.__name__,
            call,
            inner,
            dynamics,
            {name: value for name, value in others.items() if name not in handed},
            usual,
        ),
        settings,
        reference,
    )
    left = {
        name: default
        for name, default in others.items()
        if default is not inspect.Parameter.empty and name not in {*handed, *usual, *counts, *settings.map}
    }
    step = _with_trial(step, call, returned, counts, left, settings.map)
    if any(uses(text, "T") for text in {**usual, **settings.map}.values()):
        return step
    read = tuple(name for name in step.declaration.ingredients if name != "T")
    step = replace(step, declaration=Declaration(step.declaration.state, read))
    return tempered(step) if is_tempered(step.dynamics, step.declaration) else step


def _with_trial(
    step: TorchStep,
    call: Callable[..., Sequence[Any]],
    returned: list[Any],
    counts: Mapping[str, Any],
    left: Mapping[str, Any],
    told: Mapping[str, Any],
) -> TorchStep:
    """The step with what is tried beside it: pytrees, float32, a chain by its keys, options; and held at the number of a step."""
    from sgverify.adapters.jax_draws.leaves import DIM, H, LeafTrial

    numbers = {name: {"T": 1.0, "D": 1.25}[name] for name in step.dynamics.parameters}
    given = {"h": H, "dim": float(DIM), "N": 1.0, "n": 1.0, **numbers}
    settings = {name: read(given) for name, read in step.function.read.items()}  # type: ignore[attr-defined]
    vectors = tuple(shape == VECTOR for shape in step.dynamics.shapes.values())
    trial = LeafTrial(call, vectors, settings, numbers, returned)
    apart = "states that are pytrees of several leaves, which it does not take"
    trees = () if trial.takes_trees() else ((apart, ""),)
    held = [f"{name} at {value}" for name, value in counts.items() if trial.depends_on(name, RUN)]
    options = {"options": " and ".join(held)} if held else {}
    plain = {**left, **plain_values(step.function.read, told)}  # type: ignore[attr-defined]
    idle = idle_options(trial.moved_with, plain)
    return replace(
        step,
        life_cycle=trial.life_cycle,
        reuses=trial.reuses_key,
        untried=(*step.untried, *untried(idle, left), *trees),
        idle=told_of(idle, told),
        held={**step.held, **options},
    )


def _is_key(part: Any) -> bool:
    """Is a value a key of JAX, of the old kind or the new?"""
    import jax

    kind = getattr(part, "dtype", None)
    if kind is None:
        return False
    return bool(jax.numpy.issubdtype(kind, jax.dtypes.prng_key)) or (
        str(kind) == "uint32" and part.shape == (2,)
    )


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
    if role_of(name) == "log_density":
        return given.log_density
    if role_of(name) == "grad":
        return given.grad
    from jax.tree_util import tree_map

    return lambda theta, *more: tree_map(operator.neg, given.grad(theta))


def _constant(value: Any, quantities: Mapping[str, float]) -> Any:
    return value


def of_jax(function: Any) -> bool:
    """Is a function written with JAX, whose arrays are no tensors?"""
    for value in getattr(function, "__globals__", {}).values():
        name = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
        if name.partition(".")[0] in ("jax", "jaxlib"):
            return True
    return False


ADAPTER = Adapter(
    name="jax",
    summary="a JAX function step(key, theta, ..., grad, step_size), its state by position",
    takes=takes,
    adapt=adapt,
    conventions=CONVENTIONS,
)
