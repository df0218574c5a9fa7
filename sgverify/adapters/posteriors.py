"""How do the transforms of the library posteriors become steps?

A transform has `init(params)`, which returns a state of tensors, and `update(state, batch)`, which differentiates
`log_posterior(params, batch) -> (value, auxiliary)` and returns the next state. Its builders take `lr` for the step size,
`temperature` for T and, where there is a momentum, `alpha` for the friction D. Their invariant density is
exp((log_posterior(params) - momenta.momenta / (2 sigma^2)) / temperature). With p = momenta/sigma, xi/sigma for xi, and
alpha = sigma D, a time of sigma h is a time h of the kinetic dynamics and of the thermostat.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from sgverify.errors import DefinitionError
from sgverify.schemes.adapting import (
    Adapter,
    AdapterSettings,
    adapted_step,
    dynamics_of,
    is_of,
    parameter,
    spelled_settings,
)
from sgverify.schemes.dynamics import Dynamics
from sgverify.schemes.torch_step import LifeCycle, TorchStep

CONVENTIONS = {"lr": "h", "temperature": "T", "alpha": "D"}
"""The parameters of the builders in h, T and D; a parameter that is not named here keeps the value that it was given."""

VARIABLES = {"theta": "params", "p": "momenta", "xi": "xi"}
"""The fields of a transform's state that hold the variables of the dynamics."""

COUNTED = ("log_posterior", "step")
"""The fields of a transform's state that record a run and do not move the chain."""

IN_PLACE = "inplace"
"""The setting of an update that writes to the state that it is given."""

NOT_IN_PLACE = ("steps in place", f"--set adapter.map.{IN_PLACE}=true")

STARTS = (0.0, 0.5, -0.5)
"""The first values that are handed to a builder; 0, the usual one, is the one that a test for truth overlooks."""

_SEED = 11


@dataclass(frozen=True)
class Sampler:
    """A transform's parts: `update` takes (state, batch), and `settings` by keyword; `init` takes params.

    `build` is the builder, or None for a transform whose builder is not found. `kept` are settings that the user has fixed.
    """

    name: str
    init: Callable[..., Any]
    update: Callable[..., Any]
    build: Callable[..., Any] | None
    kept: Mapping[str, Any]

    @functools.cached_property
    def settings(self) -> dict[str, Any]:
        """The settings of an update with their defaults; `inspect.Parameter.empty` where there is none."""
        parameters = list(inspect.signature(self.update).parameters.values())[2:]
        return {parameter.name: parameter.default for parameter in parameters} | dict(self.kept)

    @functools.cached_property
    def kind(self) -> type:
        """The class of the transform's state."""
        with torch.random.fork_rng(devices=[]):
            return type(self.init({"first": torch.zeros(1, dtype=torch.float64)}))

    @functools.cached_property
    def fields(self) -> tuple[str, ...]:
        """The names of what the state holds."""
        return tuple(getattr(self.kind, "__dataclass_fields__", ()))


class PosteriorsStep:
    """One update from (theta, p, xi), as far as the dynamics has them, with the target's log density handed over.

    theta is handed over as a tree of two leaves, its first coordinate and the rest; in one dimension of one leaf.
    """

    def __init__(self, sampler: Sampler, dynamics: Dynamics, read: Mapping[str, Any], mass: float) -> None:
        self._sampler, self._dynamics, self._read, self._mass = sampler, dynamics, read, mass
        # The code that is judged, for the searches of what it keeps and of its lines.
        self.function = self.__wrapped__ = sampler.update
        self.__name__ = sampler.name

    def __call__(self, *state: Tensor, h: float, grad: Any, dim: int, **numbers: float) -> tuple[Tensor, ...]:
        """The next state; h, T, D and the gradient of U by keyword."""
        sampler, names = self._sampler, self._dynamics.state
        sizes = [self._mass if name != "theta" else 1.0 for name in names]
        values = {
            VARIABLES[name]: _tree(value if size == 1.0 else value * size)
            for name, value, size in zip(names, state, sizes, strict=True)
        }
        given = {name: read({"h": h, "dim": dim, **numbers}) for name, read in self._read.items()}
        moved, _ = sampler.update(
            sampler.kind(**values), None, log_posterior=_log_posterior(grad), **{**sampler.kept, **given}
        )
        found = [_flat(getattr(moved, VARIABLES[name])) for name in names]
        return tuple(value if size == 1.0 else value / size for value, size in zip(found, sizes, strict=True))


def takes(found: Any) -> bool:
    """Is it a transform, a builder (with settings or without), or a module of the library?"""
    if isinstance(found, ModuleType):
        return found.__name__.startswith("posteriors.") and callable(getattr(found, "build", None))
    if isinstance(found, functools.partial):
        return takes(found.func)
    if inspect.isfunction(found):
        return f"{found.__module__}.".startswith("posteriors.") and found.__name__ == "build"
    return is_of(found, "posteriors") and hasattr(found, "init") and hasattr(found, "update")


