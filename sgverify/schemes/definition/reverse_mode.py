"""How are potentials and energies differentiated, on the values of any interpreter? By the reverse mode.

A function runs on `Tracked` values, which keep the operations that made them; `gradient_of` walks these operations backwards. The
gradient is made of the interpreter's own operations, so that an interpreter that records operations records gradients too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch
from itertools import count
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.abstract_value import SCALAR, VECTOR
from sgverify.schemes.definition.mathematics import (
    TWO_BY_ROOT_PI,
    cos,
    dot,
    erf,
    exp,
    expm1,
    log,
    logistic,
    power,
    register,
    sin,
    softplus,
    sqrt,
    tanh,
)
from sgverify.schemes.numbers.constants import constants_like, linear_image

Pullback = Callable[[Any], Any]

_NUMBERS = count()
"""Numbers of tracked values in the order in which they were made."""


class Tracked:
    """A value that keeps the operations which made it.

    Numbers, parameters and data stay as they are; a vector and a scalar may be multiplied, not added. A parent may be one
    coordinate of a vector: (vector, pullback, place).
    """

    __slots__ = ("kind", "number", "parents", "value")

    def __init__(self, value: Any, kind: str, parents: Sequence[tuple[Any, ...]] = ()) -> None:
        self.number = next(_NUMBERS)
        self.value = value
        self.kind = kind
        self.parents = tuple(parents)

    def __add__(self, other: Any) -> Tracked:
        if not isinstance(other, Tracked):
            self._refuse_wider(other)
            return Tracked(self.value + other, self.kind, [(self, _same)])
        return self._joined(other, lambda left, right: left + right, _same)

    __radd__ = __add__

    def __neg__(self) -> Tracked:
        return Tracked(-self.value, self.kind, [(self, _negative)])

    def __pos__(self) -> Tracked:
        return self

    def __sub__(self, other: Any) -> Tracked:
        if not isinstance(other, Tracked):
            self._refuse_wider(other)
            return Tracked(self.value - other, self.kind, [(self, _same)])
        return self._joined(other, lambda left, right: left - right, _negative)

    def __rsub__(self, other: Any) -> Tracked:
        self._refuse_wider(other)
        return Tracked(other - self.value, self.kind, [(self, _negative)])

    def _refuse_wider(self, other: Any) -> None:
        """Raise `DefinitionError` for a scalar and a constant vector: their sum has one adjoint for each coordinate."""
        if self.kind == SCALAR and kind_of(other) == VECTOR:
            raise DefinitionError("the sum of a scalar and a vector; expected two of a kind")

    def _joined(self, other: Tracked, operation: Callable[[Any, Any], Any], second: Pullback) -> Tracked:
        if self.kind != other.kind:
            raise DefinitionError(f"the sum of a {self.kind} and a {other.kind}; expected two of a kind")
        return Tracked(operation(self.value, other.value), self.kind, [(self, _same), (other, second)])

    def __mul__(self, other: Any) -> Tracked:
        tracked = isinstance(other, Tracked)
        kind = VECTOR if VECTOR in (self.kind, other.kind if tracked else kind_of(other)) else SCALAR
        if not tracked:
            return Tracked(
                self.value * other,
                kind,
                [(self, _scaling(self, other, kind))],
            )
        left, right = self.value, other.value
        if other is self:
            return Tracked(left * left, kind, [(self, lambda a: _times(2 * a, left))])
        parents = [(self, _scaling(self, right, kind)), (other, _scaling(other, left, kind))]
        return Tracked(left * right, kind, parents)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Tracked:
        if not isinstance(other, Tracked):
            if self.kind == SCALAR and kind_of(other) == VECTOR:
                return self * (1 / other)
            return Tracked(self.value / other, self.kind, [(self, lambda a: a / other)])
        return self * other**-1

    def __rtruediv__(self, other: Any) -> Tracked:
        return self**-1 * other

    def __pow__(self, exponent: Any) -> Any:
        if not isinstance(exponent, int):
            return power(self, exponent)
        if exponent == 1:
            return self
        value = self.value
        if exponent < 0:
            root = 1 / value
            raised = root if exponent == -1 else root**-exponent
            return Tracked(raised, self.kind, [(self, lambda a: a * exponent * root ** (1 - exponent))])
        if exponent == 0:
            return Tracked(value * 0 + 1, self.kind)
        lower = value if exponent == 2 else value ** (exponent - 1)
        return Tracked(value**exponent, self.kind, [(self, lambda a: a * exponent * lower)])

    def __matmul__(self, matrix: TrackedMatrix) -> Tracked:
        return Tracked(self.value @ matrix.value, VECTOR, [(self, lambda a: a @ matrix.transposed)])

    def __repr__(self) -> str:
        return f"Tracked({self.value!r}, {self.kind!r})"


class TrackedMatrix:
    """A constant matrix that a tracked vector is multiplied by, and its transpose."""

    __slots__ = ("transposed", "value")

    def __init__(self, value: Any, transposed: Any) -> None:
        self.value, self.transposed = value, transposed


@singledispatch
def kind_of(value: Any) -> str:
    """The kind of an untracked factor, VECTOR or SCALAR; interpreters whose values may be constant vectors register their type."""
    return SCALAR


@singledispatch
def assembled(like: Any, whole: Any, coordinates: Mapping[int, Any]) -> Any:
    """The vector `whole` (None for 0) plus the given numbers at their coordinates; `like` is a vector of the same length.

    An interpreter in which coordinates of theta can be taken (`sgverify.targets.potential.coordinate`) registers its type.
    """
    raise DefinitionError(f"the gradient by coordinates of a {type(like).__name__} has no interpreter")


def tracked_coordinate(vector: Tracked, place: int, take: Callable[[Any, int], Any]) -> Tracked:
    """One coordinate of a tracked vector, taken by the interpreter's own function `take`."""
    return Tracked(take(vector.value, place), SCALAR, [(vector, _same, place)])


