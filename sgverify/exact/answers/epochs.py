"""Exact answers under reshuffled minibatches, whose noises depend on one another within an epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import flint
from flint import arb, arb_mat

from sgverify.exact.affine.model import StepSize
from sgverify.exact.answers.quadratic import QuadraticAnswers
from sgverify.exact.answers.questions import Coefficients, Question, checked_position
from sgverify.exact.chain.chain import ChainProblem
from sgverify.exact.chain.ergodic import Moments
from sgverify.exact.minibatch.epochs import (
    Epoch,
    EpochLaw,
    epoch_bias,
    epoch_ergodic_bias,
    epoch_stationary_bias,
    epoch_transient,
)
from sgverify.exact.numbers.ball import Certified
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
            noise = self.model.noise
            assert noise.covariance is not None and noise.across is not None
            blocks = arb_mat(noise.covariance), arb_mat(noise.across)
            return problem, Epoch.of(
                parts.map,
                parts.drawn_covariance,
                parts.injections,
                blocks,
                self.steps,
                backward=noise.symmetric,
            )

        return at

    def expansion_at(self, position: int | None) -> Coefficients:
        """See `ExactAnswers`."""
        checked = checked_position(position, self.steps)
        return Coefficients.at_zero(lambda h: epoch_bias(*self._at(h), checked))

    @cached_property
    def transient(self) -> Coefficients:
        """See `ExactAnswers`."""
        return Coefficients.at_zero(lambda h: h * epoch_transient(*self._at(h)))

    def moment_series(self, position: int | None = None) -> list[Moments]:
        """See `ExactAnswers`."""
        return self._moments_at_zero(len(self.model.scheme.dynamics.state) * self.model.target.dim, position)

    def _at(self, h: arb) -> tuple[ChainProblem, Epoch]:
        return self.problem_at(lambda: h)(flint.ctx.prec)

    @cached_property
    def _blocks(self) -> PermutationBlocks:
        return PermutationBlocks(self.model)

    @cached_property
    def _average(self) -> Average:
        return Average(self._blocks)
