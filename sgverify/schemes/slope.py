"""The gradient ingredient of an interpreter: which evaluations of a step share a minibatch."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, Self


@dataclass
class EvaluationCount:
    """How many minibatches and evaluations have been asked for so far, the present ones among them."""

    minibatches: int = 0
    evaluations: int = 0


class GradientIngredient:
    """grad U on a minibatch wherever it is asked, and on another minibatch after `fresh`.

    Minibatches are numbered when they are first used, so that one that is named and never used is none; with
    `each_evaluation` every evaluation has one of its own. An interpreter says what the gradient on a minibatch is.
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
        """The estimate on the minibatch of this number."""
        raise NotImplementedError

    def prior(self, place: Any) -> Any:
        """The prior's part of grad U."""
        raise NotImplementedError

    def hessian(self, place: Any, vector: Any) -> Any:
        """The Hessian of the estimate there, times the vector."""
        raise NotImplementedError

    def likelihood(self, place: Any) -> Any:
        """The rest of the estimate."""
        return self(place) - self.prior(place)

    def minibatch(self) -> int:
        """The number of the minibatch, which is used now."""
        if self.each_evaluation or self._minibatch is None:
            self._minibatch = self.asked.minibatches
            self.asked.minibatches += 1
        return self._minibatch

    def fresh(self) -> Self:
        """The gradient on another minibatch."""
        other = copy(self)
        other._minibatch = None
        return other


class FullGradientIngredient(GradientIngredient):
    """The gradient where every minibatch is all data; an interpreter says what it is at a place (`__call__`)."""

    def __call__(self, place: Any) -> Any:
        """grad U at the place."""
        raise NotImplementedError

    def fresh(self) -> Self:
        """The same."""
        return self