def adapt(found: Any, settings: AdapterSettings, reference: str) -> TorchStep:
    """The step that one update of a transform is.

    Raises `DefinitionError` for a transform that is no sampler of a known dynamics, or an unknown parameter in the map.
    """
    told = f"scheme={reference or found!r}"
    sampler = _sampler(found, told)
    dynamics = settings.dynamics_or(_dynamics(sampler, told))
    lacking = [VARIABLES[name] for name in dynamics.state if VARIABLES[name] not in sampler.fields]
    if lacking:
        raise DefinitionError(
            f"{told}: adapter.dynamics={dynamics.name!r} has a state that {sampler.name} does not keep ({', '.join(lacking)}); "
            f"its state holds {', '.join(sampler.fields)}"
        )
    known = {name: value for name, value in sampler.settings.items() if name != "log_posterior"}
    mass = known.get("sigma", 1.0)
    if "sigma" in settings.map:
        mass = parameter("sigma", settings.map["sigma"])({})
    usual = {name: _in_units(name, text, mass) for name, text in CONVENTIONS.items()}
    spelled = spelled_settings(settings, known, usual, sampler.name, told)
    read = {name: settings.read(name, text) for name, text in spelled.items()}
    step = PosteriorsStep(sampler, dynamics, read, float(mass))
    # A library's way to save memory is judged where it is asked for: its faults are none of the steps that are taken otherwise.
    in_place = settings.map.get(IN_PLACE, known.get(IN_PLACE)) is True
    fixed = {name: value for name, value in sampler.kept.items() if name not in spelled and name in known}
    shown = {**spelled, **{name: f"{value!r}" for name, value in fixed.items()}}
    return adapted_step(
        settings,
        sampler.build,
        dynamics,
        ("h", "grad", "dim", *dynamics.parameters),
        name=sampler.name,
        function=step,
        conventions=", ".join(f"{name} = {text}" for name, text in shown.items()),
        reference=reference,
        life_cycle=functools.partial(_life_cycle, sampler, in_place),
        untried=() if in_place or IN_PLACE not in known else (NOT_IN_PLACE,),
    )


def _sampler(found: Any, told: str) -> Sampler:
    """The parts of a module, a builder or a transform."""
    if isinstance(found, ModuleType):
        return _sampler(found.build, told)
    if callable(found):
        arguments: dict[str, Any] = {"log_posterior": _standard_normal, "lr": 1e-3}
        given = dict(getattr(found, "keywords", {}))
        try:
            made = found(**{**arguments, **given})
        except TypeError as error:
            raise DefinitionError(
                f"{told}: called with log_posterior and lr it raised {error}; expected a builder that needs no more: "
                "functools.partial(build, name=value) gives it the rest"
            ) from None
        return _sampler(made, told)
    update, init = found.update, found.init
    if not isinstance(update, functools.partial):
        raise DefinitionError(
            f"{told}: its update is a {type(update).__name__}, into which no log density can be put; expected a transform of "
            "posteriors.sgmcmc, or a builder"
        )
    kept = {name: value for name, value in update.keywords.items() if name not in ("log_posterior", "lr")}
    home = sys.modules.get(update.func.__module__)
    build = getattr(home, "build", None)
    name = update.func.__module__
    return Sampler(name, init, update.func, build, kept)


def _dynamics(sampler: Sampler, told: str) -> Dynamics:
    """The dynamics whose variables the state holds."""
    fields = [name for name in sampler.fields if name not in COUNTED]
    dynamics = dynamics_of(fields, VARIABLES)
    if dynamics is not None:
        return dynamics
    raise DefinitionError(
        f"{told}: the state of {sampler.name} holds {', '.join(fields)}, which is that of no dynamics known here; expected params, "
        "with momenta and xi or without"
    )


def _in_units(name: str, text: str, mass: float) -> str:
    """The default convention where the momentum's standard deviation is `mass`: time and friction are in units of it."""
    return text if mass == 1.0 or name == "temperature" else f"{text}*{mass!r}"


def _log_posterior(grad: Any) -> Callable[[Any, Any], tuple[Tensor, Tensor]]:
    """The log density of a tree of parameters, with the gradient -grad and the value NaN: a sampler moves by gradients alone."""

    def log_posterior(params: Any, batch: Any) -> tuple[Tensor, Tensor]:
        theta = _flat(params)
        return _LogDensity.apply(theta, grad), torch.zeros_like(theta.detach()[..., 0])

    return log_posterior


class _LogDensity(torch.autograd.Function):
    """A number with the gradient -grad(theta), once, and the value NaN: a step that uses the value is refused."""

    generate_vmap_rule = True

    @staticmethod
    def forward(theta: Tensor, grad: Any) -> Tensor:
        return theta.sum() * math.nan

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        theta, ctx.grad = inputs
        ctx.save_for_backward(theta)

    @staticmethod
    def backward(ctx: Any, along: Tensor) -> Any:
        (theta,) = ctx.saved_tensors
        return -along * _Gradient.apply(theta, ctx.grad), None


