"""The interpreter in long double with minibatches, and with fewer bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgverify.exact.numbers.jets import coefficients_of
from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.readings.long_double import (
    _PIECE,
    LongDouble,
    LongDoubleGradient,
    _along,
)
from sgverify.targets import Target

BITS = 40
"""Bits of a `Coarse` number: many fewer than the 64 of a long double, so that rounding shows, and enough for it to be small."""


class Coarse(LongDouble):
    """A value whose arrays are rounded to `BITS` bits after every operation, which magnifies the effect of roundings.

    Constants without an array keep all bits, so that their cancellation does not enter.
    """

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        super().__init__(_rounded(value) if np.ndim(value) else value)


class MinibatchGradient(LongDoubleGradient):
    """grad U on all data, or grad prior + N/n sum over given minibatches, which are used in order.

    `scale` multiplies the likelihood's part, as in the configuration. With a `centre`, shape (d,), the minibatch's gradient there
    is subtracted, and the full gradient there is added.
    """

    def __init__(
        self,
        target: Target,
        minibatches: Sequence[Sequence[int]] = (),
        *,
        scale: float = 1.0,
        clip: float | None = None,
        centre: Sequence[float] | None = None,
    ) -> None:
        super().__init__(target, clip=clip)
        self._minibatches, self._scale, self._centre = minibatches, scale, centre

    def evaluate(self, place: LongDouble, minibatch: int) -> LongDouble:
        """The estimate at `place`, (n, d) -> (n, d). Raises `DefinitionError` for a potential without Taylor polynomials."""
        chosen, everything = self._chosen(minibatch), (self._target.data, EXTENDED(self._scale))
        value = self._at(place.value, *chosen)
        if self._centre is not None:
            there = np.asarray(self._centre, dtype=EXTENDED)[None]
            value = value + (self._at(there, *everything) - self._at(there, *chosen))
        return type(place)(value)

    def hessian(self, place: LongDouble, vector: LongDouble) -> LongDouble:
        """The Hessian of the same estimate, times a vector. Shapes (n, d) -> (n, d). Raises as a call does."""
        return type(place)(self._bend(place.value, vector.value, *self._chosen(self.minibatch())))

    def size(self, theta: np.ndarray) -> float:
        """|grad prior| + N max_i |grad likelihood(x_i)|, the largest coordinate at states of shape (n, d).

        It bounds the sum of the sizes of all terms of the gradient.
        """
        target = self._target
        starts = [_along(np.asarray(theta, dtype=EXTENDED), i) for i in range(theta.shape[-1])]
        total = max(float(np.abs(coefficients_of(target.prior(start))[1]).max()) for start in starts)
        if target.data is None or target.likelihood is None:
            return total
        largest = 0.0
        for first in range(0, len(target.data), _PIECE):
            piece = target.data[first : first + _PIECE]
            gradients = (coefficients_of(target.likelihood(start[:, None, :], piece))[1] for start in starts)
            largest = max(largest, *(float(np.abs(gradient).max()) for gradient in gradients))
        return total + self._scale * len(target.data) * largest

    def _chosen(self, minibatch: int) -> tuple[np.ndarray | None, Any]:
        """The data of a minibatch, and the factor of their sum."""
        data, factor = self._target.data, EXTENDED(self._scale)
        if data is None or not self._minibatches:
            return data, factor
        chosen = data[list(self._minibatches[minibatch])]
        return chosen, factor * len(data) / len(chosen)


def _rounded(value: Any) -> np.ndarray:
    fraction, exponent = np.frexp(np.asarray(value, dtype=EXTENDED))
    return np.asarray(np.ldexp(np.rint(np.ldexp(fraction, BITS)), exponent - BITS))
