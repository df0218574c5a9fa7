"""Exact answers under reshuffled minibatches, whose noises depend on one another within an epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
from flint import arb_mat

from sgverify.exact.affine.model import StepSize
from sgverify.exact.answers.quadratic import QuadraticAnswers
from sgverify.exact.answers.questions import Question, checked_position
from sgverify.exact.ball import Certified
from sgverify.exact.chain import AffineChain, Problem, Quadratic
from sgverify.exact.epoch_expansion import EpochSeries, epoch_noise_series, mirrored_noise_series
from sgverify.exact.expansion import EXPANSION_BITS, AffineSeries, SteadyExpansion
from sgverify.exact.mirrored import mirrored_noise
from sgverify.exact.moments import Moments
from sgverify.exact.recursion.average import Average
from sgverify.exact.recursion.blocks import Blocks
from sgverify.exact.reshuffle import (
    EpochLaw,
    EpochProblem,
    epoch_ergodic_bias,
    epoch_noise,
    epoch_stationary_bias,
)


@dataclass(frozen=True)
class EpochAnswers(QuadraticAnswers):
    """Bias and stationary law in any dimension; the mean square error, which sees their joint law to order 4, in one."""

    @cached_property
    def steps(self) -> int:  # type: ignore[override]
        """See `Answers`."""
        return self._blocks.steps

    def why_not(self, question: Question) -> str | None:
        """See `Answers`."""
        if question == "weighted average":
            return "for the blocks of a permutation, sums over a decreasing schedule are not computed"
        return self._blocks.why_no_square(2) if question == "mean square error" else None

    def stationary_bias(self, step: StepSize, position: int | None = None) -> Certified:
        """See `Answers`."""
        return epoch_stationary_bias(self.problem_at(step), position=checked_position(position, self.steps))

    def bias(self, step: StepSize, length: int) -> Certified:
        """See `Answers`."""
        return epoch_ergodic_bias(self.problem_at(step), length)

    def mean_square_error(self, step: StepSize, length: int) -> Certified:
        """See `Answers`."""
        return self._average.error(step, length, 2)

    def moments(self, step: StepSize, position: int | None = None) -> Moments:
        """See `Answers`."""
        law = EpochLaw.of(self.problem_at(step)(flint.ctx.prec))
        covariance = law.average_covariance() if position is None else law.covariance_at(position)
        return Moments(law.law.mean, covariance)

    @cached_property
    def series(self) -> AffineSeries:
        """M(h), c(h) and Q(h) with the own minibatches of a step in its noise."""
        with flint.ctx.workprec(EXPANSION_BITS):
            plain = self._step_series.affine
            return AffineSeries(plain.map, plain.shift, self._noise_series[0])

    @cached_property
    def epoch_series(self) -> EpochSeries:
        """The laws of one epoch as series in h."""
        with flint.ctx.workprec(EXPANSION_BITS):
            series, noise = self.series, self.model.noise
            mirrored = None
            if noise.symmetric:
                injections = self._step_series.gradients
                mirrored = mirrored_noise_series(injections, noise.covariance, noise.across, series.orders)
            return EpochSeries(series, self._noise_series[1], self.steps, mirrored)

    def problem_at(self, step: StepSize) -> Callable[[int], EpochProblem]:
        """One epoch at this step size, at any precision."""
        own_block, two_blocks = self.model.noise.covariance, self.model.noise.across
        assert own_block is not None and two_blocks is not None

        def at(bits: int) -> EpochProblem:
            problem, parts = self.model.problem_at(step)(bits), self.model.parts(step())
            own, other = arb_mat(own_block), arb_mat(two_blocks)
            within, across = epoch_noise(parts.drawn_covariance, parts.injections, own, other)
            chain = problem.chain
            noisy = AffineChain(chain.map, chain.shift, within, chain.start_mean, chain.start_covariance)
            mirrored = mirrored_noise(parts.injections, own, other) if self.model.noise.symmetric else None
            return EpochProblem(
                Problem(noisy, problem.observable, problem.target), across, self.steps, mirrored
            )

        return at

    def _steady(self, position: int | None, phi: Quadratic) -> SteadyExpansion:
        checked = checked_position(position, self.steps)
        epoch = self.epoch_series
        return SteadyExpansion.of(
            self.series, phi, epoch.average if checked is None else epoch.law_at(checked)
        )

    @cached_property
    def _noise_series(self) -> tuple[list[Any], list[Any]]:
        noise = self.model.noise
        with flint.ctx.workprec(EXPANSION_BITS):
            drawn = list(self._step_series.affine.covariance)
            return epoch_noise_series(drawn, self._step_series.gradients, noise.covariance, noise.across)

    @cached_property
    def _blocks(self) -> Blocks:
        return Blocks(self.model)

    @cached_property
    def _average(self) -> Average:
        return Average(self._blocks)
