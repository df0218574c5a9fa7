"""Minibatches that change the Hessian: mean operators on moments, for fresh minibatches and for the blocks of an epoch.

Fresh minibatches are averaged step by step (`exact.minibatch.transition`). Reshuffled ones are enumerated, because the blocks
of an epoch depend on one another.

The operator on moments after i steps of an epoch is the mean of T_{B_i} ... T_{B_1} over all ordered disjoint
blocks, T_B being that of one step on the fixed minibatch B. Sums over the orders of one set of data are shared:
F(S) = sum_{B in S} T_B F(S - B), so that the cost grows with the number of sets, not of permutations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq

from sgverify.errors import Unreached
from sgverify.exact.affine.field import Scalar
from sgverify.exact.affine.model import Model, StepSize
from sgverify.exact.minibatch.hessians import (
    HessianProductStep,
    KroneckerAverages,
    MinibatchLaw,
    read_hessian_products,
)
from sgverify.exact.minibatch.transition import (
    MOST_MOMENTS,
    is_reached,
    leading_blocks,
    transition,
)
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import BALLS, FLOATS, identity
from sgverify.exact.recursion.period import ListedPeriod, Period, RepeatedPeriod, RunningSum, summed

WHERE = "where the minibatch changes the Hessian"

LARGEST_DIMENSION = 3
"""The largest dimension for which averaged operators are built."""

LARGEST = 6
"""The largest number of coordinates of a chain: theta and p in three dimensions."""

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

    def leading_blocks(self, steps: Any, degree: int) -> Any:
        """The block of a period's operator on the moments of exactly this degree: float64, shape (steps, m, m)."""
        h = np.asarray(steps, dtype=np.float64)
        read = self._read(Scalar(FLOATS, h), lambda value: Scalar(FLOATS, np.full_like(h, float(value))))
        return leading_blocks(self.averages_of(self.law.hessians), read, degree, h.size)

    def reaches(self, degree: int) -> bool:
        """Whether the operators on moments of this degree can be built."""
        return self.model.size <= LARGEST and is_reached(self.law, self._symbolic, degree)

    def check(self, degree: int) -> None:
        """See `Expandable`."""
        model = self.model
        if model.target.dim > LARGEST_DIMENSION:
            raise Unreached(
                f"the target has dimension {model.target.dim}; {WHERE} at most {LARGEST_DIMENSION} is reached"
            )
        if model.size > LARGEST:
            raise Unreached(f"the chain has {model.size} coordinates; {WHERE} at most {LARGEST} are reached")
        if degree > HIGHEST_DEGREE:
            raise Unreached(
                f"the test function {model.observable} has degree {degree}; {WHERE} at most {HIGHEST_DEGREE} is reached"
            )
        self._check_built(max(1, degree))

    def why_no_square(self, degree: int) -> str | None:
        """See `Randomness`."""
        if is_reached(self.law, self._symbolic, 2 * degree):
            return None
        return "one step multiplies too many Hessians of minibatches for their joint moments to be computed"

    def one_step(self, step: StepSize, asked: RunningSum, averages: KroneckerAverages | None = None) -> Any:
        """The operator of one step in balls; `averages` defaults to those over all minibatches."""
        read = self._read(Scalar(BALLS, step()), lambda value: Scalar(BALLS, ball.number(value)))
        found = averages or self.averages
        return asked.joined(transition(found, read, asked.highest), found.size)

    @cached_property
    def averages(self) -> KroneckerAverages:
        """The averaged products of the minibatches' Hessians, which do not depend on the step size."""
        return self.averages_of(self.law)

    def averages_of(self, law: MinibatchLaw) -> KroneckerAverages:
        """The averaged products of the Hessians under another law of the minibatch."""
        return KroneckerAverages.of(law, self._names, self._symbolic)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.model.scheme.state)

    @cached_property
    def _symbolic(self) -> HessianProductStep:
        """One step with arbitrary scalars, whose products of Hessians are those of every step size."""
        return self._read(1, lambda value: 1)

    def _read(self, step: Any, number: Any) -> HessianProductStep:
        """One step as products of Hessians; `number` converts a parameter to a scalar."""
        names, values = self.model.scheme.parameters, self.model.parameters
        return self._words({"h": step, **{name: number(values[name]) for name in names}})

    def _words(self, ingredients: dict[str, Any]) -> HessianProductStep:
        return read_hessian_products(self.model.scheme, ingredients)

    def _check_built(self, degree: int) -> None:
        if not is_reached(self.law, self._symbolic, degree):
            raise Unreached(
                f"one step multiplies many Hessians; {WHERE} at most {MOST_MOMENTS} of their joint moments are computed"
            )


MOST_PRODUCTS = 6000
"""The largest number of products of operators in an enumeration."""


MOST_BLOCKS = 300
"""The largest number of blocks whose operators an enumeration may need."""


MOST_DATA = 32
"""The largest number of data for an enumeration: with more, even blocks of one datum form too many sets."""


