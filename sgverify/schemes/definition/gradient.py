"""The gradient ingredient of a definition: the evaluations of `grad` share one minibatch, those of `grad.fresh()` another.

`with_prior` rewrites steps that ask for the prior's gradient apart, for which the affine interpreter has no room: on a target with
grad prior(theta) = a theta + b, or without data, the step is a function of the whole gradient alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

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
