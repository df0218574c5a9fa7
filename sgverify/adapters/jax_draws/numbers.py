"""Which random numbers does a traced function draw, and by which of its keys?

Which random functions of JAX are replaced as a whole, and by which law?

A function is known by its name in the jaxpr, and is replaced only if its jaxpr is the one that the function of `jax.random` has;
anything else is evaluated from the random bits that it asks for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr, ndtr, ndtri

from sgverify.errors import Unreached
from sgverify.samplers.intercepted.interception import MOST_DRAWS

NORMAL, UNIFORM, EXPONENTIAL, INTEGER, COIN = "normal", "uniform", "exponential", "integer", "coin"

Identity = tuple[Any, ...]
"""What makes a random number the same one: the key's bits, the width of the number, and its place in what the key gives."""


@dataclass
class RandomNumbers:
    """The random numbers of one call, in the order in which they are first asked for, each with the law that it was asked with.

    JAX makes the i-th number of a key from the key and i: two calls with one key share numbers, whatever their shapes. A number
    that is asked for as normal and as uniform is u and Phi^-1(u).
    """

    laws: list[tuple[str, float]] = field(default_factory=list)
    _places: dict[Identity, int] = field(default_factory=dict)

    def places(
        self, key: np.ndarray, width: int, shape: tuple[int, ...], law: tuple[str, float]
    ) -> np.ndarray:
        """The places of the numbers of this shape that a key gives; numbers that are new are appended with their law."""
        apart: Identity = () if jax.config.jax_threefry_partitionable else (shape,)
        kind = law if law[0] in (INTEGER, COIN) else ()
        found = []
        for i in range(math.prod(shape)):
            identity = (key.tobytes(), width, *apart, *kind, i)
            place = self._places.setdefault(identity, len(self.laws))
            if place == len(self.laws):
                self.laws.append(law)
            if place >= 10 * MOST_DRAWS:
                raise Unreached(f"one step draws more than {10 * MOST_DRAWS} random numbers")
            found.append(place)
        return np.array(found, dtype=np.int64).reshape(shape)


class GivenNumbers:
    """The numbers of a call as values: `values`, shape (m,), holds each under its own law; None stands for any values."""

    def __init__(self, table: RandomNumbers, values: Any) -> None:
        self._table, self._values = table, values

    def take(self, key: np.ndarray, width: int, shape: tuple[int, ...], law: tuple[str, float]) -> Any:
        """The numbers that a key gives, with the law that is asked for."""
        places = self._table.places(key, width, shape, law)
        if self._values is None:
            return jnp.full(shape, 0.5)
        own = {self._table.laws[k][0] for k in places.reshape(-1)}
        found = self._values[places]
        return _converted(found, own.pop(), law[0]) if own else found


def _converted(value: Any, kind: str, asked: str) -> Any:
    """Numbers of one law as those of another, by their probabilities."""
    if kind == asked:
        return value
    normal = {
        NORMAL: lambda: value,
        UNIFORM: lambda: ndtri(value),
        EXPONENTIAL: lambda: ndtri(-jnp.expm1(-value)),
    }[kind]()
    return {NORMAL: lambda: normal, UNIFORM: lambda: ndtr(normal), EXPONENTIAL: lambda: -log_ndtr(-normal)}[
        asked
    ]()


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
