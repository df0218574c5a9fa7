"""Derivatives of a potential on a grid of the line: its definition is evaluated on Taylor polynomials (jets)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from sgverify.errors import DefinitionError
from sgverify.exact.numbers.entrywise import EntrywiseVector as Entries
from sgverify.schemes.definition.binding import Arithmetic
from sgverify.schemes.definition.mathematics import (
    TWO_BY_ROOT_PI,
    cos,
    dot,
    erf,
    exp,
    expm1,
    first_entry,
    log,
    power,
    sin,
    softplus,
    sqrt,
)
from sgverify.schemes.numbers.constants import constants_like, linear_image
from sgverify.targets import Target
from sgverify.targets.potential import ARRAYS, Matrix, Vector, constant, coordinate

_PIECE = 256
"""Data that are visited at once."""


class Jet(Arithmetic):
    """A Taylor polynomial sum_k c_k e^k, k <= K; c has shape (K + 1, *batch), and other operands broadcast."""

    __slots__ = ("c",)
    __array_ufunc__ = None

    def __init__(self, c: np.ndarray) -> None:
        self.c = c

    def __getitem__(self, key: Any) -> Jet:
        return Jet(self.c[(slice(None), *(key if isinstance(key, tuple) else (key,)))])

    def __neg__(self) -> Jet:
        return Jet(-self.c)

    def __pow__(self, exponent: Any) -> Jet:
        if not isinstance(exponent, int):
            return power(self, exponent)
        value: Any = Jet(_unit(self.c))
        for _ in range(abs(exponent)):
            value = value * self
        return value if exponent >= 0 else Jet(_unit(self.c)) / value

    def __matmul__(self, matrix: np.ndarray) -> Jet:
        return Jet(self.c @ matrix)

    def sum(self, axis: int) -> Jet:
        """The sum along an axis of the batch, counted from its end."""
        return Jet(self.c.sum(axis))

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, Entries):
            return NotImplemented
        if not isinstance(other, Jet):
            given = np.asarray(other)
            number = given if np.issubdtype(given.dtype, np.floating) else given.astype(np.float64)
            if operation in (operator.mul, operator.truediv):
                return Jet(operation(self.c, number))
            other = Jet(_unit(self.c) * number)
        if operation is operator.mul:
            return Jet(_product(self.c, other.c))
        if operation is operator.truediv:
            return Jet(_quotient(self.c, other.c))
        if operation in (operator.add, operator.sub):
            return Jet(operation(self.c, other.c))
        return operation(self, other)


def derivatives_of(target: Target, theta: np.ndarray, highest: int) -> np.ndarray:
    """U, U', ..., U^(highest) at points of the line, to rounding. Shape (n,) -> (highest + 1, n).

    Raises `DefinitionError` where the potential uses a function without a Taylor polynomial here.
    """
    found = taylor_of(target, theta, highest)
    factorials = np.array([math.factorial(k) for k in range(highest + 1)], dtype=object).astype(found.dtype)
    return np.asarray(found * factorials[:, None])


def taylor_of(target: Target, theta: np.ndarray, highest: int) -> np.ndarray:
    """U^(k)/k! for k = 0..highest at points of the line, in the points' precision. Shape (n,) -> (highest + 1, n).

    Raises as `derivatives_of` does.
    """
    c = np.zeros((highest + 1, len(theta), 1), dtype=np.result_type(theta.dtype, np.float64))
    c[0, :, 0] = theta
    if highest:
        c[1] = 1.0
    start = Jet(c)
    with np.errstate(over="ignore", invalid="ignore"):
        total = coefficients_of(target.prior(start))
        if target.data is not None and target.likelihood is not None:
            data, weights = target.weighted
            for first in range(0, len(data), _PIECE):
                piece = data[first : first + _PIECE]
                found = coefficients_of(target.likelihood(start[:, None, :], piece))
                total = total + (found if weights is None else found * weights[first : first + _PIECE]).sum(
                    -1
                )
    return total


def coefficients_of(value: Any) -> np.ndarray:
    """The coefficients of a potential's value; raises `DefinitionError` where it is no Taylor polynomial."""
    if not isinstance(value, Jet):
        raise DefinitionError(
            f"a potential returned a {type(value).__name__} for a Taylor polynomial; expected one made of sums, products, "
            "quotients, dot, log, exp, sqrt and softplus"
        )
    return value.c


