"""Plain carriers: numpy's long double, on every path of an enumeration at once, and polynomials in s = sqrt(h)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from sgverify.schemes import Algebraic, exact, exp, expm1, sqrt

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
    if isinstance(number, Algebraic):
        roots = number.radicands()
        assert roots is not None
        return sum((real(r) * np.sqrt(Real(q)) for q, r in roots.items()), Real(0))
    return Real(number.numerator) / Real(number.denominator)


class InS:
    """sum_k c_k s^k; `terms` maps k to c_k."""

    def __init__(self, terms: dict[int, Any]) -> None:
        self.terms = terms

    def __add__(self, other: Any) -> InS:
        right = other.terms if isinstance(other, InS) else {0: other}
        return InS({k: self.terms.get(k, 0) + right.get(k, 0) for k in {*self.terms, *right}})

    def __mul__(self, other: Any) -> InS:
        right = other.terms if isinstance(other, InS) else {0: other}
        total: dict[int, Any] = {}
        for (j, a), (k, b) in product(self.terms.items(), right.items()):
            total[j + k] = total.get(j + k, Fraction(0)) + a * b
        return InS(total)

    def __pow__(self, power: int) -> InS:
        result = InS({0: Fraction(1)})
        for _ in range(power):
            result = result * self
        return result

    def __neg__(self) -> InS:
        return self * -1

    def __sub__(self, other: Any) -> InS:
        return self + (-other)

    def __truediv__(self, other: Any) -> InS:
        return self * (Fraction(1) / other)

    __radd__, __rmul__ = __add__, __mul__


@sqrt.register
def _(value: InS) -> InS:
    ((power, factor),) = value.terms.items()
    return InS({power // 2: sqrt(factor)})
