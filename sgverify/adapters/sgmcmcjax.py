"""How do the diffusions of SGMCMCJax become steps?

A diffusion, such as `sgmcmcjax.diffusions.baoab`, makes of `dt` and its parameters the functions (init, update, get_params), where
`update(i, key, gradient, state)` takes the gradient of the log density; a splitting has two updates, with the gradient at the new
place between them. Except for `baoab`, whose `tau` is T, no diffusion has a temperature: it is given the density exp(-U/T).
`sghmc` and `sgnht` hold v = h p and h xi, where dt is T h^2; `badodab` is judged at T = 1.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgverify.adapters.jax_code import JaxSampler, step_of
from sgverify.errors import DefinitionError
from sgverify.schemes.adapting import Adapter, AdapterSettings
from sgverify.schemes.definition.mathematics import dot
from sgverify.schemes.dynamics import Dynamics, dynamics, kinetic, langevin, thermostat
from sgverify.schemes.torch_step import TorchStep

if TYPE_CHECKING:
    from sgverify.adapters.jax_draws.step import Handover


def _of_unit_mass(theta: Any, p: Any, xi: Any, *, U: Any) -> Any:
    return -(U(theta) + dot(p, p) / 2 + (xi - 1 / 2) ** 2 / 2)


@dynamics(theta="vector", p="vector", xi="scalar", density=_of_unit_mass)
def unit_mass_thermostat(theta: Any, p: Any, xi: Any, *, grad: Any, dim: Any) -> Any:
    """Thermostat of mass 1 and noise 1 at T = 1: d xi = (p.p - dim) dt; Leimkuhler and Shang 2016, with A = sigma = 1."""
    return (p, -grad(theta) - xi * p, dot(p, p) - dim), (0, 1 / 2, 0)


@dataclass(frozen=True)
class LibraryDiffusion:
    """What a diffusion discretises, and its parameters in h, T and D; `by_step` are the variables that it holds h times.

    `tempered`: the diffusion has a temperature itself, and is given U.
    """

    dynamics: Dynamics
    parameters: Mapping[str, str]
    by_step: tuple[str, ...] = ()
    tempered: bool = False


DIFFUSIONS = {
    "sgld": LibraryDiffusion(langevin, {"dt": "T*h"}),
    "sghmc": LibraryDiffusion(kinetic, {"dt": "T*h**2", "alpha": "h*D"}, ("p",)),
    "baoab": LibraryDiffusion(kinetic, {"dt": "h", "gamma": "D", "tau": "T"}, tempered=True),
    "sgnht": LibraryDiffusion(thermostat, {"dt": "T*h**2", "a": "h*D"}, ("p", "xi")),
    "badodab": LibraryDiffusion(unit_mass_thermostat, {"dt": "h"}),
}

UNREAD = ("psgld", "sgldAdam")
"""Diffusions whose steps depend on averages of earlier gradients, and which claim no invariant density."""

LATER = 1
"""The number of the step: `sgnht` draws its momentum at step 0."""


def takes(found: Any) -> bool:
    """Is it a diffusion of the library, with settings or without?"""
    inner = found.func if isinstance(found, functools.partial) else found
    return inspect.isfunction(inner) and inner.__module__ == "sgmcmcjax.diffusions"


def adapt(found: Any, settings: AdapterSettings, reference: str) -> TorchStep:
    """The step that one update of a diffusion is, or both updates of a splitting.

    Raises `DefinitionError` for a diffusion that is not known here, or an unknown parameter in the map.
    """
    inner = found.func if isinstance(found, functools.partial) else found
    if inner.__name__ not in DIFFUSIONS:
        why = "claims no invariant density" if inner.__name__ in UNREAD else "is not known here"
        raise DefinitionError(
            f"scheme={reference or inner.__name__!r}: the diffusion {inner.__name__} {why}; expected one of {', '.join(DIFFUSIONS)}"
        )
    kind = DIFFUSIONS[inner.__name__]
    given_by_user = getattr(found, "keywords", {})
    names = inspect.signature(inner).parameters
    known = {name: given_by_user.get(name, item.default) for name, item in names.items()}

    def call(key: Any, state: tuple[Any, ...], given: Handover) -> Sequence[Any]:
        factors = [given.h if name in kind.by_step else 1.0 for name in kind.dynamics.state]
        temper = 1.0 if kind.tempered else 1 / given.numbers.get("T", 1.0)
        init, update, place = inner(**given.settings)[:3]
        first, second = update if isinstance(update, tuple) else (update, None)
        parts = [value * factor for value, factor in zip(state, factors, strict=True)]
        held = init(parts[0])._replace(packed_state=[parts])
        moved = first(LATER, key, -temper * given.grad(state[0]), held)
        if second is not None:
            moved = second(LATER, key, -temper * given.grad(place(moved)), moved)
        (after,) = moved.packed_state
        return tuple(value / factor for value, factor in zip(after, factors, strict=True))

    return step_of(
        JaxSampler(
            f"sgmcmcjax.{inner.__name__}",
            call,
            inspect.unwrap(inner),
            kind.dynamics,
            known,
            {name: text for name, text in kind.parameters.items() if name not in given_by_user},
        ),
        settings,
        reference,
    )


ADAPTER = Adapter(
    name="sgmcmcjax",
    summary="a diffusion of SGMCMCJax, such as sgmcmcjax.diffusions.baoab",
    takes=takes,
    adapt=adapt,
    conventions={name: text for kind in DIFFUSIONS.values() for name, text in kind.parameters.items()},
)
