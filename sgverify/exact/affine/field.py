"""The scalars that can flow through an affine reading: balls, float64 arrays, exact series in sqrt(h).

Exact series in sqrt(h) with number coefficients: the scalars of the expansion at h = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb, fmpq

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.ball import ScalarKind, enclosed
from sgverify.schemes import exact
from sgverify.schemes.definition.binding import Arithmetic
from sgverify.schemes.definition.mathematics import (
    cos,
    erf,
    exp,
    expm1,
    log,
    power,
    register,
    sin,
    sqrt,
)
from sgverify.schemes.numbers.algebraic import Irrational
from sgverify.schemes.numbers.rounded import literal

if TYPE_CHECKING:
    from sgverify.exact.rings.power_series import TruncatedSeries
    from sgverify.exact.rings.ring import Ring


def number_ring(cap: int) -> Ring:
    """The ring Q(sqrt 2, sqrt 3, ...) with series cut at s^cap."""
    from sgverify.exact.rings.ring import Ring

    return Ring(1, {}, (), depth=0, draws=0, minibatches=1, cap=cap)


def constant(ring: Ring, value: Any) -> TruncatedSeries:
    """A number as a series."""
    from sgverify.exact.rings.power_series import EXACT, TruncatedSeries

    return TruncatedSeries(ring, {0: ring.constant(value)}, EXACT)


def step_size(ring: Ring) -> TruncatedSeries:
    """h = s^2."""
    from sgverify.exact.rings.power_series import EXACT, TruncatedSeries

    return TruncatedSeries(ring, {2: ring.one}, EXACT)


def coefficient(ring: Ring, value: Any, power: int) -> fmpq | arb | int:
    """The coefficient of s^power of a scalar, rational where it is, else a ball."""
    from sgverify.exact.rings.power_series import TruncatedSeries

    if not isinstance(value, TruncatedSeries):
        return 0 if power else rational(exact(value))
    found = ring.reduce(value.coefficient(power))
    if not found:
        return 0
    if found.is_constant():
        return fmpq(found.leading_coefficient())
    from sgverify.exact.rings.evaluation import Values, nowhere

    value = Values(ring, nowhere)(found)
    if not value.is_finite():
        raise NotExpandableError("a coefficient that has no value")
    return value


def rational(value: Any) -> fmpq | arb:
    """A number as flint's rational, or as a ball where it contains roots."""
    if isinstance(value, Irrational):
        return enclosed(value)
    return fmpq(value.numerator, value.denominator)


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

    def __pow__(self, exponent: Any) -> Any:
        if not isinstance(exponent, int):
            return power(self, exponent)
        return Scalar(self.field, self.value**exponent)

    def __neg__(self) -> Scalar:
        return Scalar(self.field, -self.value)


def _evaluated(function: Any, value: Scalar) -> Scalar:
    return Scalar(value.field, getattr(value.field, function.__name__)(value.value))


register(Scalar, _evaluated, (exp, expm1, sqrt, log, sin, cos, erf))