class _Gradient(torch.autograd.Function):
    """The numbers that grad gives, which have no derivative here."""

    generate_vmap_rule = True

    @staticmethod
    def forward(theta: Tensor, grad: Any) -> Tensor:
        found: Tensor = grad(theta)
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        return

    @staticmethod
    def backward(ctx: Any, along: Tensor) -> Any:
        raise DefinitionError(
            "the log density that is handed over has first derivatives; it is asked for second ones"
        )


def _standard_normal(params: Any, batch: Any) -> tuple[Tensor, Tensor]:
    """The log density of N(0, 1) in each coordinate, for updates whose result is only compared with another's."""
    theta = _flat(params)
    value = -(theta * theta).sum() / 2
    return value, torch.zeros_like(value)


def _tree(theta: Tensor) -> Any:
    """A vector as a tree of two leaves; a number as it is."""
    if not theta.ndim:
        return theta.clone()
    parts = {"first": theta[..., :1].clone()}
    return {**parts, "rest": theta[..., 1:].clone()} if theta.shape[-1] > 1 else parts


def _flat(tree: Any) -> Tensor:
    """The vector of a tree; the number of a number."""
    if isinstance(tree, Tensor):
        return tree
    return torch.cat([tree["first"], tree["rest"]], dim=-1) if "rest" in tree else tree["first"]


def _life_cycle(sampler: Sampler, in_place: bool) -> LifeCycle:
    """Starts of a chain at the values that a builder is given, and, where asked for, an update in place beside one that is not."""
    with torch.random.fork_rng(devices=[]):
        starts, wrong = _starts(sampler)
        beside, shared = _in_place(sampler) if in_place else ([], [])
    return LifeCycle((*starts, *beside), (*wrong, *shared))


def _starts(sampler: Sampler) -> tuple[list[str], list[str]]:
    """The settings of the builder that are first values of the state, tried at `STARTS`; a sentence for each that is not taken."""
    if sampler.build is None:
        return [], []
    known = inspect.signature(sampler.build).parameters
    names = [name for name in sampler.fields if name in known and name not in ("params", *COUNTED)]
    faults = []
    for name in names:
        for value in STARTS:
            made = sampler.build(log_posterior=_standard_normal, lr=1e-3, **{name: value})
            started = getattr(made.init(_tree(torch.zeros(2, dtype=torch.float64))), name)
            got = _flat(started).reshape(-1)
            # A start in float32 is as near as float32 has numbers; all of these are float32 numbers.
            if not torch.equal(got.to(torch.float64), torch.full_like(got, value, dtype=torch.float64)):
                faults.append(f"built with {name}={value:g}, a chain starts at {name}={float(got[0]):g}")
    tried = [f"starts at {name} in {{{', '.join(f'{value:g}' for value in STARTS)}}}" for name in names]
    return tried, faults


def _in_place(sampler: Sampler) -> tuple[list[str], list[str]]:
    """An update in place gives the state that the other one gives, and leaves other chains alone; sentences where it does not."""
    names = [name for name in sampler.fields if name not in COUNTED]

    def chain(size: float) -> Any:
        vector = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64) * size
        number = torch.tensor(0.4 * size, dtype=torch.float64)
        return sampler.kind(**{name: _tree(number if name == "xi" else vector) for name in names})

    def moved(state: Any, *, inplace: bool) -> Any:
        torch.manual_seed(_SEED)
        given = {
            name: value
            for name, value in sampler.kept.items()
            if name not in (IN_PLACE, *CONVENTIONS) or not callable(value)
        }
        return sampler.update(
            state, None, log_posterior=_standard_normal, lr=0.1, **{**given, IN_PLACE: inplace}
        )[0]

    before, other = _shown(chain(2.0), sampler.fields), chain(2.0)
    plain, start = _shown(moved(chain(1.0), inplace=False), sampler.fields), chain(1.0)
    result = _shown(moved(start, inplace=True), sampler.fields)
    faults = [
        f"update(..., inplace=True) gives another {name} than inplace=False, from the same state and draws"
        for name in sampler.fields
        if not torch.equal(plain[name], result[name])
    ]
    after, fresh = _shown(other, sampler.fields), _shown(chain(2.0), sampler.fields)
    for whose, found in (("another chain's", after), ("a later chain's", fresh)):
        touched = [
            f"{name} from {float(before[name][0]):g} to {float(found[name][0]):g}"
            for name in sampler.fields
            if not torch.allclose(before[name], found[name].to(before[name].dtype), 0.0, 0.0, equal_nan=True)
        ]
        if touched:
            faults.append(
                f"a step of one chain in place changes {whose} {', '.join(touched)}: all hold one tensor"
            )
    return ["a step in place beside two other chains"], faults


def _shown(state: Any, names: tuple[str, ...]) -> dict[str, Tensor]:
    """Copies of what a state holds, each as a vector."""
    return {name: _flat(getattr(state, name)).detach().clone().reshape(-1) for name in names}


ADAPTER = Adapter(
    name="posteriors",
    summary="a transform of posteriors, such as posteriors.sgmcmc.sgld.build(log_posterior, lr), or its builder",
    takes=takes,
    adapt=adapt,
    conventions=CONVENTIONS,
)
