"""Gradients of a definition by the reverse mode, on the values of whatever carrier runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.abstract_value import SCALAR, VECTOR
from sgverify.schemes.constants import constants_like, linear_image
from sgverify.schemes.mathematics import dot, exp, sqrt

Pullback = Callable[[Any], Any]


class Tracked:
    """A value that remembers what it was made of. `value` is None where only its derivatives are known (U).

    Numbers and parameters stay as they are; a vector and a scalar may be multiplied, not added.
    """

    __slots__ = ("kind", "parents", "value")

    def __init__(self, value: Any, kind: str, parents: Sequence[tuple[Tracked, Pullback]] = ()) -> None:
        self.value = value
        self.kind = kind
        self.parents = tuple(parents)

    def known(self) -> Any:
        """The value, where it is needed itself."""
        if self.value is None:
            raise DefinitionError("U(theta) enters other than linearly; expected an energy U + ...")
        return self.value

    def __add__(self, other: Any) -> Tracked:
        if not isinstance(other, Tracked):
            return Tracked(None if self.value is None else self.value + other, self.kind, [(self, _same)])
        if self.kind != other.kind:
            raise DefinitionError(f"the sum of a {self.kind} and a {other.kind}; expected two of a kind")
        unknown = self.value is None or other.value is None
        value = None if unknown else self.value + other.value
        return Tracked(value, self.kind, [(self, _same), (other, _same)])

    __radd__ = __add__

    def __neg__(self) -> Tracked:
        return self * -1

    def __pos__(self) -> Tracked:
        return self

    def __sub__(self, other: Any) -> Tracked:
        return self + (-other)

    def __rsub__(self, other: Any) -> Tracked:
        return -self + other

    def __mul__(self, other: Any) -> Tracked:
        if not isinstance(other, Tracked):
            return Tracked(
                None if self.value is None else self.value * other, self.kind, [(self, lambda a: a * other)]
            )
        kind = VECTOR if VECTOR in (self.kind, other.kind) else SCALAR
        left, right = self.known(), other.known()

        def to(part: Tracked, factor: Any) -> Pullback:
            collapses = part.kind == SCALAR and kind == VECTOR
            return (lambda a: dot(factor, a)) if collapses else (lambda a: a * factor)

        return Tracked(left * right, kind, [(self, to(self, right)), (other, to(other, left))])

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Tracked:
        if isinstance(other, Tracked):
            return self * other**-1
        return Tracked(
            None if self.value is None else self.value / other, self.kind, [(self, lambda a: a / other)]
        )

    def __rtruediv__(self, other: Any) -> Tracked:
        return self**-1 * other

    def __pow__(self, exponent: int) -> Tracked:
        value = self.known()
        if exponent < 0:
            root = 1 / value
            return Tracked(
                root**-exponent, self.kind, [(self, lambda a: a * exponent * root ** (1 - exponent))]
            )
        if exponent == 0:
            return Tracked(value * 0 + 1, self.kind)
        return Tracked(value**exponent, self.kind, [(self, lambda a: a * exponent * value ** (exponent - 1))])


def gradient_of(of: Any, variables: Sequence[Tracked]) -> list[Any]:
    """The gradient of a scalar by each variable, 0 by one that does not enter."""
    adjoint: dict[int, Any] = {}
    if isinstance(of, Tracked):
        if of.kind != SCALAR:
            raise DefinitionError(f"the gradient of a {of.kind}; expected a scalar")
        adjoint[id(of)] = 1
        for node in _ordered(of):
            if id(node) not in adjoint:
                continue
            for parent, pullback in node.parents:
                part = pullback(adjoint[id(node)])
                adjoint[id(parent)] = adjoint[id(parent)] + part if id(parent) in adjoint else part
    return [adjoint.get(id(variable), 0) for variable in variables]


def _same(adjoint: Any) -> Any:
    return adjoint


def _ordered(of: Tracked) -> list[Tracked]:
    """The nodes behind a value, each before what it was made of."""
    found: list[Tracked] = []
    seen: set[int] = set()

    def visit(node: Tracked) -> None:
        if id(node) not in seen:
            seen.add(id(node))
            for parent, _ in node.parents:
                visit(parent)
            found.append(node)

    visit(of)
    return found[::-1]


@exp.register
def _(value: Tracked) -> Tracked:
    result = exp(value.known())
    return Tracked(result, value.kind, [(value, lambda a: a * result)])


@sqrt.register
def _(value: Tracked) -> Tracked:
    result = sqrt(value.known())
    return Tracked(result, value.kind, [(value, lambda a: a / (2 * result))])


@dot.register
def _(left: Tracked, right: Any) -> Tracked:
    a, b = left.known(), right.known()
    return Tracked(dot(a, b), SCALAR, [(left, lambda s: s * b), (right, lambda s: s * a)])


@constants_like.register
def _(like: Tracked, numbers: tuple[Any, ...]) -> Tracked:
    return Tracked(constants_like(like.known(), numbers), VECTOR)


@linear_image.register
def _(vector: Tracked, rows: tuple[Any, ...]) -> Tracked:
    back = tuple(zip(*rows, strict=True))
    return Tracked(linear_image(vector.known(), rows), VECTOR, [(vector, lambda a: linear_image(a, back))])
