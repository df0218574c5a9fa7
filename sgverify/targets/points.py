"""The gradient of U at many points in float64, by the reverse mode, without torch: for what looks at a target before a run.

`Points` is the interpreter: numpy arrays in which a scalar keeps an axis of length 1, so that a vector times a scalar is what
it is for one point. No exact answer depends on its roundings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.abstract_value import SCALAR, VECTOR
from sgverify.schemes.definition.binding import Arithmetic
from sgverify.schemes.definition.mathematics import dot, power, register
from sgverify.schemes.definition.reverse_mode import Tracked, assembled, gradient_of, kind_of
from sgverify.schemes.numbers.algebraic import Algebraic
from sgverify.targets.potential import ARRAYS, Matrix, PairPotential, Potential, Vector, constant, coordinate

MOST_ENTRIES = 2**20
"""The most entries (points x data x coordinates) of one piece: 8 MiB for each array of it."""

_EXACT = (int, float, Fraction, Algebraic)


class Points(Arithmetic):
    """A vector at many points, shape (*batch, d), or a scalar, shape (*batch, 1)."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        if type(other) is Points:
            return Points(operation(self.array, other.array))
        return Points(operation(self.array, float(other))) if isinstance(other, _EXACT) else NotImplemented

    def __pow__(self, exponent: Any) -> Any:
        if not isinstance(exponent, int):
            return power(self, exponent)
        return Points(self.array**exponent if exponent >= 0 else 1 / self.array**-exponent)

    def __neg__(self) -> Points:
        return Points(-self.array)

    def __matmul__(self, matrix: Any) -> Any:
        return Points(self.array @ matrix.array) if type(matrix) is Points else NotImplemented

    def __getitem__(self, place: Any) -> Points:
        return Points(self.array[place])


def gradient_at(
    theta: np.ndarray,
    prior: Potential,
    likelihood: PairPotential | None = None,
    data: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """The gradient of prior(theta) + sum_i weights_i likelihood(theta, x_i), shape (n, d) -> (n, d); weights are 1 by default.

    Raises `DefinitionError` where a part is a black box that has no derivative on arrays.
    """
    with np.errstate(all="ignore"):
        total = np.zeros_like(theta) + _gradient(prior, theta)
        if likelihood is None or data is None:
            return total
        piece = max(1, MOST_ENTRIES // max(1, theta.size))
        for start in range(0, len(data), piece):
            rows = data[None, start : start + piece]
            each = _gradient(likelihood, theta[:, None], Points(rows))
            each = np.broadcast_to(each, (len(theta), rows.shape[1], theta.shape[1]))
            counts = np.ones(rows.shape[1]) if weights is None else weights[start : start + piece]
            total = total + np.einsum("nid,i->nd", each, counts)
    return total


def _gradient(potential: Callable[..., Any], theta: np.ndarray, *rows: Points) -> Any:
    """The derivative of a part of U, of a shape that broadcasts to that of the points (and data)."""
    at = Tracked(Points(theta), VECTOR)
    (found,) = gradient_of(potential(at, *rows), [at])
    return found.array if isinstance(found, Points) else float(found)


@constant.register
def _(like: Points, value: Vector | Matrix) -> Points:
    return Points(value.float64())


@coordinate.register
def _(vector: Points, place: int) -> Points:
    return Points(vector.array[..., place : place + 1])


@kind_of.register
def _(value: Points) -> str:
    return VECTOR if value.array.shape[-1] > 1 else SCALAR


@assembled.register
def _(like: Points, whole: Any, coordinates: Mapping[int, Any]) -> Points:
    parts = {
        place: part.array if isinstance(part, Points) else float(part) for place, part in coordinates.items()
    }
    added = 0.0 if whole is None else whole.array if isinstance(whole, Points) else float(whole)
    lead = np.broadcast_shapes(
        like.array.shape[:-1], np.shape(added)[:-1], *(np.shape(part)[:-1] for part in parts.values())
    )
    result = np.zeros((*lead, like.array.shape[-1])) + added
    for place, part in parts.items():
        result[..., place : place + 1] += part
    return Points(result)


@dot.register
def _(left: Points, right: Any) -> Any:
    if isinstance(right, Tracked):
        return dot(right, left)
    if not isinstance(right, Points):
        raise DefinitionError(f"dot of a vector and a {type(right).__name__}; expected two vectors")
    return Points(np.einsum("...i,...i->...", left.array, right.array)[..., None])


def _evaluated(function: Any, value: Points) -> Points:
    return Points(np.asarray(ARRAYS[function](value.array)))


register(Points, _evaluated)
