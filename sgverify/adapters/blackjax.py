"""How do the stochastic-gradient samplers of blackjax become steps?

A sampler, such as `blackjax.sgld`, has a `build_kernel`, whose kernel takes a key, a position or a state, a function
`grad_estimator(position, minibatch)` of the log density's gradient, the minibatch, `step_size` for h and `temperature` for T. The
`alpha` of a builder is the friction D. A kernel that holds no momentum in its state draws one, of variance T, and takes L steps of
size epsilon: it moves the position alone, as Langevin dynamics does in the time h = (L epsilon)^2 / 2.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sgverify.adapters.jax_code import JaxSampler, step_of
from sgverify.adapters.plain.calls import parameters_of
from sgverify.errors import DefinitionError
from sgverify.schemes.adapting import Adapter, AdapterSettings, dynamics_of, is_of
from sgverify.schemes.torch_step import LifeCycle, TorchStep

if TYPE_CHECKING:
    from sgverify.adapters.jax_draws.step import Handover

CONVENTIONS = {"step_size": "h", "temperature": "T", "alpha": "D"}
"""The parameters of kernels and their builders in h, T and D; one that is not named here keeps its value."""

TRAJECTORY = {"step_size": "sqrt(2*h)/{num_integration_steps}"}
"""The conventions of a kernel that draws its momentum and takes several steps."""

USUAL = {"num_integration_steps": 10}
"""The value that the library's own interface gives to what a kernel has no default for."""

VARIABLES = {"theta": "position", "p": "momentum", "xi": "xi"}
"""The fields of a kernel's state that hold the variables of the dynamics."""

GRADIENTS = ("grad_estimator", "gradient_estimator")
"""The names of the estimate of a gradient among a kernel's arguments."""

HANDED = ("rng_key", "state", "position", "grad_estimator", "minibatch")
"""The arguments of a kernel that are no settings."""

ALPHA, SHORT, TEMPERATURES = 0.5, 1e-3, (1.0, 4.0)
"""The friction, alpha s/2 and the temperatures at which momenta are looked at; at T = 1 a factor T is not seen."""

STARTS = (0.0, 0.5, -0.5)
"""The first values that are handed to a sampler; 0, the usual one, is the one that a test for truth overlooks."""


def takes(found: Any) -> bool:
    """Is it a sampler of the library whose kernel takes an estimate of a gradient, its builder, or a sampler that was built?"""
    builder = _builder(found)
    return builder is not None and bool({*GRADIENTS} & {*parameters_of(builder())})


def adapt(found: Any, settings: AdapterSettings, reference: str) -> TorchStep:
    """The step that one call of a kernel is; raises `DefinitionError` for an unknown parameter in the map."""
    builder = _builder(found)
    assert builder is not None
    of_builder = {name: item.default for name, item in inspect.signature(builder).parameters.items()}
    of_kernel = {
        name: USUAL.get(name, item.default)
        for name, item in parameters_of(builder()).items()
        if name not in HANDED
    }
    plain = builder.func if isinstance(builder, functools.partial) else builder
    home = sys.modules[plain.__module__]
    kinds = [kind for name, kind in vars(home).items() if name.endswith("State") and hasattr(kind, "_fields")]
    kind = kinds[0] if kinds else None
    fields = ("position",) if kind is None else kind._fields
    dynamics = dynamics_of(fields, VARIABLES)
    if dynamics is None:
        raise DefinitionError(
            f"scheme={reference or plain.__module__!r}: the state of {plain.__module__} holds {', '.join(fields)}, which is that "
            "of no dynamics known here; expected position, with momentum and xi or without"
        )

    def call(key: Any, state: tuple[Any, ...], given: Handover) -> Sequence[Any]:
        chosen = {name: value for name, value in given.settings.items() if name in of_builder}
        kernel = builder(**chosen)
        before = state[0] if kind is None else kind(*state)
        after = kernel(
            key,
            before,
            lambda position, minibatch: -given.grad(position),
            None,
            **{name: value for name, value in given.settings.items() if name in of_kernel},
        )
        return (after,) if kind is None else tuple(after)

    fixed = getattr(builder, "keywords", {})
    known = {**of_builder, **of_kernel}
    usual = {
        name: text
        for name, text in CONVENTIONS.items()
        if name in known and name not in fixed and text in ("h", *dynamics.parameters)
    }
    if "num_integration_steps" in known:
        number = settings.map.get("num_integration_steps", known["num_integration_steps"])
        usual |= {name: text.format(num_integration_steps=number) for name, text in TRAJECTORY.items()}
    return step_of(
        JaxSampler(
            plain.__module__,
            call,
            plain,
            dynamics,
            known,
            usual,
            functools.partial(_life_cycle, home, builder),
        ),
        settings,
        reference,
    )


