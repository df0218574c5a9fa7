"""Precision matrices with a prescribed spectrum whose entries are short decimals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.errors import ConfigurationError
from sgverify.strategies.scalars import as_decimal, decimals

COSINE, SINE = Fraction(3, 5), Fraction(4, 5)
"""The rotation of the triangle 3, 4, 5: rational, and each use of it adds one decimal place only."""

MOST_ROTATIONS = 4
LARGEST_CONDITION = 100.0

Precision = float | list[float] | list[list[float]]


def precisions(
    *,
    dim: int,
    condition: float | None = None,
    smallest: float | None = None,
    shape: Literal["number", "diagonal", "dense"] | None = None,
) -> SearchStrategy[Precision]:
    """Precisions R diag(l_1, ..., l_d) R^T in the forms that a configuration takes: number, diagonal or matrix.

    R is a product of rotations by the angle of the triangle 3, 4, 5, so the entries are decimals and the
    eigenvalues are the ones that were drawn. `condition` prescribes l_max / l_min (drawn up to 100 where it is left out),
    `smallest` prescribes l_min. Shrinks to a small diagonal.

    >>> from hypothesis import find
    >>> find(precisions(dim=1), lambda value: True)
    1.0
    >>> find(precisions(dim=2, condition=4.0, shape="dense"), lambda value: True)
    [[2.92, -1.44], [-1.44, 2.08]]

    Raises `ConfigurationError` for an empty domain.
    """
    if dim < 1:
        raise ConfigurationError(f"dim={dim!r}: expected a whole number of at least 1")
    if condition is not None and not 1 <= condition <= 10_000:
        raise ConfigurationError(f"condition={condition!r}: expected a number from 1 to 10000")
    if shape == "dense" and dim == 1:
        raise ConfigurationError(
            "shape='dense' with dim=1: one coordinate has no dense matrix; leave shape out"
        )
    if dim == 1 and condition not in (None, 1.0):
        raise ConfigurationError(
            f"condition={condition!r} with dim=1: one eigenvalue has the condition 1; leave it out"
        )
    if shape == "number" and condition not in (None, 1.0):
        raise ConfigurationError(
            f"condition={condition!r} with shape='number': has the condition 1; leave it out"
        )
    return _precisions(dim, condition, smallest, shape)


def eigenvalues(
    *, dim: int, condition: float | None = None, smallest: float | None = None
) -> SearchStrategy[list[float]]:
    """`dim` eigenvalues, the first the smallest and, for dim > 1, the second the largest."""
    return _eigenvalues(dim, condition, smallest)


@st.composite
def _eigenvalues(draw: Any, dim: int, condition: float | None, smallest: float | None) -> list[float]:
    least = draw(decimals(low=0.25, high=4.0)) if smallest is None else smallest
    if dim == 1:
        return [least]
    widest = draw(decimals(low=1.0, high=LARGEST_CONDITION, places=1)) if condition is None else condition
    others = [draw(decimals(low=1.0, high=widest, places=1)) for _ in range(dim - 2)]
    ratios = [Fraction(1), _fraction(widest), *map(_fraction, others)]
    return [as_decimal(_fraction(least) * ratio) for ratio in ratios]


@st.composite
def _precisions(
    draw: Any, dim: int, condition: float | None, smallest: float | None, shape: str | None
) -> Precision:
    if dim == 1 or shape == "number":
        (value,) = draw(_eigenvalues(1, None, smallest))
        return value
    chosen = shape or draw(
        st.sampled_from(["number", "diagonal", "dense"] if condition is None else ["diagonal", "dense"])
    )
    if chosen == "number":
        return draw(_eigenvalues(1, None, smallest))[0]
    values = draw(_eigenvalues(dim, condition, smallest))
    if chosen == "diagonal":
        return values
    planes = [(i, j) for i in range(dim) for j in range(i + 1, dim)]
    rotations = draw(
        st.lists(st.sampled_from(planes), min_size=1, max_size=min(MOST_ROTATIONS, len(planes)), unique=True)
    )
    rows = [[_fraction(values[i]) if i == j else Fraction(0) for j in range(dim)] for i in range(dim)]
    for i, j in rotations:
        rows = _rotated(rows, i, j)
    return [[as_decimal(entry) for entry in row] for row in rows]


def _rotated(rows: list[list[Fraction]], i: int, j: int) -> list[list[Fraction]]:
    """R A R^T for the rotation R in the plane of the coordinates i and j."""

    def turn(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
        turned = [list(row) for row in matrix]
        turned[i] = [COSINE * a - SINE * b for a, b in zip(matrix[i], matrix[j], strict=True)]
        turned[j] = [SINE * a + COSINE * b for a, b in zip(matrix[i], matrix[j], strict=True)]
        return turned

    def transposed(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
        return [list(column) for column in zip(*matrix, strict=True)]

    return transposed(turn(transposed(turn(rows))))


def _fraction(value: float) -> Fraction:
    return Fraction(repr(float(value)))


__all__ = ["Precision", "eigenvalues", "precisions"]
