"""Exact answers for test functions of degree two, by cumulants and Poisson equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import flint
from flint import arb, arb_mat, fmpq, fmpq_mat

from sgverify.exact.affine.carrier import start_ingredients
from sgverify.exact.affine.model import UNCOUPLED, Model, StepSize, fixed_step, varying_problem
from sgverify.exact.affine.noise import LARGEST_TENSOR, normal_through
from sgverify.exact.answers.questions import Coefficients, ExactAnswers, Question, to_float
from sgverify.exact.chain.block_recursion import Array
from sgverify.exact.chain.chain import ChainProblem, QuadraticForm, split
from sgverify.exact.chain.ergodic import Centred, Moments, ergodic_bias, stationary_bias, stationary_law
from sgverify.exact.chain.expansion import (
    BITS,
    EXPANSION_BITS,
    ORDERS,
    TINY,
    AffineSeries,
    SteadyExpansion,
    asymptotic_variance,
    expand_bias,
    expand_decay,
)
from sgverify.exact.numbers.ball import Certified
from sgverify.exact.numbers.matrix_series import rational_column, rational_matrix
from sgverify.exact.rings.polynomials import to_fmpq

if TYPE_CHECKING:
    from sgverify.exact.affine.step_series import StepSeries
    from sgverify.exact.chain.varying_steps import VaryingProblem
    from sgverify.targets import Target

_SERIES: WeakKeyDictionary[Target, list[tuple[tuple[Any, ...], AffineSeries]]] = WeakKeyDictionary()
"""The series of steps on a target, each with its scheme, noise, temperature and friction."""

LARGEST_MEAN_SQUARE = 10
"""Coordinates to which the mean square error is computed where noise is not Gaussian: its cumulants have n^4 entries."""

LARGEST_GAUSSIAN = 120
"""Coordinates to which it is computed where noise is Gaussian: it takes 4 s for 100 at one step size and length."""

MOST_ENTRIES, MOST_PRODUCTS = 1.6e7, 1e8
"""n^2 L and n^3 L to which a recursion over L different steps is run: 1 GB, and some seconds."""

SHORTEST = 100
"""The length below which values along a decreasing schedule show nothing."""


@dataclass(frozen=True)
class QuadraticAnswers(ExactAnswers):
    """Answers for test functions of degree <= 2 and additive gradient noise, independent from step to step: X -> M X M^T + Q."""

    model: Model

    @property
    def truth(self) -> Fraction:
        """See `ExactAnswers`."""
        return self.model.truth

    def why_not(self, question: Question) -> str | None:
        """See `ExactAnswers`."""
        size, scheme = self.model.size, self.model.scheme
        if question in ("mean square error", "weighted average"):
            most = LARGEST_GAUSSIAN if self._gaussian else LARGEST_MEAN_SQUARE
            if size > most:
                return f"the chain has {size} coordinates, more than the {most} of an exact mean square error"
            if self._minibatches and self.model.target.dim > LARGEST_TENSOR:
                return f"third and fourth cumulants of minibatches are not computed in {self.model.target.dim} dimensions"
        if question != "weighted average":
            return None
        if self.longest_schedule() < SHORTEST:
            return (
                f"the chain has {size} coordinates, too many for a recursion over {SHORTEST} different steps"
            )
        if "h" in start_ingredients(scheme):
            return f"the memory of `{scheme.name}` starts from `h`"
        for law in scheme.laws:
            if not normal_through([law], 4):
                return f"sums over a decreasing schedule take draws with a normal fourth moment, and noise.{law}() has none"
        return None

    def longest_schedule(self) -> int:
        """See `ExactAnswers`."""
        n = self.model.size
        arrays = 1 if n <= UNCOUPLED else 2
        return int(min(MOST_ENTRIES / (arrays * n**2), MOST_PRODUCTS / n**3))

    @property
    def _minibatches(self) -> bool:
        """Whether the gradient has noise that is not Gaussian."""
        noise = self.model.noise
        return noise.covariance is not None and not noise.each_evaluation

    @property
    def _gaussian(self) -> bool:
        """Whether the noise of a step has no cumulants of orders 3 and 4."""
        return not self._minibatches and normal_through(self.model.scheme.laws, 4)

    def stationary_bias(self, step: StepSize, position: int | None = None) -> Certified:
        """See `ExactAnswers`."""
        return stationary_bias(self.model.problem_at(step))

    def bias(self, step: StepSize, length: int) -> Certified:
        """See `ExactAnswers`."""
        return ergodic_bias(self.model.problem_at(step), length)

    def mean_square_error(self, step: StepSize, length: int) -> Certified:
        """See `ExactAnswers`."""
        from sgverify.exact.chain.mse import mean_square_error

        return mean_square_error(self.model.problem_at(step), length)

    def weighted_bias(self, steps: Array, weights: Array | None = None) -> Certified:
        """See `ExactAnswers`."""
        from sgverify.exact.chain.varying_steps import varying_bias

        return varying_bias(self._varying, steps, weights=weights)

    def weighted_mean_square_error(self, steps: Array, weights: Array | None = None) -> Certified:
        """See `ExactAnswers`."""
        from sgverify.exact.chain.varying_steps import varying_mean_square_error

        return varying_mean_square_error(self._varying, steps, weights=weights)

    def moments(self, step: StepSize, position: int | None = None) -> Moments:
        """See `ExactAnswers`."""
        law = stationary_law(self.model.chain(step()))
        return Moments(law.mean, law.covariance)

    def moment_series(self, position: int | None = None) -> list[Moments]:
        """See `ExactAnswers`."""
        with flint.ctx.workprec(EXPANSION_BITS):
            if self._remembers:
                # Without the memory, whose own units may hold sqrt(h).
                return self._moments_at_zero(
                    len(self.model.scheme.dynamics.state) * self.model.target.dim, None
                )
            steady = self.series.steady(nothing(self.model.size))
            return [Moments(m, s) for m, s in zip(steady.mean, steady.covariance, strict=True)]

    @cached_property
    def _step_series(self) -> StepSeries:
        from sgverify.exact.affine.step_series import StepSeries

        return StepSeries(self.model, ORDERS)

    @cached_property
    def _varying(self) -> VaryingProblem:
        return varying_problem(self.model)

    @cached_property
    def series(self) -> AffineSeries:
        """M(h), c(h) and Q(h) expanded at h = 0, for a step that tends to the identity."""
        # It does not depend on the test function: the answers about an invariant law have the same one.
        model, kept = self.model, _SERIES.setdefault(self.model.target, [])
        given = model.scheme, model.noise, model.temperature, model.friction
        for others, known in kept:
            if all(
                a is b or (isinstance(a, Fraction) and a == b) for a, b in zip(given, others, strict=True)
            ):
                return known
        with flint.ctx.workprec(EXPANSION_BITS):
            found = self._step_series.affine
        kept.append((given, found))
        return found

    @property
    def _remembers(self) -> bool:
        """Whether the step has a memory, which moves by O(1) in a step: its expansions are read off tiny step sizes."""
        return bool(self.model.scheme.memory)

    def _at_zero(self, value: Callable[[ChainProblem], arb], power: int = 0) -> Coefficients:
        """The coefficients of h^power times a number that a chain has, the sum over its independent parts."""

        def summed(h: arb) -> arb:
            problem = self.model.problem_at(lambda: h)(flint.ctx.prec)
            return h**power * sum((value(part) for part in split(problem)), arb(0))

        return Coefficients.at_zero(summed)

    @cached_property
    def expansion(self) -> Coefficients:
        """See `ExactAnswers`."""
        return self.expansion_at(None)

    def expansion_at(self, position: int | None) -> Coefficients:
        """See `ExactAnswers`."""
        if self._remembers:
            return self._at_zero(lambda part: Centred(part).stationary_bias())
        with flint.ctx.workprec(EXPANSION_BITS):
            return Coefficients.of(expand_bias(self._steady, to_fmpq(self.truth)))

    @cached_property
    def transient(self) -> Coefficients:
        """See `ExactAnswers`."""
        if self._remembers:
            # The sum is of order 1/h, and after infinitely many steps nothing is left of the start.
            return self._at_zero(_summed_transient, 1)
        with flint.ctx.workprec(EXPANSION_BITS):
            mean, spread = self.model.start_law()
            return Coefficients.of(expand_decay(self._steady, mean, spread))

    @cached_property
    def variance(self) -> float | None:
        """See `ExactAnswers`."""
        if self._remembers:
            tiny = Fraction(1, 2**TINY)
            from sgverify.exact.chain.mse import long_run_variance

            return float(
                long_run_variance(self.model.problem_at(fixed_step(tiny)), bits=BITS).ball * float(tiny)
            )
        with flint.ctx.workprec(EXPANSION_BITS):
            return to_float(asymptotic_variance(self._steady))

    @cached_property
    def _steady(self) -> SteadyExpansion:
        """The invariant law of the chain, and the Poisson equation of the test function."""
        return self.series.steady(self.exact_observable)

    @property
    def exact_observable(self) -> QuadraticForm:
        """The test function over the chain's coordinates, in fractions."""
        c, b, a = self.model.observable.quadratic_form()
        pad = self.model.size - len(b)
        nothing = [Fraction(0)] * pad
        rows = [[*row, *nothing] for row in a] + [[Fraction(0)] * self.model.size for _ in range(pad)]
        return QuadraticForm(to_fmpq(c), rational_column([*b, *nothing]), rational_matrix(rows))


def _summed_transient(part: ChainProblem) -> arb:
    """sum_l (E phi(X_l) - phi_h) of one part, over all steps."""
    if part.constant:
        return arb(0)
    return Centred(part).transient(arb_mat(part.chain.size, part.chain.size))


def nothing(size: int) -> QuadraticForm:
    """The test function 0 of so many coordinates."""
    return QuadraticForm(fmpq(0), fmpq_mat(size, 1), fmpq_mat(size, size))