@dataclass(frozen=True, eq=False)
class Orders(FreshHessians):
    """The blocks of a permutation; a period is an epoch, or a sweep forward and backward; one step uses one minibatch."""

    @property
    def steps(self) -> int:
        """Steps in an epoch; twice as many where every sweep forward is followed by one backward."""
        return self.model.noise.sweeps * self.model.noise.blocks

    def period(self, step: StepSize, asked: RunningSum) -> ListedPeriod:
        """See `Randomness`."""
        operators = {bits: self.one_step(step, asked, found) for bits, found in self._blocks.items()}
        return self._listed(operators, identity(next(iter(operators.values())).nrows()))

    def why_no_square(self, degree: int) -> str | None:
        """See `Randomness`."""
        return f"under reshuffling it is not reached {WHERE}"

    def _check_built(self, degree: int) -> None:
        super()._check_built(degree)
        used, size, batch = self.model.scheme.minibatches, len(self.law.vectors), self.law.batch
        if used > 1:
            raise Unreached(
                f"one step uses {used} minibatches; {WHERE} the blocks of a permutation are reached for one in a step"
            )
        if not is_enumerable(size, batch):
            raise Unreached(
                f"{size} data in blocks of {batch} have too many orders to enumerate; {WHERE} the blocks of a permutation are "
                f"reached up to {MOST_BLOCKS} different blocks and {MOST_PRODUCTS} products of them, as for 10 data in blocks of 2"
            )

    def _listed(self, operators: dict[int, Any], unit: Any) -> ListedPeriod:
        averages = sweep_averages if self.model.noise.symmetric else position_averages
        return ListedPeriod(averages(operators, len(self.law.vectors), unit))

    @cached_property
    def _blocks(self) -> dict[int, KroneckerAverages]:
        return {bits: self.averages_of(law) for bits, law in block_laws(self.law).items()}


def is_enumerable(size: int, batch: int) -> bool:
    """Whether the epochs over `size` data in blocks of `batch` are few enough."""
    if size > MOST_DATA or math.comb(size, batch) > MOST_BLOCKS:
        return False
    return count_products(size, batch) <= MOST_PRODUCTS


def count_products(size: int, batch: int) -> int:
    """The number of products in the enumeration: one for every set of data and every block that may come last."""
    return sum(math.comb(size, used) * math.comb(used, batch) for used in range(batch, size + 1, batch))


def block_laws(law: MinibatchLaw) -> dict[int, MinibatchLaw]:
    """The law of every fixed minibatch, a point, by the bits of its data."""
    found = {}
    for chosen in itertools.combinations(range(len(law.vectors)), law.batch):
        mean = [sum(column) / law.batch for column in zip(*(law.vectors[i] for i in chosen), strict=True)]
        found[sum(1 << i for i in chosen)] = MinibatchLaw(law.dim, [mean], law.offset, 1, replaced=False)
    return found


def position_averages(operators: dict[int, Any], size: int, identity: Any) -> list[Any]:
    """The mean operators after i = 1, ..., s steps of an epoch over `size` data, from those of its blocks.

    Operators know +, a product and a product with a fraction: matrices of balls, or series of matrices.
    """
    return [
        summed(list(level.values())) * weight for level, weight in _forward(operators, size, identity)[1:]
    ]


def sweep_averages(operators: dict[int, Any], size: int, identity: Any) -> list[Any]:
    """The mean operators after i = 1, ..., 2s steps of a sweep over the blocks and back again.

    With P(S) = sum_{B in S} T_B P(S - B) T_B over the orders of the data S, forward and backward, the operator r
    steps after the turn is the mean of P(rest) F(U) over the sets U of the blocks that have not yet been used again.
    """
    levels = _forward(operators, size, identity)
    whole, (_, weight) = (1 << size) - 1, levels[-1]
    found = [summed(list(level.values())) * share for level, share in levels[1:]]
    there_and_back = {0: identity}
    for level, _ in reversed(levels[:-1]):
        there_and_back = _grown(
            there_and_back, operators, lambda operator, inner: operator * inner * operator
        )
        found.append(summed([there_and_back[whole ^ used] * total for used, total in level.items()]) * weight)
    return found


def _forward(operators: dict[int, Any], size: int, identity: Any) -> list[tuple[dict[int, Any], fmpq]]:
    """F(S) by sets of 0, 1, ... blocks, each with one over the number of their orders."""
    batch = next(iter(operators)).bit_count()
    levels, sums, count = [({0: identity}, fmpq(1))], {0: identity}, 1
    for used in range(0, size, batch):
        sums = _grown(sums, operators, lambda operator, total: operator * total)
        count *= math.comb(size - used, batch)
        levels.append((sums, fmpq(1, count)))
    return levels


def _grown(
    sums: dict[int, Any], operators: dict[int, Any], join: Callable[[Any, Any], Any]
) -> dict[int, Any]:
    """Sums over sets of one block more."""
    later: dict[int, Any] = {}
    for used, total in sums.items():
        for block, operator in operators.items():
            if not block & used:
                value, grown = join(operator, total), block | used
                later[grown] = later[grown] + value if grown in later else value
    return later
