"""Minibatches that move the Hessian, fresh in every step: the moments of a step in words (`multiplicative.transition`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sgverify.exact import ball
from sgverify.exact.affine.constants import constant, number_ring, step_size
from sgverify.exact.affine.field import BALLS, FLOATS, Scalar
from sgverify.exact.affine.model import Model, StepSize
from sgverify.exact.expansion import ORDERS
from sgverify.exact.matrix_series import MatrixSeries
from sgverify.exact.multiplicative.averages import KroneckerAverages
from sgverify.exact.multiplicative.letters import MinibatchLaw
from sgverify.exact.multiplicative.transition import (
    MOST_MOMENTS,
    is_reached,
    leading_blocks,
    transition,
    transition_series,
)
from sgverify.exact.multiplicative.words import HessianProductStep, read_hessian_products
from sgverify.exact.recursion.period import Period, RepeatedPeriod
from sgverify.exact.recursion.running_sum import RunningSum

WHERE = "where the minibatch changes the Hessian"

LARGEST_DIMENSION = 3
"""Dimensions whose averaged operators are built."""

LARGEST = 6
"""Coordinates of the chain: theta and p in three dimensions."""

HIGHEST_DEGREE = 2


@dataclass(frozen=True, eq=False)
class FreshHessians:
    """Every step has minibatches of its own."""

    model: Model

    @property
    def steps(self) -> int | None:
        """See `Randomness`."""
        return None

    @property
    def stretch(self) -> str:
        """What is asked to contract, in words."""
        return "one step"

    @property
    def law(self) -> MinibatchLaw:
        """The law of one minibatch."""
        law = self.model.noise.minibatch
        assert law is not None
        return law

    def period(self, step: StepSize, asked: RunningSum) -> Period:
        """See `Randomness`."""
        return RepeatedPeriod(self.one_step(step, asked))

    def period_series(self, degree: int) -> Period:
        """See `Randomness`."""
        return RepeatedPeriod(self.one_step_series(degree))

    def leading_blocks(self, steps: Any, degree: int) -> Any:
        """What takes the moments of exactly this degree over a period: float64, shape (steps, m, m)."""
        h = np.asarray(steps, dtype=np.float64)
        read = self._read(Scalar(FLOATS, h), lambda value: Scalar(FLOATS, np.full_like(h, float(value))))
        return leading_blocks(self.averages, read, degree, h.size)

    def reaches(self, degree: int) -> bool:
        """Whether the operators on moments of this degree can be built."""
        return self.model.size <= LARGEST and is_reached(self.law, self._symbolic, degree)

    def unreached(self, degree: int) -> str | None:
        """See `Randomness`."""
        model = self.model
        if model.target.dim > LARGEST_DIMENSION:
            return (
                f"the target has dimension {model.target.dim}; {WHERE} at most {LARGEST_DIMENSION} is reached"
            )
        if model.size > LARGEST:
            return f"the chain has {model.size} coordinates; {WHERE} at most {LARGEST} are reached"
        if degree > HIGHEST_DEGREE:
            return f"the test function {model.observable} has degree {degree}; {WHERE} at most {HIGHEST_DEGREE} is reached"
        return self._unbuilt(max(1, degree))

    def why_no_square(self, degree: int) -> str | None:
        """See `Randomness`."""
        if is_reached(self.law, self._symbolic, 2 * degree):
            return None
        return "one step multiplies too many Hessians of minibatches for their joint moments to be computed"

    def one_step(self, step: StepSize, asked: RunningSum, averages: KroneckerAverages | None = None) -> Any:
        """The operator of one step in balls, by the averages of every minibatch where others are not given."""
        read = self._read(Scalar(BALLS, step()), lambda value: Scalar(BALLS, ball.number(value)))
        found = averages or self.averages
        return asked.joined(transition(found, read, asked.highest), found.size)

    def one_step_series(self, degree: int, averages: KroneckerAverages | None = None) -> MatrixSeries:
        """The same in powers of h, for the state alone."""
        ring = number_ring(2 * ORDERS + 4)
        read = self._read(step_size(ring), lambda value: constant(ring, value))
        return transition_series(averages or self.averages, read, degree, ring)

    @cached_property
    def averages(self) -> KroneckerAverages:
        """The averaged products of the minibatches' Hessians, which know no step size."""
        return self.averages_of(self.law)

    def averages_of(self, law: MinibatchLaw) -> KroneckerAverages:
        """Those of another law of the minibatch."""
        return KroneckerAverages.of(law, self._names, self._symbolic)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.model.scheme.state)

    @cached_property
    def _symbolic(self) -> HessianProductStep:
        """One step with any numbers: which words it has does not depend on them."""
        return self._read(1, lambda value: 1)

    def _read(self, step: Any, number: Any) -> HessianProductStep:
        """One step in words; `number` makes a scalar of a parameter."""
        names, values = self.model.scheme.parameters, self.model.parameters
        return self._words({"h": step, **{name: number(values[name]) for name in names}})

    def _words(self, ingredients: dict[str, Any]) -> HessianProductStep:
        return read_hessian_products(self.model.scheme, ingredients)

    def _unbuilt(self, degree: int) -> str | None:
        if is_reached(self.law, self._symbolic, degree):
            return None
        return f"one step multiplies many Hessians; {WHERE} at most {MOST_MOMENTS} of their joint moments are computed"
