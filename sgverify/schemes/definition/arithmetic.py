"""Base classes for the values of interpreters: arithmetic operators that all go through one method."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any


class Arithmetic:
    """+ - * / and unary signs, all sent to `_with(other, operation)` of the carrier.

    A carrier lifts `other` to its own kind there, or returns NotImplemented where it cannot.
    """

    __slots__ = ()

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, _swapped(operator.add))

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, _swapped(operator.sub))

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, _swapped(operator.mul))

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, _swapped(operator.truediv))

    def __pos__(self) -> Any:
        return self


class LiftedArithmetic:
    """+ - * / of the elements of a ring, commutative, with numbers that they meet.

    A subclass defines `lift`, which returns None for values outside of its ring, and the operations on two elements:
    `_plus`, `_times`, `_over` and `__neg__`.
    """

    __slots__ = ()

    def lift(self, value: Any) -> Any:
        """`value` as an element of the same ring, or None."""
        raise NotImplementedError

    def _plus(self, right: Any) -> Any:
        raise NotImplementedError

    def _times(self, right: Any) -> Any:
        raise NotImplementedError

    def _over(self, right: Any) -> Any:
        raise NotImplementedError

    def __neg__(self) -> Any:
        raise NotImplementedError

    def __pos__(self) -> Any:
        return self

    def __add__(self, other: Any) -> Any:
        right = self.lift(other)
        return NotImplemented if right is None else self._plus(right)

    def __sub__(self, other: Any) -> Any:
        right = self.lift(other)
        return NotImplemented if right is None else self._plus(-right)

    def __rsub__(self, other: Any) -> Any:
        left = self.lift(other)
        return NotImplemented if left is None else left._plus(-self)

    def __mul__(self, other: Any) -> Any:
        right = self.lift(other)
        return NotImplemented if right is None else self._times(right)

    def __truediv__(self, other: Any) -> Any:
        right = self.lift(other)
        return NotImplemented if right is None else self._over(right)

    def __rtruediv__(self, other: Any) -> Any:
        left = self.lift(other)
        return NotImplemented if left is None else left._over(self)

    def __pow__(self, exponent: int) -> Any:
        base, result = self if exponent >= 0 else 1 / self, self.lift(1)
        for _ in range(abs(exponent)):
            result = result * base
        return result

    __radd__, __rmul__ = __add__, __mul__


def _swapped(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: operation(right, left)