def _unit(c: np.ndarray) -> np.ndarray:
    one = np.zeros_like(c)
    one[0] = 1.0
    return one


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    shape = np.broadcast_shapes(a.shape[1:], b.shape[1:])
    total = np.zeros((len(a), *shape), dtype=np.result_type(a, b))
    for j in range(len(a)):
        # Coordinates and numbers have one or two coefficients: products with them are short.
        if a[j].any():
            total[j:] += a[j] * b[: len(b) - j]
    return total


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    rows: list[np.ndarray] = []
    for k in range(len(a)):
        rows.append((a[k] - sum(rows[j] * b[k - j] for j in range(k))) / b[0])
    return np.stack(np.broadcast_arrays(*rows))


def _integrated(
    first: np.ndarray, x: np.ndarray, coefficient: Callable[[list[np.ndarray]], np.ndarray]
) -> Jet:
    """The y with y_0 = `first` and y' = g x', where `coefficient` gives the next coefficient of g from those of y."""
    rows, coefficients = [first], []
    for k in range(1, len(x)):
        coefficients.append(coefficient(rows))
        rows.append(np.asarray(sum(j * x[j] * coefficients[k - j] for j in range(1, k + 1)) / k))
    return Jet(np.stack(rows))


@exp.register
def _(value: Jet) -> Jet:
    return _integrated(np.exp(value.c[0]), value.c, lambda rows: rows[-1])


@expm1.register
def _(value: Jet) -> Jet:
    c = exp(value).c.copy()
    c[0] = np.expm1(value.c[0])
    return Jet(c)


@log.register
def _(value: Jet) -> Jet:
    coefficients = _quotient(_unit(value.c), value.c)
    return _integrated(np.log(value.c[0]), value.c, lambda rows: coefficients[len(rows) - 1])


@sqrt.register
def _(value: Jet) -> Jet:
    x, rows = value.c, [np.sqrt(value.c[0])]
    for k in range(1, len(x)):
        rows.append((x[k] - sum(rows[j] * rows[k - j] for j in range(1, k))) / (2 * rows[0]))
    return Jet(np.stack(rows))


@softplus.register
def _(value: Jet) -> Jet:
    # The logistic function s = softplus' has s' = s (1 - s) x'.
    x = value.c
    first = np.exp(-np.logaddexp(0.0, -x[0]))

    def coefficient(rows: list[np.ndarray]) -> np.ndarray:
        k = len(rows) - 1
        return np.asarray(rows[k] - sum(rows[j] * rows[k - j] for j in range(k + 1)))

    logistic = _integrated(first, x, coefficient).c
    return _integrated(np.logaddexp(0.0, x[0]), x, lambda rows: logistic[len(rows) - 1])


@sin.register
def _(value: Jet) -> Jet:
    return _sine_and_cosine(value.c)[0]


@cos.register
def _(value: Jet) -> Jet:
    return _sine_and_cosine(value.c)[1]


@erf.register
def _(value: Jet) -> Jet:
    slopes = exp(-value * value).c * TWO_BY_ROOT_PI
    return _integrated(ARRAYS[erf](value.c[0]), value.c, lambda rows: slopes[len(rows) - 1])


def _sine_and_cosine(x: np.ndarray) -> tuple[Jet, Jet]:
    """s' = c x' and c' = -s x', together."""
    sines, cosines = [np.sin(x[0])], [np.cos(x[0])]
    for k in range(1, len(x)):
        sines.append(np.asarray(sum(j * x[j] * cosines[k - j] for j in range(1, k + 1)) / k))
        cosines.append(np.asarray(-sum(j * x[j] * sines[k - j] for j in range(1, k + 1)) / k))
    return Jet(np.stack(sines)), Jet(np.stack(cosines))


@dot.register
def _(left: Jet, right: Any) -> Any:
    return (left * right).sum(-1)


@constant.register
def _(like: Jet, value: Vector | Matrix) -> Any:
    return value.float64()


@coordinate.register
def _(vector: Jet, place: int) -> Jet:
    return vector[..., place]


@constants_like.register
def _(like: Jet, numbers: tuple[Any, ...]) -> Jet:
    return Jet(_unit(like.c) * float(numbers[0]))


@linear_image.register
def _(vector: Jet, rows: tuple[Any, ...]) -> Jet:
    number: Jet = vector * float(rows[0][0])
    return number


@first_entry.register
def _(draw: Jet) -> Jet:
    return draw
