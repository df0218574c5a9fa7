"""Exact answers under reshuffled minibatches, whose noises depend on one another within an epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
from flint import arb_mat

from sgverify.exact.affine.matrices import alike
from sgverify.exact.affine.model import StepSize
from sgverify.exact.answers.quadratic import QuadraticAnswers
from sgverify.exact.answers.questions import Question, checked_position
from sgverify.exact.chain.chain import ChainProblem, QuadraticForm
from sgverify.exact.chain.ergodic import Moments
from sgverify.exact.chain.expansion import EXPANSION_BITS, AffineSeries, SteadyExpansion
from sgverify.exact.minibatch.epochs import Epoch, EpochLaw, epoch_ergodic_bias, epoch_stationary_bias
from sgverify.exact.numbers.ball import Certified
from sgverify.exact.numbers.matrix_series import MatrixSeries, unit_matrix
from sgverify.exact.recursion.additive import PermutationBlocks
from sgverify.exact.recursion.average import Average


@dataclass(frozen=True)
class EpochAnswers(QuadraticAnswers):
    """Bias and stationary law in any dimension; the mean square error, which needs joint moments to order 4, in one."""

    @cached_property
    def steps(self) -> int:
        """See `ExactAnswers`."""
        return self._blocks.steps

    def why_not(self, question: Question) -> str | None:
        """See `ExactAnswers`."""
        if question == "weighted average":
            return "for the blocks of a permutation, sums over a decreasing schedule are not computed"
        return self._blocks.why_no_square(2) if question == "mean square error" else None

    def stationary_bias(self, step: StepSize, position: int | None = None) -> Certified:
        """See `ExactAnswers`."""
        return epoch_stationary_bias(self.problem_at(step), position=checked_position(position, self.steps))

    def bias(self, step: StepSize, length: int) -> Certified:
        """See `ExactAnswers`."""
        return epoch_ergodic_bias(self.problem_at(step), length)

    def mean_square_error(self, step: StepSize, length: int) -> Certified:
        """See `ExactAnswers`."""
        return self._average.error(step, length, 2)

    def moments(self, step: StepSize, position: int | None = None) -> Moments:
        """See `ExactAnswers`."""
        problem, epoch = self.problem_at(step)(flint.ctx.prec)
        covariance = epoch.average() if position is None else epoch.covariance_at(position)
        return Moments(EpochLaw(problem, epoch).law.mean, covariance)

    def problem_at(self, step: StepSize) -> Callable[[int], tuple[ChainProblem, Epoch]]:
        """One epoch at this step size, at any precision."""

        def at(bits: int) -> tuple[ChainProblem, Epoch]:
            problem, parts = self.model.problem_at(step)(bits), self.model.parts(step())
            return problem, self._epoch(parts.map, parts.drawn_covariance, parts.injections, arb_mat)

        return at

    @cached_property
    def series(self) -> AffineSeries:
        """M(h), c(h) and the covariance of the draws expanded at h = 0; a memory has to tend to the identity."""
        with flint.ctx.workprec(EXPANSION_BITS):
            return self._step_series.affine

    @property
    def _remembers(self) -> bool:
        return False

    def _steady(self, position: int | None, phi: QuadraticForm) -> SteadyExpansion:
        checked, epoch = checked_position(position, self.steps), self._epoch_series
        law = epoch.average() if checked is None else epoch.covariance_at(checked)
        return self.series.steady(phi, law.terms)

    @cached_property
    def _epoch_series(self) -> Epoch:
        """One epoch as series in h."""
        plain, injections = self.series, self._step_series.gradients
        matrices = [*plain.map, *plain.covariance, *(b for blocks in injections for b in blocks)]
        kind = type(alike(matrices)[0])
        n, orders = self.model.size, plain.orders

        def series(terms: Sequence[Any], first: Any) -> MatrixSeries:
            return MatrixSeries([kind(first), *map(kind, terms)][: orders + 1])

        unit = unit_matrix(n)
        return self._epoch(
            series(plain.map, unit),
            series(plain.covariance, unit * 0),
            [series(blocks, blocks[0] * 0) for blocks in injections],
            lambda matrix: MatrixSeries.constant(kind(matrix), orders),
        )

    def _epoch(self, map_: Any, drawn: Any, injections: Sequence[Any], kind: Callable[[Any], Any]) -> Epoch:
        noise = self.model.noise
        blocks = kind(noise.covariance), kind(noise.across)
        return Epoch.of(map_, drawn, injections, blocks, self.steps, backward=noise.symmetric)

    @cached_property
    def _blocks(self) -> PermutationBlocks:
        return PermutationBlocks(self.model)

    @cached_property
    def _average(self) -> Average:
        return Average(self._blocks)
