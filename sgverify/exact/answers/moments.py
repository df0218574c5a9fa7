"""Exact answers from the mean operators of a step on moments of the state, for every kind of randomness.

Under reshuffled minibatches, whose noises depend on one another within an epoch, from the laws at each position of an epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.exact.affine.model import Model, StepSize
from sgverify.exact.answers.quadratic import QuadraticAnswers
from sgverify.exact.answers.questions import Coefficients, ExactAnswers, Question, checked_position
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
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import Certified, identity, refine
from sgverify.exact.numbers.matrix_series import multi_indices, unit
from sgverify.exact.recursion.additive import PermutationBlocks, telescopes
from sgverify.exact.recursion.average import Average, Expandable
from sgverify.exact.recursion.period import (
    Period,
    RunningSum,
    inner_block,
    stationary_moments,
)
from sgverify.exact.rings.polynomials import to_fmpq

MOST_KEPT = 16
"""The step sizes whose laws are kept: bias and transient are expanded from the same ones."""


@dataclass(frozen=True)
class MomentAnswers(ExactAnswers):
    """Operators act on the monomials of the state, the constant first, to the degree of the test function.

    With the running sum of phi (`recursion.period`) they give bias and mean square error at any length.
    """

    randomness: Expandable

    @property
    def model(self) -> Model:
        """The scheme, its target and the test function."""
        return self.randomness.model

    @property
    def steps(self) -> int | None:
        """See `ExactAnswers`."""
        return self.randomness.steps

    @property
    def truth(self) -> Fraction:
        """See `ExactAnswers`."""
        return self.model.truth

    def why_not(self, question: Question) -> str | None:
        """See `ExactAnswers`."""
        if question == "mean square error":
            return self.randomness.why_no_square(self.degree)
        if question == "weighted average":
            if self.model.noise.multiplicative:
                return (
                    "sums over a decreasing schedule are not computed where the minibatch changes the Hessian"
                )
            return "sums over a decreasing schedule are computed for test functions of degree <= 2"
        return None

    def stationary_bias(self, step: StepSize, position: int | None = None) -> Certified:
        """See `ExactAnswers`."""
        checked = checked_position(position, self.steps)
        return refine(lambda bits: self._bias_at(step, checked))

    def bias(self, step: StepSize, length: int) -> Certified:
        """See `ExactAnswers`; the steps need not be whole periods."""
        return self._average.error(step, length, 1)

    def mean_square_error(self, step: StepSize, length: int) -> Certified:
        """See `ExactAnswers`; `MomentsDivergeError` where the moments of twice the degree of phi do not contract."""
        if self.why_not("mean square error"):
            self._refuse("mean square error")
        return self._average.error(step, length, 2)

    def moments(self, step: StepSize, position: int | None = None) -> Moments:
        """See `ExactAnswers`."""
        mean, second = self._first_two(self._law(step, 2, position))
        return Moments(mean, second - mean * mean.transpose())

    def moment_series(self, position: int | None = None) -> list[Moments]:
        """See `ExactAnswers`."""
        return self._moments_at_zero(self.model.size, position)

    @cached_property
    def expansion(self) -> Coefficients:
        """See `ExactAnswers`."""
        return self.expansion_at(None)

    def expansion_at(self, position: int | None) -> Coefficients:
        """See `ExactAnswers`."""
        checked = checked_position(position, self.steps)
        return Coefficients.at_zero(lambda h: self._bias_at(lambda: h, checked))

    @cached_property
    def transient(self) -> Coefficients:
        """e . (start - law) with e (I - A) = phi sum_i A_i, A_i the operator after i steps, A that of a period."""

        def summed(h: arb) -> arb:
            period, law = self._settled(lambda: h, self.degree)
            whole = period.after(period.steps)
            gradient = _tail((arb_mat(self._phi) * period.total(period.steps)).transpose())
            map_ = inner_block(whole).transpose()
            poisson = (identity(map_.nrows()) - map_).solve(gradient)
            away = _tail(self._average.start(self.degree, h) - law)
            return h * ball.inner(poisson, away)

        return Coefficients.at_zero(summed)

    @cached_property
    def variance(self) -> float | None:
        """See `ExactAnswers`; at leading order minibatches do not enter. A positive value beyond degree 2 is not computed."""
        if self.degree <= 2:
            return QuadraticAnswers(self.model).variance
        return 0.0 if telescopes(self.model, self.degree, self._phi.entries()[1:]) else None

    @property
    def degree(self) -> int:
        """The degree of the moments that the test function asks for."""
        return self._average.degree

    @cached_property
    def _average(self) -> Average:
        return Average(self.randomness)

    def _bias_at(self, step: StepSize, position: int | None) -> arb:
        return (arb_mat(self._phi) * self._law(step, self.degree, position))[0, 0] - ball.number(self.truth)

    def _law(self, step: StepSize, degree: int, position: int | None) -> arb_mat:
        """The moments of the invariant law, a column with 1 first."""
        period, law = self._settled(step, degree)
        if period.steps == 1:
            return law
        seen = period.total(period.steps) / period.steps if position is None else period.after(position)
        return seen * law

    def _settled(self, step: StepSize, degree: int) -> tuple[Period, arb_mat]:
        """The operators of a period, and the moments at its start in the invariant law."""
        size = step()
        key = flint.ctx.prec, degree, size.mid().man_exp(), size.rad().man_exp()
        if key not in self._kept:
            period = self.randomness.period(step, RunningSum(self.model.size, degree))
            law = self._average.stable(lambda: stationary_moments(period.after(period.steps)))
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = period, law
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[Any, tuple[Period, arb_mat]]:
        return {}

    @cached_property
    def _phi(self) -> fmpq_mat:
        """The test function as a row."""
        columns = multi_indices(self.model.size, 0, self.degree)
        terms = self._average.observable
        return fmpq_mat([[to_fmpq(terms[key]) if key in terms else fmpq(0) for key in columns]])

    def _first_two(self, law: arb_mat) -> tuple[arb_mat, arb_mat]:
        """Mean and second moments from the column of moments to degree 2."""
        n = self.model.size
        at = dict(zip(multi_indices(n, 0, 2), law.entries(), strict=True))
        mean = arb_mat(n, 1, [at[unit(n, i)] for i in range(n)])
        return mean, arb_mat(n, n, [at[unit(n, i, j)] for i in range(n) for j in range(n)])


def _tail(column: arb_mat) -> arb_mat:
    return arb_mat(column.tolist()[1:])


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
