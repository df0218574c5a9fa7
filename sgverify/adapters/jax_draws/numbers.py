"""Which random numbers does a traced function draw, and by which of its keys?"""

from __future__ import annotations

import math
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


__all__ = ["COIN", "EXPONENTIAL", "INTEGER", "NORMAL", "UNIFORM", "GivenNumbers", "RandomNumbers"]
