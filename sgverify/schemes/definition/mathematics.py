"""The mathematical functions that definitions may call; each is dispatched on the type of its argument.

A carrier registers its own types, e.g. `exp.register(TruncatedSeries)`; nothing here knows tensors or power series.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.numbers.rounded import literal
from sgverify.schemes.numbers.surd import Irrational, sqrt_of_rational


@singledispatch
def exp(value: Any) -> Any:
    """e**value."""
    raise _foreign("exp", value)


@singledispatch
def expm1(value: Any) -> Any:
    """e**value - 1, accurate where value is small."""
    raise _foreign("expm1", value)


@singledispatch
def sqrt(value: Any) -> Any:
    """The non-negative square root; exact for exact numbers (`sqrt(2)` is a `Surd`)."""
    raise _foreign("sqrt", value)


@singledispatch
def dot(left: Any, right: Any) -> Any:
    """The scalar product of two vectors of the state, sum_i left_i right_i."""
    raise _foreign("dot", left)


@singledispatch
def log(value: Any) -> Any:
    """The natural logarithm."""
    raise _foreign("log", value)


@singledispatch
def softplus(value: Any) -> Any:
    """log(1 + exp(value)), without overflow at either end; log(e^a + e^b) is a + softplus(b - a)."""
    raise _foreign("softplus", value)


@singledispatch
def sin(value: Any) -> Any:
    """The sine, for potentials."""
    raise _foreign("sin", value)


@singledispatch
def cos(value: Any) -> Any:
    """The cosine, for potentials."""
    raise _foreign("cos", value)


@singledispatch
def first_entry(draw: Any) -> Any:
    """The first coordinate of a draw, as one number. `noise.scalar()` is the first entry of `noise()`; the others go unused."""
    raise _foreign("first_entry", draw)


def magnitude(value: Any) -> Any:
    """|value|, entry by entry, in every interpreter that knows a square root.

    In binary floating point sqrt(fl(x x)) is |x| to the bit wherever x x neither overflows nor is subnormal.
    """
    return sqrt(value * value)


def _foreign(name: str, value: Any) -> DefinitionError:
    return DefinitionError(
        f"{name}({type(value).__name__}) was called in a definition; expected a number, the state or an "
        "ingredient such as h or D; pass one of these, or register "
        f"{type(value).__name__} with sgverify.schemes.definition.mathematics.{name}"
    )


@exp.register(int)
@exp.register(Fraction)
@exp.register(float)
@exp.register(Irrational)
def _(value: Any) -> float | int:
    return 1 if value == 0 else math.exp(float(value))


@expm1.register(int)
@expm1.register(Fraction)
@expm1.register(float)
@expm1.register(Irrational)
def _(value: Any) -> float | int:
    return 0 if value == 0 else math.expm1(float(value))


@sqrt.register(int)
@sqrt.register(Fraction)
def _(value: Any) -> Any:
    return sqrt_of_rational(value)


@sqrt.register(float)
def _(value: float) -> Any:
    # A literal such as sqrt(0.5) stays exact: it is the decimal that was written.
    number = literal(value)
    return sqrt(number) if isinstance(number, Irrational) else sqrt_of_rational(number)


@sqrt.register(Irrational)
def _(value: Any) -> float:
    return math.sqrt(float(value))


@log.register(int)
@log.register(Fraction)
@log.register(float)
@log.register(Irrational)
def _(value: Any) -> float | int:
    return 0 if value == 1 else math.log(float(value))


@softplus.register(int)
@softplus.register(Fraction)
@softplus.register(float)
@softplus.register(Irrational)
def _(value: Any) -> float:
    number = float(value)
    return max(number, 0.0) + math.log1p(math.exp(-abs(number)))


@sin.register(int)
@sin.register(Fraction)
@sin.register(float)
@sin.register(Irrational)
def _(value: Any) -> float | int:
    return 0 if value == 0 else math.sin(float(value))


@cos.register(int)
@cos.register(Fraction)
@cos.register(float)
@cos.register(Irrational)
def _(value: Any) -> float | int:
    return 1 if value == 0 else math.cos(float(value))


@first_entry.register
def _(draw: float) -> float:
    return draw
