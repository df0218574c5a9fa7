"""The arithmetic of carriers that do everything through one binary operation."""

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


def _swapped(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: operation(right, left)
