"""Read the constants of a target from a configuration: numbers, lists and matrices, as exact numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sgverify.errors import ConfigurationError, shown
from sgverify.schemes.numbers.algebraic import exact
from sgverify.targets.form import certainly_positive_definite, leading_minors
from sgverify.targets.potential import Matrix, Vector

# Squares and N-fold sums of numbers of this size are still far from the end of float64.
LARGEST = 1e100
# Matrices are dense: beyond this a number for the precision would no longer be a small thing to hold.
MOST_COORDINATES = 1000
MOST_ENTRIES = 1000
SMALLEST = 1e-100


def is_list(value: Any) -> bool:
    """Whether a configuration value is a list (and not text)."""
    return isinstance(value, list | tuple)


def read_number(key: str, value: Any) -> Fraction:
    """One configuration number, exactly; a float is the decimal that it prints as."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise ConfigurationError(f"{key}={shown(value)}: expected a number; write e.g. {key}=0.5")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigurationError(f"{key}={value!r}: expected a finite number; write e.g. {key}=0.5")
    size: Any = abs(value)
    if size and not SMALLEST <= size <= LARGEST:
        raise ConfigurationError(
            f"{key}={shown(value)}: expected 0 or a size from 1e-100 to 1e100, so that float64 can follow; rescale it"
        )
    return exact(value)


def read_whole(key: str, value: Any, low: int, high: int) -> int:
    """A whole number between `low` and `high`, both included."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigurationError(f"{key}={shown(value)}: expected a whole number from {low} to {high}")
    return value


def read_vector(key: str, value: Any, dim: int) -> Vector:
    """A number (the same for every coordinate) or a list of `dim` numbers. Shape (d,)."""
    if not is_list(value):
        return Vector([read_number(key, value)] * dim)
    _check_length(key, value, dim, "numbers")
    return Vector(read_number(f"{key}[{i}]", entry) for i, entry in enumerate(value))


def read_scalar(key: str, value: Any, dim: int = 1) -> Vector:
    """One number, whatever the dimension, as a vector of one entry. Shape (1,)."""
    return Vector([read_number(key, value)])


def read_positive(key: str, value: Any, dim: int = 1) -> Vector:
    """One number above 0, whatever the dimension, as a vector of one entry. Shape (1,)."""
    number = read_number(key, value)
    if number <= 0:
        raise ConfigurationError(f"{key}={shown(value)}: expected a number above 0; write e.g. {key}=0.5")
    return Vector([number])


def read_positives(key: str, value: Any, dim: int = 1) -> Vector:
    """A number above 0 or a list of them, of any length. Shape (k,)."""
    if not is_list(value):
        return read_positive(key, value)
    _check_filled(key, value)
    return Vector(read_positive(f"{key}[{i}]", entry).entries[0] for i, entry in enumerate(value))


def read_positive_vector(key: str, value: Any, dim: int) -> Vector:
    """A number above 0 (the same for every coordinate) or a list of `dim` of them. Shape (d,)."""
    found = read_vector(key, value, dim)
    for i, entry in enumerate(found.entries):
        if entry <= 0:
            place = f"{key}[{i}]={shown(value[i])}" if is_list(value) else f"{key}={shown(value)}"
            raise ConfigurationError(f"{place}: expected a number above 0; write e.g. {key}=0.5")
    return found


def read_simplex(key: str, value: Any, dim: int) -> Vector:
    """A number above 0 (the same for every category) or a list of `dim` + 1 of them. Shape (d + 1,)."""
    if is_list(value) and len(value) != dim + 1:
        raise ConfigurationError(
            f"{key}={shown(list(value))} has length {len(value)}; expected {dim + 1} numbers, one for each category, as "
            f"target.dim is {dim}; change the list or target.dim"
        )
    return read_positive_vector(key, value, dim + 1)


def read_points(key: str, value: Any, dim: int) -> tuple[Vector, ...]:
    """A list of points, each a list of `dim` numbers or a number (the same for every coordinate). Shape (k, d)."""
    if not is_list(value):
        raise ConfigurationError(
            f"{key}={shown(value)}: expected a list of points; write e.g. {key}=[-1.0, 2.0]"
        )
    _check_filled(key, value)
    return tuple(read_vector(f"{key}[{i}]", entry, dim) for i, entry in enumerate(value))


def read_precision(key: str, value: Any, dim: int) -> Matrix:
    """A number, a list (the diagonal) or a symmetric matrix; positive definite, tested exactly. Shape (d, d)."""
    if not is_list(value) or not any(is_list(entry) for entry in value):
        diagonal = read_vector(key, value, dim).entries
        for i, entry in enumerate(diagonal):
            if entry <= 0:
                place = f"{key}[{i}]={shown(value[i])}" if is_list(value) else f"{key}={shown(value)}"
                raise ConfigurationError(
                    f"{place}: expected a positive number, because a precision is positive definite; "
                    "give an inverse variance above 0"
                )
        return Matrix.diagonal(diagonal)
    return Matrix(_read_matrix(key, value, dim))


def _read_matrix(key: str, value: Sequence[Any], dim: int) -> list[list[Fraction]]:
    _check_length(key, value, dim, "rows")
    for i, row in enumerate(value):
        if not is_list(row):
            raise ConfigurationError(
                f"{key}[{i}]={shown(row)}: expected a row of {dim} numbers, as in the other rows; "
                "give a matrix, or a plain list for the diagonal"
            )
        _check_length(f"{key}[{i}]", row, dim, "numbers")
    rows = [
        [read_number(f"{key}[{i}][{j}]", entry) for j, entry in enumerate(row)] for i, row in enumerate(value)
    ]
    for i in range(dim):
        for j in range(i):
            if rows[i][j] != rows[j][i]:
                raise ConfigurationError(
                    f"{key}={shown(value)} is not symmetric: [{i}][{j}] is {shown(value[i][j])} and [{j}][{i}] is "
                    f"{shown(value[j][i])}; expected a symmetric matrix; make the two equal"
                )
    # Minors of a large matrix are long fractions, and are asked for where float64 proves nothing.
    minors = [] if certainly_positive_definite(rows) else leading_minors(rows)
    for size, minor in enumerate(minors, start=1):
        if minor <= 0:
            raise ConfigurationError(
                f"{key}={shown(value)} is not positive definite: the leading minor of order {size} is "
                f"{float(minor):g}; expected every leading minor positive; enlarge the diagonal or shrink the rest"
            )
    return rows


def _check_filled(key: str, value: Sequence[Any]) -> None:
    if not 1 <= len(value) <= MOST_ENTRIES:
        raise ConfigurationError(
            f"{key} has {len(value)} entries; expected 1 to {MOST_ENTRIES}; change the list"
        )


def _check_length(key: str, value: Sequence[Any], dim: int, what: str) -> None:
    if len(value) != dim:
        raise ConfigurationError(
            f"{key}={shown(list(value))} has length {len(value)}; expected {dim} {what}, as target.dim is {dim}; "
            "change the list or target.dim"
        )
