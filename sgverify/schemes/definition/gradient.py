"""The gradient ingredient of a definition: the evaluations of `grad` share one minibatch, those of `grad.fresh()` another.

`gradient_of` differentiates functions inside definitions by the reverse mode, on the values of any interpreter. `with_prior`
rewrites steps that ask for the prior's gradient apart, for which the affine interpreter has no room: on a target with
grad prior(theta) = a theta + b, or without data, the step is a function of the whole gradient alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

from sgverify.errors import DefinitionError
from sgverify.schemes.definition.abstract_value import SCALAR, VECTOR
from sgverify.schemes.definition.mathematics import dot, exp, sqrt
from sgverify.schemes.numbers.constants import constants_like, linear_image
from sgverify.schemes.scheme import Scheme


@dataclass
class EvaluationCount:
    """The numbers of minibatches and of evaluations that a step has used so far."""

    minibatches: int = 0
    evaluations: int = 0


class GradientIngredient:
    """grad U estimated on one minibatch at all places; `fresh` gives the ingredient on another minibatch.

    Minibatches are numbered when they are first used, so that an unused one does not count; with `each_evaluation` every
    evaluation has a minibatch of its own. A subclass of an interpreter defines the gradient on a minibatch, `evaluate`.
    """

    each_evaluation = False

    def __init__(self) -> None:
        self.asked = EvaluationCount()
        self._minibatch: int | None = None

    def __call__(self, place: Any) -> Any:
        """The estimate of grad U at the place."""
        minibatch = self.minibatch()
        self.asked.evaluations += 1
        return self.evaluate(place, minibatch)

    def evaluate(self, place: Any, minibatch: int) -> Any:
        """The estimate of grad U at `place` on the minibatch of this number."""
        raise NotImplementedError

    def prior(self, place: Any) -> Any:
        """The prior's part of grad U."""
        raise NotImplementedError

    def hessian(self, place: Any, vector: Any) -> Any:
        """The Hessian of the estimate at `place`, times the vector."""
        raise NotImplementedError

    def likelihood(self, place: Any) -> Any:
        """The estimate without the prior's part."""
        return self(place) - self.prior(place)

    def minibatch(self) -> int:
        """The number of this ingredient's minibatch, which counts as used from now on."""
        if self.each_evaluation or self._minibatch is None:
            self._minibatch = self.asked.minibatches
            self.asked.minibatches += 1
        return self._minibatch

    def fresh(self) -> Self:
        """The same ingredient on another minibatch."""
        other = copy(self)
        other._minibatch = None
        return other


class FullGradientIngredient(GradientIngredient):
    """The gradient ingredient where every minibatch is all data; a subclass defines grad U at a place, `__call__`."""

    def __call__(self, place: Any) -> Any:
        """grad U at the place."""
        raise NotImplementedError

    def fresh(self) -> Self:
        """This ingredient itself: all data are the same data."""
        return self


Pullback = Callable[[Any], Any]


class Tracked:
    """A value that keeps the operations which made it. `value` is None where only derivatives are known (U).

    Numbers and parameters stay as they are; a vector and a scalar may be multiplied, not added.
    """

    __slots__ = ("kind", "parents", "value")

    def __init__(self, value: Any, kind: str, parents: Sequence[tuple[Tracked, Pullback]] = ()) -> None:
        self.value = value
        self.kind = kind
        self.parents = tuple(parents)

    def known(self) -> Any:
        """The value itself; raises `DefinitionError` where only its derivatives are known."""
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
    """The derivatives of the scalar `of` by each variable; 0 where a variable does not enter."""
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
    """The nodes behind a value in topological order, each before its operands."""
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


Prior = Callable[[Any, Any], Any]
"""(grad, theta) -> the prior's gradient at theta."""


def with_prior(scheme: Scheme, prior: Prior) -> Scheme:
    """The same step with `grad.prior(theta)` = `prior(grad, theta)`, and `grad.likelihood(theta)` = grad(theta) less that."""

    def parted(function: Callable[..., Any]) -> Callable[..., Any]:
        def apart(*state: Any, **given: Any) -> Any:
            if "grad" in given:
                given["grad"] = _Parted(given["grad"], prior)
            return function(*state, **given)

        # What is declared is read off the signature.
        apart.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return apart

    return replace(
        scheme,
        function=parted(scheme.function),
        memory={name: parted(start) for name, start in scheme.memory.items()},
        census=replace(scheme.census, parts=False),
        starts=replace(scheme.starts, parts=False),
    )


class _Parted:
    """The gradient ingredient of any interpreter, with prior and likelihood derived from the whole gradient."""

    def __init__(self, grad: Any, prior: Prior) -> None:
        self._grad, self._prior = grad, prior

    def __call__(self, theta: Any) -> Any:
        return self._grad(theta)

    def prior(self, theta: Any) -> Any:
        return self._prior(self._grad, theta)

    def likelihood(self, theta: Any) -> Any:
        return self._grad(theta) - self.prior(theta)

    def hessian(self, theta: Any, vector: Any) -> Any:
        return self._grad.hessian(theta, vector)

    def fresh(self) -> _Parted:
        return _Parted(self._grad.fresh(), self._prior)
