"""The gradient of U at many points in float64, by the reverse mode, without torch: for what looks at a target before a run.

`Points` is the interpreter: numpy arrays in which a scalar keeps an axis of length 1, so that a vector times a scalar is what
it is for one point. A value is computed where an array is asked for: of U itself a gradient takes none, and of a sum over data
of multiples of their rows only the sum. No exact answer depends on its roundings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from operator import mul
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

DEEPEST = 32
"""The most operations, one on the other, that wait to be computed."""


class Points(Arithmetic):
    """A vector at many points, shape (*batch, d), or a scalar, shape (*batch, 1); or an operation and its operands, until then."""

    __slots__ = ("_array", "depth", "operands", "operation")

    def __init__(self, array: np.ndarray | None, operation: Any = None, *operands: Any) -> None:
        self._array, self.operation, self.operands = array, operation, operands
        self.depth = 0
        if array is None:
            self.depth = 1 + max(part.depth for part in operands if type(part) is Points)
            if self.depth > DEEPEST:
                _ = self.array

    @property
    def array(self) -> np.ndarray:
        """The numbers."""
        if self._array is None:
            values = [part.array if type(part) is Points else part for part in self.operands]
            self._array, self.operands, self.depth = np.asarray(self.operation(*values)), (), 0
        return self._array

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        if type(other) is Points:
            return Points(None, operation, self, other)
        return Points(None, operation, self, float(other)) if isinstance(other, _EXACT) else NotImplemented

    def summed(self, weights: np.ndarray) -> np.ndarray:
        """The sum of weights_i times these vectors over the data i, shape (n, N, d) -> (n, d)."""
        if self.operation is mul and len(self.operands) == 2 and type(self.operands[1]) is Points:
            factor, rows = (part.array for part in self.operands)
            if factor.ndim == rows.ndim == 3 and len(rows) == 1 and factor.shape[1:] == (len(weights), 1):
                return np.asarray((factor[..., 0] * weights) @ rows[0])
        return _sum(self.array, weights)

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
        found = _gradient(prior, theta)
        total = np.zeros_like(theta) + (found.array if isinstance(found, Points) else found)
        if likelihood is None or data is None:
            return total
        piece = max(1, MOST_ENTRIES // max(1, theta.size))
        for start in range(0, len(data), piece):
            rows = data[None, start : start + piece]
            each = _gradient(likelihood, theta[:, None], Points(rows))
            counts = np.ones(rows.shape[1]) if weights is None else weights[start : start + piece]
            total = total + (each.summed(counts) if isinstance(each, Points) else _sum(each, counts))
    return total


def value_at(theta: np.ndarray, potential: Potential) -> np.ndarray:
    """A part of U that takes no data, at the points. Shape (n, d) -> (n,)."""
    with np.errstate(all="ignore"):
        found = potential(Points(theta))
        value = found.array[..., 0] if isinstance(found, Points) else np.float64(found)
    return np.asarray(np.broadcast_to(value, theta.shape[:-1]))


FAR = 10.0
"""A coordinate that is so many times as far from 0 as the others is one along which U falls without end."""


def not_finite(target: Any, what: str, which: str, place: np.ndarray) -> DefinitionError:
    """The refusal of a `Target` whose `what`, its value or gradient, is not finite near its location."""
    refusal = (
        f"target.name={target.name!r}: the {what} of {which} is not finite at theta={place.tolist()}; expected a finite "
        "one within a standard deviation of its location; mend the density, or state its location and spread"
    )
    away = np.abs(place)
    if away.max() > FAR * (1 + np.median(away)) and target.stated_location is None:
        refusal += (
            f"; the search for a mode went along {target.labels[int(np.argmax(away))]}: where a scale of other coordinates falls "
            "to 0 there, write each of them as a mean plus the scale times a coordinate that is N(0, 1), the same posterior "
            "without its funnel"
        )
    return DefinitionError(refusal)


def _sum(each: Any, weights: np.ndarray) -> np.ndarray:
    """The sum over data of vectors at points, or of what broadcasts to these."""
    each = np.asarray(each)
    if each.ndim == 3 and each.shape[1] == len(weights):
        return np.asarray(np.einsum("nid,i->nd", each, weights))
    return np.asarray((each[:, 0] if each.ndim == 3 else each) * weights.sum())


def _gradient(potential: Callable[..., Any], theta: np.ndarray, *rows: Points) -> Any:
    """The derivative of a part of U, of a shape that broadcasts to that of the points (and data); a number where it is one."""
    at = Tracked(Points(theta), VECTOR)
    (found,) = gradient_of(potential(at, *rows), [at])
    return found if isinstance(found, Points) else float(found)


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
    one, two = left.array, right.array
    if one.ndim == two.ndim == 3 and one.shape[1] == len(two) == 1:
        # Points by data: one product of matrices.
        return Points((one[:, 0] @ two[0].T)[..., None])
    return Points(np.einsum("...i,...i->...", one, two)[..., None])


def _evaluated(function: Any, value: Points) -> Points:
    return Points(None, ARRAYS[function], value)


register(Points, _evaluated)
