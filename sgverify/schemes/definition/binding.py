"""A definition run on an interpreter's own values: parameters are bound once, then steps are taken.

An interpreter (the sampler, the power series, the affine map, ...) computes with values of its own. A `Carrier` states
how these values enter a definition and leave it. `bind` fixes the parameters of the dynamics, the dimension and the
metric once; each step then takes a state, the step size, a gradient and draws.

The values' arithmetic operators all go through one method. Of the gradient ingredient, the evaluations of `grad` share one
minibatch, those of `grad.fresh()` another.

`with_prior` rewrites steps that ask for the prior's gradient apart, for which the affine interpreter has no room: on a target with
grad prior(theta) = a theta + b, or without data, the step is a function of the whole gradient alone.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, Self, TypeVar

from sgverify.schemes.definition.mathematics import Noise, NoiseLaw, exp, expm1, power
from sgverify.schemes.dynamics import Dynamics
from sgverify.schemes.scheme import Scheme


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

    def __pow__(self, exponent: Any) -> Any:
        if not isinstance(exponent, int):
            return power(self, exponent)
        base, result = self if exponent >= 0 else 1 / self, self.lift(1)
        for _ in range(abs(exponent)):
            result = result * base
        return result

    __radd__, __rmul__ = __add__, __mul__


@expm1.register
def _(value: LiftedArithmetic) -> Any:
    return exp(value) - 1


@cache
def _swapped(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: operation(right, left)


State = tuple[Any, ...]

D = TypeVar("D")
"""A scheme, a dynamics, or the flow of a letter."""

Draw = Callable[[NoiseLaw], Any]
"""The next draw of a step; its argument is the law that the definition asks for."""


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Carrier:
    """Conversions between the values of one interpreter and those that flow through a definition.

    `value` converts an entry of the state or a draw; `number` the step size and the parameters of the dynamics; `result`
    converts an entry of the new state back.
    """

    value: Callable[[Any], Any] = _unchanged
    number: Callable[[Any], Any] = _unchanged
    result: Callable[[Any], Any] = _unchanged


@dataclass(frozen=True)
class Bound(Generic[D]):
    """A definition with its parameters, its dimension and its metric fixed."""

    definition: D
    carrier: Carrier
    given: Mapping[str, Any]

    def step(self: Bound[Scheme], state: Iterable[Any], *, h: Any, grad: Any, draw: Draw) -> State:
        """X_l from X_{l-1}, memory last."""
        return self.run(self.definition.step, state, grad=grad, draw=draw, h=h)

    def start(self: Bound[Scheme], state: Iterable[Any], *, h: Any, grad: Any, draw: Draw) -> State:
        """The whole state, with its memory started from the dynamics' state."""
        return self.run(self.definition.start_memory, state, grad=grad, draw=draw, h=h)

    def coefficients(self: Bound[Dynamics], state: Iterable[Any], *, grad: Any) -> tuple[State, State]:
        """Drift and half squared diffusion of a dynamics at a state."""
        drift, diffusion = self._values(self.definition.coefficients, state, grad, None, {})
        return tuple(map(self.carrier.result, drift)), tuple(map(self.carrier.result, diffusion))

    def run(
        self, function: Callable[..., Any], state: Iterable[Any], *, grad: Any, draw: Draw, **time: Any
    ) -> State:
        """The values that a step, or the flow of a letter, returns; `time` is its h or its t."""
        noise = Noise(lambda law: self.carrier.value(draw(law)))
        values = self._values(function, state, grad, noise, time)
        return tuple(map(self.carrier.result, values))

    def _values(
        self,
        function: Callable[..., Any],
        state: Iterable[Any],
        grad: Any,
        noise: Noise | None,
        time: Mapping[str, Any],
    ) -> Any:
        carrier = self.carrier
        return function(
            tuple(carrier.value(entry) for entry in state),
            grad=grad,
            noise=noise,
            **{name: carrier.number(number) for name, number in time.items()},
            **self.given,
        )


def bind(
    definition: D,
    carrier: Carrier,
    parameters: Mapping[str, Any],
    *,
    dim: Any,
    metric: Any = None,
) -> Bound[D]:
    """Bind a definition to the values of `carrier`; `parameters` (T, D, ...) are converted here, once for all steps."""
    given = {name: carrier.number(value) for name, value in parameters.items()}
    return Bound(definition, carrier, {**given, "dim": dim, "metric": metric})


def parameters_of(settings: Any) -> dict[str, Any]:
    """{"T": temperature, "D": friction} of `settings`, the parameters of a dynamics by their names."""
    return {"T": settings.temperature, "D": settings.friction}


def in_order(draws: Iterable[Any]) -> Draw:
    """A `Draw` that hands out the given draws in order and ignores the law asked for."""
    left = iter(draws)
    return lambda law: next(left)


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
    """The gradient ingredient where every minibatch is all data: `gradient(place)` is grad U on the values of a reading.

    `parts` are the functions `prior(place)`, `likelihood(place)` and `hessian(place, vector)` that the reading has.
    """

    def __init__(self, gradient: Callable[[Any], Any], **parts: Callable[..., Any]) -> None:
        super().__init__()
        self._gradient = gradient
        # They stand in for the methods of these names.
        vars(self).update(parts)

    def __call__(self, place: Any) -> Any:
        """grad U at the place."""
        return self._gradient(place)

    def fresh(self) -> Self:
        """This ingredient itself: all data are the same data."""
        return self


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
