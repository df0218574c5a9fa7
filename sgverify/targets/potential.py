"""The vocabulary of potentials: exact vectors and matrices, and the functions that bring them to a carrier's values.

A potential is defined once, with arithmetic, `dot` and `linear`; a carrier that evaluates it registers
two functions for its own type: `dot` (sgverify.schemes.definition.mathematics) and `constant`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, singledispatch
from typing import Any

import numpy as np

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.mathematics import FUNCTIONS, dot, erf, logistic, register, softplus
from sgverify.schemes.definition.reverse_mode import Tracked, TrackedMatrix, tracked_coordinate
from sgverify.schemes.numbers.algebraic import exact


class Vector:
    """A vector of exact numbers (or of any ring's elements): a constant of a potential, or its exact argument.

    Compared and hashed by identity, so that a carrier can cache its own form of a constant.
    """

    def __init__(self, entries: Iterable[Any]) -> None:
        self.entries = tuple(entries)

    def _made(self, entries: Iterable[Any]) -> Vector:
        return type(self)(entries)

    def __getitem__(self, part: Any) -> Vector:
        """Some coordinates, `[:d]` or, as every carrier takes it, `[..., :d]`."""
        return self._made(self.entries[part[-1] if isinstance(part, tuple) else part])

    def __add__(self, other: Vector) -> Vector:
        return self._made(a + b for a, b in zip(self.entries, other.entries, strict=True))

    def __sub__(self, other: Vector) -> Vector:
        return self._made(a - b for a, b in zip(self.entries, other.entries, strict=True))

    def __neg__(self) -> Vector:
        return self._made(-a for a in self.entries)

    def __mul__(self, number: Any) -> Vector:
        factor = _literal(number)
        return self._made(a * factor for a in self.entries)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> Vector:
        divisor = _literal(number)
        return self._made(a / divisor for a in self.entries)

    def __matmul__(self, matrix: Matrix) -> Vector:
        """The row vector times the matrix."""
        # Rows with a zero factor are skipped: potentials are often evaluated at unit vectors.
        lines = list(zip(self.entries, matrix.rows, strict=True))
        kept = [(a, row) for a, row in lines if a] or lines[:1]
        return self._made(
            _sum_of_products((a, row[j]) for a, row in kept) for j in range(len(matrix.rows[0]))
        )

    def __repr__(self) -> str:
        return f"Vector({list(self.entries)!r})"

    def float64(self) -> np.ndarray:
        """The entries as a float64 array, each rounded once. Shape (d,)."""
        return self._array

    @cached_property
    def _array(self) -> np.ndarray:
        return _frozen([float(entry) for entry in self.entries])


class Matrix:
    """A matrix of exact numbers, a constant of a potential; hashed by identity as `Vector` is."""

    def __init__(self, rows: Iterable[Iterable[Any]]) -> None:
        self.rows = tuple(tuple(row) for row in rows)

    @staticmethod
    def diagonal(entries: Sequence[Any]) -> Matrix:
        """The matrix with these entries on its diagonal and zeros elsewhere."""
        return Matrix(
            [entry if i == j else 0 for j in range(len(entries))] for i, entry in enumerate(entries)
        )

    @cached_property
    def transposed(self) -> Matrix:
        """The transpose; the matrix itself where it is symmetric."""
        columns = tuple(zip(*self.rows, strict=True))
        return self if columns == self.rows else Matrix(columns)

    @cached_property
    def is_identity(self) -> bool:
        """Is every vector its own image?"""
        return all(len(row) == len(self.rows) for row in self.rows) and all(
            entry == (1 if i == j else 0) for i, row in enumerate(self.rows) for j, entry in enumerate(row)
        )

    def __repr__(self) -> str:
        return f"Matrix({[list(row) for row in self.rows]!r})"

    def float64(self) -> np.ndarray:
        """The entries as a float64 array, each rounded once. Shape (d, d)."""
        return self._array

    @cached_property
    def _array(self) -> np.ndarray:
        return _frozen([[float(entry) for entry in row] for row in self.rows])


Potential = Callable[[Any], Any]
"""U(theta) or one of its parts; shape (*batch, d) -> (*batch)."""

PairPotential = Callable[[Any, Any], Any]
"""-log likelihood of one datum x given theta; shapes (*batch, d), (*batch, d) -> (*batch)."""


@singledispatch
def constant(like: Any, value: Vector | Matrix) -> Any:
    """The exact constant `value` as the carrier of `like` holds it (its array type, dtype and device).

    A carrier registers its type: `constant.register(torch.Tensor)`. Shapes (d,) and (d, d).
    """
    raise DefinitionError(
        f"a potential was evaluated on a {type(like).__name__}; expected an array, a tensor or an exact Vector; "
        f"pass one of these, or register {type(like).__name__} with sgverify.targets.constant"
    )


def linear(matrix: Matrix, vector: Any) -> Any:
    """The matrix times the vector, whatever the vector's carrier. Shape (*batch, d) -> (*batch, d).

    >>> linear(Matrix([[1, 2], [0, 1]]), Vector([3, 4]))
    Vector([11, 4])
    """
    # The identity is that of most priors; multiplying by it costs d^2 operations and changes nothing.
    return vector if matrix.is_identity else vector @ constant(vector, matrix.transposed)


@singledispatch
def coordinate(vector: Any, place: int) -> Any:
    """One coordinate as the carrier holds numbers such as `dot` gives. Shape (*batch, d) -> (*batch).

    A carrier registers its type, as for `constant`.
    """
    raise DefinitionError(
        f"a potential took a coordinate of a {type(vector).__name__}; expected an array, a tensor or an exact Vector; "
        f"pass one of these, or register {type(vector).__name__} with sgverify.targets.coordinate"
    )


def number(like: Any, value: Vector) -> Any:
    """The exact number that `value`, a vector of one entry, holds, as the carrier of `like` holds numbers."""
    return coordinate(constant(like, value), 0)


def polynomial_potential(powers: Sequence[Any]) -> Potential:
    """theta -> sum_k c_k theta_0^k from the exact coefficients of the powers 0, 1, ..."""
    numbers = [Vector([c]) for c in powers]

    def prior(theta: Any) -> Any:
        x, total = coordinate(theta, 0), number(theta, numbers[-1])
        for own in reversed(numbers[:-1]):
            total = total * x + number(theta, own)
        return total

    return prior


def centred_quadratic(precision: Matrix, mean: Vector) -> Potential:
    """theta -> (theta - mean) . precision (theta - mean) / 2, which is -log N(theta; mean, precision^-1) + const."""

    def prior(theta: Any) -> Any:
        offset = theta - constant(theta, mean)
        return dot(offset, linear(precision, offset)) / 2

    return prior


@constant.register
def _(like: Tracked, value: Vector | Matrix) -> Any:
    if isinstance(value, Vector):
        return constant(like.value, value)
    return TrackedMatrix(constant(like.value, value), constant(like.value, value.transposed))


@coordinate.register
def _(vector: Tracked, place: int) -> Any:
    return tracked_coordinate(vector, place, coordinate)


@constant.register
def _(like: Vector, value: Vector | Matrix) -> Any:
    return value


@constant.register
def _(like: np.ndarray, value: Vector | Matrix) -> Any:
    kind = like.dtype if np.issubdtype(like.dtype, np.floating) else np.float64
    return value.float64().astype(kind, copy=False)


@coordinate.register
def _(vector: Vector, place: int) -> Any:
    return vector.entries[place]


@coordinate.register
def _(vector: np.ndarray, place: int) -> Any:
    return vector[..., place]


@dot.register
def _(left: Vector, right: Vector) -> Any:
    return _sum_of_products(zip(left.entries, right.entries, strict=True))


@dot.register
def _(left: np.ndarray, right: np.ndarray) -> Any:
    return (left * right).sum(-1)


def _logistic(x: Any) -> Any:
    # exp of what is not above 0 alone: nothing overflows.
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1 + small)


ARRAYS: dict[Any, Callable[[Any], Any]] = {
    **{function: getattr(np, function.__name__) for function in FUNCTIONS if hasattr(np, function.__name__)},
    erf: np.vectorize(math.erf, otypes=[np.float64]),
    logistic: _logistic,
    softplus: lambda x: np.logaddexp(0.0, x),
}
"""The functions of definitions on arrays."""


def _of_array(function: Any, value: Any) -> Any:
    # A potential that overflows is infinite there, and the density 0.
    with np.errstate(over="ignore"):
        return ARRAYS[function](value)


for _kind in (np.ndarray, np.floating):
    register(_kind, _of_array)


def _sum_of_products(pairs: Iterable[tuple[Any, Any]]) -> Any:
    # The first product is always taken, so that an empty sum is the zero of the entries' own ring.
    total: Any = None
    for a, b in pairs:
        if total is None:
            total = a * b
        elif a and b:
            total = total + a * b
    return total


def _literal(number: Any) -> Any:
    # Entries may be plain ints: without this, 1/3 would silently become a float.
    return exact(number) if isinstance(number, int | float) else number


def _frozen(values: list[Any]) -> np.ndarray:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
