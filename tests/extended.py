"""A plain carrier in numpy's long double: a definition runs on every path of an enumeration at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sgverify.schemes import Surd, exact, exp, expm1, sqrt

Real = np.longdouble
EPS = float(np.finfo(Real).eps)


class Extended:
    """A long double, or an array of one coordinate-last vector for each path."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        return Extended(operation(self.value, other.value if isinstance(other, Extended) else real(other)))

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b / a)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return Extended(-self.value)

    def __pow__(self, exponent: int) -> Any:
        return Extended(self.value**exponent)


@exp.register
def _(value: Extended) -> Extended:
    return Extended(np.exp(value.value))


@expm1.register
def _(value: Extended) -> Extended:
    return Extended(np.expm1(value.value))


@sqrt.register
def _(value: Extended) -> Extended:
    return Extended(np.sqrt(value.value))


def real(value: Any) -> Any:
    """An exact number as a long double; a float is the decimal it prints as."""
    number = exact(value)
    if isinstance(number, Surd):
        return sum((real(r) * np.sqrt(Real(q)) for q, r in number.terms.items()), Real(0))
    return Real(number.numerator) / Real(number.denominator)