def _builder(found: Any) -> Callable[..., Any] | None:
    """The function that builds a kernel; None for anything else."""
    if isinstance(found, functools.partial):
        inner = _builder(found.func)
        return None if inner is None else functools.partial(inner, **found.keywords)
    if inspect.isfunction(found):
        of_theirs = f"{found.__module__}.".startswith("blackjax.sgmcmc.")
        return found if of_theirs and found.__name__ == "build_kernel" else None
    if inspect.ismodule(found):
        of_theirs = f"{found.__name__}.".startswith("blackjax.sgmcmc.")
        return getattr(found, "build_kernel", None) if of_theirs else None
    builder = getattr(found, "build_kernel", None)
    if is_of(found, "blackjax") and inspect.isfunction(builder):
        return builder if builder.__module__.startswith("blackjax.sgmcmc.") else None
    return None


def _life_cycle(home: Any, builder: Callable[..., Any]) -> LifeCycle:
    """Starts of a chain at the values that a sampler is given, and the momenta with which a kernel begins and goes on."""
    starts, wrong = _starts(home)
    momenta, apart = _momenta(builder)
    return LifeCycle((*starts, *momenta), (*wrong, *apart))


def _starts(home: Any) -> tuple[list[str], list[str]]:
    """The first values of the state that a sampler takes, tried at `STARTS`; a sentence for each that is not taken."""
    import jax
    import numpy as np

    top = getattr(home, "as_top_level_api", None)
    if top is None or "grad_estimator" not in parameters_of(top):
        return [], []
    algorithm = top(lambda position, minibatch: -position)
    names = [name for name in parameters_of(algorithm.init) if name.startswith("init_")]
    faults = []
    for name in names:
        for value in STARTS:
            state = algorithm.init(jax.numpy.zeros(2), jax.random.PRNGKey(0), **{name: value})
            got = float(np.asarray(getattr(state, name.removeprefix("init_"))))
            # The values are float32 numbers, and are held exactly.
            if got != value:
                faults.append(f"begun with {name}={value:g}, a chain starts at {got:g}")
    return [
        f"starts at {name} in {{{', '.join(f'{value:g}' for value in STARTS)}}}" for name in names
    ], faults


def _momenta(builder: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """The variance of the momenta that a kernel draws, beside the one at which its friction and noise hold them.

    Without a force the position after L steps of size s is linear in the draws: s p_0 after one step, and after three
    s (p_0 (1 + c + c^2) + b n_1 (1 + c) + b n_2) if a step makes c p + b n of the momentum. The momenta are held at the variance
    b^2/(1 - c^2) = T/(1 - alpha s/2).
    """
    import jax.numpy as jnp

    from sgverify.adapters.jax_draws.step import derivative_by_draws

    known = parameters_of(builder())
    if "num_integration_steps" not in known or "temperature" not in known:
        return [], []
    kernel, size = builder(), SHORT / (2 * ALPHA)
    if "alpha" in parameters_of(builder):
        kernel = builder(alpha=ALPHA)
    tried, faults = [], []
    for temperature in TEMPERATURES:

        def after(key: Any, steps: int, temperature: float = temperature) -> Any:
            given = {"step_size": size, "num_integration_steps": steps, "temperature": temperature}
            return kernel(key, jnp.zeros(1), lambda position, minibatch: 0 * position, None, **given)

        one, three = (derivative_by_draws(functools.partial(after, steps=steps)) for steps in (1, 3))
        if one is None or three is None or len(one) != 2 or len(three) != 4 or not three[2]:
            return [], []
        begun, kept = (one[0] / size) ** 2, three[1] / three[2] - 1
        held = (three[2] / size) ** 2 / (1 - kept**2)
        tried.append(f"momenta at T = {temperature:g}")
        if abs(begun - held) > 2 * SHORT * held:
            faults.append(
                f"at T = {temperature:g} a trajectory begins with momenta of variance {begun:.3g}, and its friction and noise hold "
                f"them at {held:.3g}"
            )
    return tried, faults


ADAPTER = Adapter(
    name="blackjax",
    summary="a stochastic-gradient sampler of blackjax, such as blackjax.sgld, or the builder of its kernel",
    takes=takes,
    adapt=adapt,
    conventions=CONVENTIONS,
)
