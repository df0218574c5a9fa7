"""Which random functions of JAX are replaced as a whole, and by which law?

A function is known by its name in the jaxpr, and is replaced only if its jaxpr is the one that the function of `jax.random` has;
anything else is evaluated from the random bits that it asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sgverify.adapters.jax_draws.numbers import COIN, EXPONENTIAL, INTEGER, NORMAL, UNIFORM, GivenNumbers

MOST_OUTCOMES = 5_040
"""The most outcomes of one whole number."""


def replaced(eqn: Any, key: Any, others: list[Any], numbers: GivenNumbers) -> Any:
    """What a jitted random function of JAX gives for these numbers; None if it is no such function.

    `key` is its key, `others` are its further arguments, all of them known.
    """
    name = eqn.params.get("name", "")
    aval = eqn.outvars[0].aval
    if name not in _LAWS or len(eqn.outvars) != 1 or any(jnp.shape(value) for value in others):
        return None
    genuine, kind = _LAWS[name]
    # Many keys give one row of numbers each.
    fronts = jnp.shape(key)
    own = tuple(aval.shape[len(fronts) :])
    if not _same_program(eqn, genuine, key, own, others):
        return None
    with jax.ensure_compile_time_eval():
        data = np.asarray(jax.random.key_data(key))
    try:
        rows = data.reshape(-1, data.shape[-1])
        values = [_put(kind, numbers, each, own, aval.dtype, others) for each in rows]
    except ValueError:
        return None
    return values[0] if not fronts else jnp.stack(values).reshape(aval.shape)


def _same_program(eqn: Any, genuine: Any, key: Any, shape: tuple[int, ...], others: list[Any]) -> bool:
    """Is the jaxpr of an equation the one that the function of `jax.random` has of its name?"""
    given, dtype = eqn.params["jaxpr"], eqn.outvars[0].aval.dtype

    def one(each: Any) -> Any:
        return genuine(each, shape, dtype, others)

    function = one
    for _ in jnp.shape(key):
        function = jax.vmap(function)
    try:
        made = jax.make_jaxpr(function)(key)
    except (TypeError, ValueError):
        return False
    return not given.consts and any(
        not other.consts and str(other) == str(given) for other in _named(made.jaxpr, eqn.params["name"])
    )


def _named(jaxpr: Any, name: str) -> Iterator[Any]:
    """The jaxprs of the calls of this name, within other calls too."""
    for eqn in jaxpr.eqns:
        inner = eqn.params.get("jaxpr")
        if eqn.params.get("name") == name:
            yield inner
        if inner is not None:
            yield from _named(getattr(inner, "jaxpr", inner), name)


def _put(
    kind: str, numbers: GivenNumbers, key: np.ndarray, shape: tuple[int, ...], dtype: Any, others: list[Any]
) -> Any:
    """The numbers of a law with these arguments; raises `ValueError` for whole numbers of too many outcomes."""
    size = (
        float(others[0]) if kind == COIN else float(others[1]) - float(others[0]) if kind == INTEGER else 0.0
    )
    if kind == INTEGER and not 1 <= size <= MOST_OUTCOMES:
        raise ValueError
    width = 1 if kind == COIN else int(jnp.dtype(dtype).itemsize * 8)
    found = numbers.take(key, width, shape, (kind, size)).astype(bool if kind == COIN else dtype)
    if kind == UNIFORM:
        low, high = (jnp.asarray(value, dtype) for value in others)
        return low + (high - low) * found
    return int(others[0]) + found if kind == INTEGER else found


_LAWS: dict[str, tuple[Any, str]] = {
    "_normal": (lambda key, shape, dtype, others: jax.random.normal(key, shape, dtype), NORMAL),
    "_normal_real": (lambda key, shape, dtype, others: jax.random.normal(key, shape, dtype), NORMAL),
    "_uniform": (lambda key, shape, dtype, others: jax.random.uniform(key, shape, dtype, *others), UNIFORM),
    "_exponential": (
        lambda key, shape, dtype, others: jax.random.exponential(key, shape, dtype),
        EXPONENTIAL,
    ),
    "_randint": (lambda key, shape, dtype, others: jax.random.randint(key, shape, *others, dtype), INTEGER),
    "_bernoulli": (lambda key, shape, dtype, others: jax.random.bernoulli(key, others[0], shape), COIN),
}

__all__ = ["replaced"]
