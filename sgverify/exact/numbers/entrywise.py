"""Vectors and matrices whose entries are exact values of a reading: series, elements of a field.

Symmetric tensors of order 3 and 4 as n x n^(r-1) matrices, so that matrix products do all the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from flint import arb_mat

from sgverify.exact.numbers.ball import reshaped
from sgverify.schemes import dot
from sgverify.schemes.definition.binding import Arithmetic
from sgverify.schemes.definition.mathematics import first_entry, register
from sgverify.schemes.numbers.constants import constants_like, linear_image, repeated, repeated_rows


def rotated(tensor: arb_mat) -> arb_mat:
    """The tensor with its first slot moved last: [i; j, k] becomes [j; k, i]."""
    # The transpose lists its entries as (j, ..., i), which in row-major order already is the rotated tensor.
    return reshaped(tensor.transpose(), tensor.nrows(), tensor.ncols())


def applied(tensor: arb_mat, factors: Sequence[arb_mat | None]) -> arb_mat:
    """(F_1 x F_2 x ... x F_r) applied to a tensor of order r, slot by slot; None is the identity."""
    for factor in factors:
        tensor = rotated(tensor if factor is None else factor * tensor)
    return tensor


def push(tensor: arb_mat, injection: arb_mat, order: int) -> arb_mat:
    """Cumulants of B g from those of g: q x q^(order-1) in, n x n^(order-1) out, with B of shape n x q."""
    n, q = injection.nrows(), injection.ncols()
    sizes = [q] * order
    for _ in range(order):
        moved = (injection * tensor).transpose()
        sizes = [*sizes[1:], n]
        tensor = reshaped(moved, sizes[0], math.prod(sizes[1:]))
    return tensor


def along(third: arb_mat, direction: arb_mat) -> arb_mat:
    """sum_i a_i kappa_ijk of a symmetric tensor of order 3 and an n x 1 direction a: n x n."""
    n = third.nrows()
    return reshaped(direction.transpose() * third, n, n)


def over(third: arb_mat, form: arb_mat) -> arb_mat:
    """sum_jk kappa_ijk E_jk of a symmetric tensor of order 3 and an n x n form E: n x 1."""
    n = third.nrows()
    return third * reshaped(form, n * n, 1)


def over_fourth(fourth: arb_mat, form: arb_mat) -> arb_mat:
    """sum_kl kappa_ijkl E_kl of a symmetric tensor of order 4 and an n x n form E: n x n."""
    n = fourth.nrows()
    return reshaped(reshaped(fourth, n * n, n * n) * reshaped(form, n * n, 1), n, n)


class EntrywiseVector(Arithmetic):
    """A vector; sums and products with scalars are taken entry by entry."""

    __slots__ = ("entries",)

    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        others = other.entries if isinstance(other, EntrywiseVector) else [other] * len(self.entries)
        results = [operation(a, b) for a, b in zip(self.entries, others, strict=True)]
        return (
            NotImplemented
            if any(result is NotImplemented for result in results)
            else EntrywiseVector(results)
        )

    def __pow__(self, exponent: Any) -> EntrywiseVector:
        return EntrywiseVector([entry**exponent for entry in self.entries])

    def __neg__(self) -> EntrywiseVector:
        return EntrywiseVector([-entry for entry in self.entries])


class EntrywiseMatrix(Arithmetic):
    """A matrix, added to matrices and multiplied by scalars: the diffusion of a Riemannian dynamics."""

    __slots__ = ("rows",)

    def __init__(self, rows: list[list[Any]]) -> None:
        self.rows = rows

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        others = (
            other.rows if isinstance(other, EntrywiseMatrix) else [[other] * len(row) for row in self.rows]
        )
        pairs = zip(self.rows, others, strict=True)
        return EntrywiseMatrix([[operation(a, b) for a, b in zip(*pair, strict=True)] for pair in pairs])

    def __neg__(self) -> EntrywiseMatrix:
        return EntrywiseMatrix([[-entry for entry in row] for row in self.rows])


def state_of(shapes: Mapping[str, str], dim: int, entry: Callable[[str, int], Any]) -> tuple[Any, ...]:
    """A state of these variables, whose coordinates are entry(name, i); a scalar is entry(name, 0)."""
    return tuple(
        EntrywiseVector([entry(name, i) for i in range(dim)]) if shape == "vector" else entry(name, 0)
        for name, shape in shapes.items()
    )


def coordinate_keys(shapes: Mapping[str, str], dim: int) -> list[tuple[str, int]]:
    """(name, i) of all coordinates of a state, in order; (name, 0) of a scalar."""
    return [(name, i) for name, shape in shapes.items() for i in range(dim if shape == "vector" else 1)]


def coordinates_of(values: Iterable[Any], shapes: Mapping[str, str], dim: int) -> list[Any]:
    """All coordinates of a state, in order; a number in the place of a vector is each of its coordinates."""
    flat: list[Any] = []
    for value, shape in zip(values, shapes.values(), strict=True):
        flat += (
            value.entries
            if isinstance(value, EntrywiseVector)
            else [value] * (dim if shape == "vector" else 1)
        )
    return flat


def squares_of(values: Iterable[Any], shapes: Mapping[str, str], dim: int) -> dict[tuple[int, int], Any]:
    """The entries of a: a number or vector is the diagonal of its block, a matrix the block itself."""
    entries: dict[tuple[int, int], Any] = {}
    first = 0
    for value, (name, shape) in zip(values, shapes.items(), strict=True):
        if isinstance(value, EntrywiseMatrix):
            for i, row in enumerate(value.rows):
                entries |= {(first + i, first + j): entry for j, entry in enumerate(row)}
        else:
            diagonal = coordinates_of([value], {name: shape}, dim)
            entries |= {(first + i, first + i): entry for i, entry in enumerate(diagonal)}
        first += dim if shape == "vector" else 1
    return entries


def times(rows: list[list[Any]], vector: EntrywiseVector) -> EntrywiseVector:
    """The product of a matrix, given by its rows, and a vector."""
    return EntrywiseVector([dot(EntrywiseVector(row), vector) for row in rows])


def transpose(rows: list[list[Any]]) -> list[list[Any]]:
    """The rows of the transposed matrix."""
    return [list(column) for column in zip(*rows, strict=True)]


class RootMetric:
    """The metric ingredient of an interpreter that knows the rows of the root B of G^-1 = B B^T at a place."""

    def rows(self, theta: EntrywiseVector) -> list[list[Any]]:
        """B."""
        raise NotImplementedError

    def root(self, theta: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
        """B v."""
        return times(self.rows(theta), vector)

    def transposed(self, theta: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
        """B^T v."""
        return times(transpose(self.rows(theta)), vector)

    def inverse(self, theta: EntrywiseVector, vector: EntrywiseVector) -> EntrywiseVector:
        """G^-1 v = B B^T v."""
        return self.root(theta, self.transposed(theta, vector))

    def diffusion(self, theta: EntrywiseVector) -> EntrywiseMatrix:
        """G^-1."""
        rows = [EntrywiseVector(row) for row in self.rows(theta)]
        return EntrywiseMatrix([[dot(a, b) for b in rows] for a in rows])


register(
    EntrywiseVector,
    lambda function, value: EntrywiseVector([function(entry) for entry in value.entries]),
)


@dot.register
def _(left: EntrywiseVector, right: Any) -> Any:
    total: Any = 0
    for a, b in zip(left.entries, right.entries, strict=True):
        total = total + a * b
    # An interpreter that tracks how the dimension enters is told which values are sums over coordinates.
    return total.summed() if hasattr(total, "summed") else total


@constants_like.register
def _(like: EntrywiseVector, numbers: tuple[Any, ...]) -> EntrywiseVector:
    # Exact numbers are left as they are: they combine with the entries of any interpreter.
    return EntrywiseVector(list(repeated(numbers, len(like.entries))))


@linear_image.register
def _(vector: EntrywiseVector, rows: tuple[Any, ...]) -> EntrywiseVector:
    return EntrywiseVector(
        [_combined(row, vector.entries) for row in repeated_rows(rows, len(vector.entries))]
    )


def _combined(row: tuple[Any, ...], entries: list[Any]) -> Any:
    total: Any = None
    for factor, entry in zip(row, entries, strict=True):
        if factor:
            total = entry * factor if total is None else total + entry * factor
    return entries[0] * 0 if total is None else total


@first_entry.register
def _(draw: EntrywiseVector) -> Any:
    return draw.entries[0]
