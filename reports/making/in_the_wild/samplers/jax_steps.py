"""Steps of libraries on JAX, by the adapter of sgverify; what such a library may need around its code."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import jax

from sgverify.adapters.jax_code import JaxSampler, step_of
from sgverify.adapters.jax_draws.step import Handover
from sgverify.schemes.adapting import AdapterSettings
from sgverify.schemes.dynamics import Dynamics
from sgverify.schemes.scheme import Order
from sgverify.schemes.torch_step import TorchStep

jax.config.update("jax_enable_x64", True)


def jax_step(
    dynamics: Dynamics, *, order: Order, wide: bool = False
) -> Callable[[Callable[..., Sequence[Any]]], TorchStep]:
    """The step that `function(key, *state, given)` is, code of JAX; `given` has h, T and D, the gradient and the log density.

    With `wide`, JAX's 64-bit numbers are enabled for states in float32, too.
    """

    def decorate(function: Callable[..., Sequence[Any]]) -> TorchStep:
        def call(key: Any, state: tuple[Any, ...], given: Handover) -> Sequence[Any]:
            return function(key, *state, given)

        sampler = JaxSampler(function.__name__, call, function, dynamics, {}, {})
        step = step_of(sampler, AdapterSettings(order=order), "")
        return replace(step, function=replace(step.function, wide=wide))  # type: ignore[type-var]

    return decorate


def log_density(grad: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of theta whose derivative by JAX is -grad: for code that differentiates by itself."""
    return Handover(0.0, {}, {}, 0, grad).log_density  # type: ignore[arg-type]


@contextmanager
def first_draw(value: Any) -> Iterator[None]:
    """A context in which the first draw of `jax.random.normal` is a part of the state that the code would draw anew."""
    own = jax.random.normal

    def normal(*given: Any, **more: Any) -> Any:
        jax.random.normal = own
        return value

    jax.random.normal = normal
    try:
        yield
    finally:
        jax.random.normal = own


def import_of(name: str) -> Any:
    """The module of a library, written for an earlier JAX: names that JAX no longer has are supplied while it is imported.

    `jax.tree_flatten` and its like are those of `jax.tree_util`; `jax.named_call` names a function for a profiler and
    leaves it as it is; `jax.experimental.host_callback` draws progress bars, which no step here does.
    """
    for gone in ("tree_flatten", "tree_unflatten", "tree_map", "tree_leaves"):
        if not hasattr(jax, gone):
            setattr(jax, gone, getattr(jax.tree_util, gone))
    if not hasattr(jax, "named_call"):
        jax.named_call = lambda function=None, *, name=None: function or (lambda inner: inner)
    place = "jax.experimental.host_callback"
    if place not in sys.modules:
        try:
            importlib.import_module(place)
        except ImportError:
            sys.modules[place] = types.ModuleType(place)
            jax.experimental.host_callback = sys.modules[place]
    return importlib.import_module(name)