def gradient_of(of: Any, variables: Sequence[Tracked]) -> list[Any]:
    """The derivatives of the scalar `of` by each variable; 0 where a variable does not enter."""
    adjoint: dict[int, _Adjoint] = {}
    if isinstance(of, Tracked):
        if of.kind != SCALAR:
            raise DefinitionError(f"the gradient of a {of.kind}; expected a scalar")
        adjoint[id(of)] = _Adjoint(1)
        for node in _ordered(of):
            if id(node) not in adjoint:
                continue
            summed = adjoint[id(node)].summed(node) if node.parents else None
            for parent, pullback, *place in node.parents:
                adjoint.setdefault(id(parent), _Adjoint()).add(pullback(summed), *place)
    return [
        adjoint[id(variable)].summed(variable) if id(variable) in adjoint else 0 for variable in variables
    ]


class _Adjoint:
    """The derivative by one value as it is summed up: of the whole value, and of single coordinates."""

    __slots__ = ("coordinates", "whole")

    def __init__(self, whole: Any = None) -> None:
        self.whole = whole
        self.coordinates: dict[int, Any] = {}

    def add(self, part: Any, place: int | None = None) -> None:
        if place is not None:
            self.coordinates[place] = self.coordinates[place] + part if place in self.coordinates else part
        else:
            self.whole = part if self.whole is None else self.whole + part

    def summed(self, node: Tracked) -> Any:
        return assembled(node.value, self.whole, self.coordinates) if self.coordinates else self.whole


def _same(adjoint: Any) -> Any:
    return adjoint


def _negative(adjoint: Any) -> Any:
    return -adjoint


def _times(adjoint: Any, factor: Any) -> Any:
    """The product, without an operation for the number 1."""
    return factor if isinstance(adjoint, (int, float)) and adjoint == 1 else adjoint * factor


def _scaling(part: Tracked, factor: Any, kind: str) -> Pullback:
    """The pullback to one factor of a product of this kind, the other being `factor`."""
    collapses = part.kind == SCALAR and kind == VECTOR
    return (lambda a: dot(factor, a)) if collapses else (lambda a: _times(a, factor))


def _ordered(of: Tracked) -> list[Tracked]:
    """The nodes behind a value, each before its operands: the latest made comes first."""
    found, left = {of.number: of}, [of]
    while left:
        for parent, *_ in left.pop().parents:
            if parent.number not in found:
                found[parent.number] = parent
                left.append(parent)
    return [found[number] for number in sorted(found, reverse=True)]


def _elementary(
    function: Callable[[Any], Any], value: Tracked, derivative: Callable[[Any, Any], Any]
) -> Tracked:
    """A function of one value; `derivative(x, f(x))` is its derivative."""
    at = value.value
    result = function(at)
    return Tracked(result, value.kind, [(value, lambda a: _times(a, derivative(at, result)))])


SLOPES: dict[Any, Callable[[Any, Any], Any]] = {
    exp: lambda x, y: y,
    expm1: lambda x, y: y + 1,
    log: lambda x, y: 1 / x,
    sin: lambda x, y: cos(x),
    cos: lambda x, y: -sin(x),
    erf: lambda x, y: exp(-x * x) * TWO_BY_ROOT_PI,
    logistic: lambda x, y: y * (1 - y),
    tanh: lambda x, y: 1 - y * y,
    softplus: lambda x, y: logistic(x),
}
"""The derivative of each function at x, where it has the value y."""

register(Tracked, lambda function, value: _elementary(function, value, SLOPES[function]), tuple(SLOPES))


@sqrt.register
def _(value: Tracked) -> Tracked:
    result = sqrt(value.value)
    return Tracked(result, value.kind, [(value, lambda a: a / (2 * result))])


@dot.register
def _(left: Tracked, right: Any) -> Tracked:
    a = left.value
    if right is left:
        return Tracked(dot(a, a), SCALAR, [(left, lambda s: _times(2 * s, a))])
    other = right.kind if isinstance(right, Tracked) else kind_of(right)
    if left.kind != other and (left.kind == SCALAR or isinstance(right, Tracked)):
        raise DefinitionError(f"dot of a {left.kind} and a {other}; expected two vectors")
    if not isinstance(right, Tracked):
        return Tracked(dot(a, right), SCALAR, [(left, lambda s: _times(s, right))])
    b = right.value
    return Tracked(dot(a, b), SCALAR, [(left, lambda s: _times(s, b)), (right, lambda s: _times(s, a))])


@constants_like.register
def _(like: Tracked, numbers: tuple[Any, ...]) -> Tracked:
    return Tracked(constants_like(like.value, numbers), VECTOR)


@linear_image.register
def _(vector: Tracked, rows: tuple[Any, ...]) -> Tracked:
    back = tuple(zip(*rows, strict=True))
    return Tracked(linear_image(vector.value, rows), VECTOR, [(vector, lambda a: linear_image(a, back))])
