"""The scalars that can flow through an affine reading: balls, float64 arrays, exact series in sqrt(h)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from sgverify.exact.ball import enclosed
from sgverify.schemes import Surd, exp, expm1, sqrt
from sgverify.schemes.algebraic import Algebraic
from sgverify.schemes.arithmetic import Arithmetic
from sgverify.schemes.literals import literal
from sgverify.schemes.rounded import Rounded
from sgverify.schemes.surd import Irrational


@dataclass(frozen=True)
class ScalarKind:
    """How a kind of number is made from an exact one, and its elementary functions."""

    number: Callable[[Fraction | Irrational], Any]
    exp: Callable[[Any], Any]
    expm1: Callable[[Any], Any]
    sqrt: Callable[[Any], Any]


class Scalar(Arithmetic):
    """A number of a field; exact numbers that it meets are lifted into the field."""

    __slots__ = ("field", "value")

    def __init__(self, field: ScalarKind, value: Any) -> None:
        self.field = field
        self.value = value

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, Scalar):
            return Scalar(self.field, operation(self.value, other.value))
        if isinstance(other, int | float | Fraction | Irrational) and not isinstance(other, bool):
            return Scalar(self.field, operation(self.value, self.field.number(literal(other))))
        return NotImplemented

    def __pow__(self, exponent: int) -> Scalar:
        return Scalar(self.field, self.value**exponent)

    def __neg__(self) -> Scalar:
        return Scalar(self.field, -self.value)


@exp.register
def _(value: Scalar) -> Scalar:
    return Scalar(value.field, value.field.exp(value.value))


@expm1.register
def _(value: Scalar) -> Scalar:
    return Scalar(value.field, value.field.expm1(value.value))


@sqrt.register
def _(value: Scalar) -> Scalar:
    return Scalar(value.field, value.field.sqrt(value.value))


def _ball(number: Any) -> arb:
    if isinstance(number, Algebraic | Rounded):
        return enclosed(number)
    if isinstance(number, Surd):
        return sum((_ball(r) * arb(q).sqrt() for q, r in number.terms.items()), arb(0))
    return arb(number.numerator) / number.denominator


def _float(number: Any) -> float:
    return float(number)


BALLS = ScalarKind(_ball, arb.exp, arb.expm1, arb.sqrt)
"""Balls at flint's working precision: every rounding is enclosed."""

FLOATS = ScalarKind(_float, np.exp, np.expm1, np.sqrt)
"""float64 arrays, one entry per step size."""

__all__ = ["BALLS", "FLOATS", "Scalar", "ScalarKind"]
