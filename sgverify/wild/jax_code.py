"""How does a step that a JAX library takes become a function of torch tensors, with its normal draws taken from torch?

The library's function is traced once for each shape and dtype, with `jax.random.normal` replaced by inputs, loops unrolled, and
each gradient that it asks for replaced by an input too. A call then draws the numbers by torch, where the checks prescribe
them, and evaluates the compiled function once more than it has gradients: the k-th evaluation tells where the k-th gradient
is asked, which the step's own `grad` gives.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import Tensor

from sgverify.schemes.dynamics import Dynamics
from sgverify.schemes.scheme import Order
from sgverify.schemes.torch_step import TorchStep, torch_step

jax.config.update("jax_enable_x64", True)

KEY = jax.random.PRNGKey(0)
"""A key for code that splits and passes keys; no draw is made of it."""

_COMPILED: dict[Any, tuple[Any, list[tuple[int, ...]], int]] = {}
"""By function and shapes: the compiled function, the shapes of its draws, and how many gradients it asks for."""


_SUPPLIED: list[Any] = []


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


def jax_step(dynamics: Dynamics, *, order: Order) -> Callable[[Callable[..., Any]], TorchStep]:
    """`torch_step` for a function that calls `advance`, whose draws are torch's in the place of those of jax.random."""

    def decorate(function: Callable[..., Any]) -> TorchStep:
        return replace(torch_step(dynamics, order=order)(function), generator="jax.random")

    return decorate


def supply(value: Any) -> None:
    """The next draw of the code that runs is this value: a part of the state that the code draws anew."""
    _SUPPLIED.append(value)


def forget() -> None:
    """Forget what was traced: a library's code has changed."""
    _COMPILED.clear()


def advance(
    function: Callable[..., Sequence[Any]],
    state: Sequence[Tensor],
    grad: Callable[[Tensor], Tensor],
    **numbers: float,
) -> tuple[Tensor, ...]:
    """The state after `function(*state, gradient=..., **numbers)`, which is JAX code; each tensor keeps its shape and dtype.

    `gradient(theta)` is the gradient of U at theta, where JAX code may ask for it; `numbers` are Python floats.
    """
    given = [jnp.asarray(value.detach().numpy()) for value in state]
    kind = given[0].dtype
    key = (function, *((value.shape, value.dtype) for value in given))
    if key not in _COMPILED:
        _COMPILED[key] = _traced(function, given, numbers)
    compiled, shapes, asked = _COMPILED[key]
    drawn = [torch.randn(shape, dtype=state[0].dtype) for shape in shapes]
    draws = [jnp.asarray(value.detach().numpy()) for value in drawn]
    gradients = [jnp.zeros(given[0].shape, kind)] * asked
    for number in range(asked):
        place = compiled(given, numbers, draws, gradients)[1][number]
        value = grad(_tensor(place, state[0]))
        gradients = [*gradients[:number], jnp.asarray(value.detach().numpy()), *gradients[number + 1 :]]
    result = compiled(given, numbers, draws, gradients)[0]
    return tuple(_tensor(value, like) for value, like in zip(result, state, strict=True))


def potential(gradient: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of theta whose derivative by JAX is `gradient`, and whose value is 0: for code that differentiates by itself."""

    @jax.custom_vjp
    def value(theta: Any) -> Any:
        return jnp.zeros((), theta.dtype)

    def forward(theta: Any) -> tuple[Any, Any]:
        return value(theta), gradient(theta)

    def backward(held: Any, weight: Any) -> tuple[Any]:
        return (weight * held,)

    value.defvjp(forward, backward)
    return value


def _tensor(value: Any, like: Tensor) -> Tensor:
    """The array as a tensor, in the shape of `like`; its own dtype is kept, so that a change of dtype is seen."""
    return torch.from_numpy(np.array(value)).reshape(like.shape)


def _traced(
    function: Callable[..., Sequence[Any]], given: Sequence[Any], numbers: dict[str, float]
) -> tuple[Any, list[tuple[int, ...]], int]:
    kind = given[0].dtype
    shapes: list[tuple[int, ...]] = []
    asked = 0

    # The numbers are inputs as well: there are many step sizes, and each compilation takes a second.
    def run(
        state: Sequence[Any],
        numbers: dict[str, Any],
        draws: Sequence[Any] | None,
        gradients: Sequence[Any] | None,
    ) -> Any:
        nonlocal asked
        shapes.clear()
        places: list[Any] = []

        def normal(key: Any = None, shape: Sequence[int] = (), dtype: Any = kind) -> Any:
            if _SUPPLIED:
                return _SUPPLIED.pop(0)
            shapes.append(tuple(shape))
            return jnp.zeros(shape, kind) if draws is None else draws[len(shapes) - 1]

        def gradient(theta: Any) -> Any:
            places.append(theta)
            return jnp.zeros_like(theta) if gradients is None else gradients[len(places) - 1]

        with _replaced(normal), jax.disable_jit():
            result = function(*state, gradient=gradient, **numbers)
        asked = len(places)
        return list(result), places

    jax.eval_shape(lambda state, numbers: run(state, numbers, None, None), list(given), numbers)
    counted, many = list(shapes), asked
    return jax.jit(run), counted, many


@contextmanager
def _replaced(normal: Callable[..., Any]) -> Iterator[None]:
    """A context in which every module that holds `jax.random.normal` has another function in its place."""
    own = jax.random.normal
    held = [
        (module, "normal", own, normal)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in ("jax", "blackjax", "sgmcmcjax", "jax_sgmc")
        and vars(module).get("normal") is own
    ]
    util = sys.modules.get("blackjax.util")
    if util is not None:
        # It is compiled by itself, whereby its numbers become arrays; where nothing is compiled they must be arrays before.
        product = util.linear_map
        held.append((util, "linear_map", product, lambda a, b: product(jnp.asarray(a), b)))
    for module, name, _, other in held:
        setattr(module, name, other)
    try:
        yield
    finally:
        for module, name, before, _ in held:
            setattr(module, name, before)


__all__ = ["KEY", "advance", "forget", "import_of", "jax_step", "jnp", "potential", "supply"]
