"""Constants that distinguish coordinates: vectors and matrices of exact numbers, in every dimension.

Numbers repeat: in `constants((1, 3), v)` the coordinates are 1, 3, 1, 3, ..., and in `linear(((0, 1), (-1, 0)), v)` the block
repeats along the diagonal, cut where the dimension ends. So a definition means something in every dimension, as its proofs need.
A proof may follow any coordinates, not only the first ones: `placed` says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import singledispatch
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.numbers.algebraic import Algebraic
from sgverify.schemes.numbers.rounded import literal

Numbers = tuple[Any, ...]
Rows = tuple[Numbers, ...]
Constant = Numbers | Rows
"""The numbers of one call of `constants`, or the rows of one of `linear`."""

_CUT: ContextVar[int | None] = ContextVar("cut", default=None)
_MET: ContextVar[list[Constant] | None] = ContextVar("met", default=None)
_PLACES: ContextVar[tuple[int, ...] | None] = ContextVar("places", default=None)


@contextmanager
def cut_to(dim: int) -> Iterator[None]:
    """Context in which constants have at most `dim` coordinates; in dimension 1 they are numbers, which all interpreters take."""
    token = _CUT.set(dim)
    try:
        yield
    finally:
        _CUT.reset(token)


@contextmanager
def placed(places: Sequence[int]) -> Iterator[None]:
    """Context in which the entries of vectors are the coordinates at these places, counted from 0, of a longer vector."""
    token = _PLACES.set(tuple(places))
    try:
        yield
    finally:
        _PLACES.reset(token)


@contextmanager
def met() -> Iterator[list[Constant]]:
    """Context that collects every constant that a definition asks for, in the list that it yields."""
    found: list[Constant] = []
    token = _MET.set(found)
    try:
        yield found
    finally:
        _MET.reset(token)


def constants(numbers: Sequence[Any], like: Any) -> Any:
    """The vector with the coordinates numbers[0], numbers[1], ..., of the dimension of the vector `like`.

    A friction of each coordinate's own: `D * constants((1, 2), p) * p`.
    """
    return constants_like(like, _noted(_numbers("constants", numbers))[: _CUT.get()])


def linear(matrix: Sequence[Sequence[Any]], vector: Any) -> Any:
    """The matrix of these rows times the vector: a skew drift, a dense mass, correlated noise."""
    if not isinstance(matrix, (tuple, list)) or not matrix:
        raise DefinitionError(
            f"linear({matrix!r}, v): expected a matrix as rows of numbers, such as ((0, 1), (-1, 0))"
        )
    rows = tuple(_numbers("linear", row) for row in matrix)
    if any(len(row) != len(rows) for row in rows):
        raise DefinitionError(
            f"linear({matrix!r}, v): {len(rows)} rows of {', '.join(str(len(row)) for row in rows)} numbers; expected a square "
            "matrix"
        )
    return linear_image(vector, tuple(row[: _CUT.get()] for row in _noted(rows)[: _CUT.get()]))


@singledispatch
def constants_like(like: Any, numbers: Numbers) -> Any:
    """The vector of these exact numbers, repeated to the length of `like`; carriers register their types here."""
    raise _foreign("constants", like)


@singledispatch
def linear_image(vector: Any, rows: Rows) -> Any:
    """The block-diagonal matrix of these exact rows times the vector; carriers register their types here."""
    raise _foreign("linear", vector)


def repeated(numbers: Numbers, dim: int) -> Numbers:
    """The numbers of `constants` in dimension `dim`.

    >>> repeated((1, 3), 3)
    (1, 3, 1)
    """
    return tuple(numbers[i % len(numbers)] for i in places_of(dim))


def repeated_rows(rows: Rows, dim: int) -> Rows:
    """The rows of `linear`'s matrix in dimension `dim`.

    >>> repeated_rows(((0, 1), (-1, 0)), 3)
    ((0, 1, 0), (-1, 0, 0), (0, 0, 0))
    """
    size, places = len(rows), places_of(dim)
    return tuple(
        tuple(rows[i % size][j % size] if i // size == j // size else 0 for j in places) for i in places
    )


def places_of(dim: int) -> Sequence[int]:
    """The places of `dim` entries: the first ones, or those of `placed`."""
    places = _PLACES.get()
    return range(dim) if places is None or len(places) != dim else places


def _noted(constant: Constant) -> Constant:
    found = _MET.get()
    if found is not None:
        found.append(constant)
    return constant


def _numbers(name: str, given: Any) -> Numbers:
    if not isinstance(given, (tuple, list)) or not given:
        raise DefinitionError(f"{name}({given!r}, ...): expected numbers in a tuple, such as (1, 2)")
    for number in given:
        if isinstance(number, bool) or not isinstance(number, (*_EXACT, int, float)):
            raise DefinitionError(
                f"{name}({given!r}, ...): {number!r} is of type {type(number).__name__}; expected a whole number, a decimal, a "
                "Fraction or a root; what the state or an ingredient enters is computed outside, as D * constants((1, 2), p)"
            )
    return tuple(literal(number) if isinstance(number, (int, float)) else number for number in given)


_EXACT = (Fraction, Algebraic)


def _foreign(name: str, value: Any) -> DefinitionError:
    return DefinitionError(
        f"{name}(..., {type(value).__name__}) was called in a definition; expected a vector of the state, a gradient or a draw; "
        f"pass one of these, or register {type(value).__name__} with sgverify.schemes.constants"
    )
