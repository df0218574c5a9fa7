"""Exact answers for test functions of degree two, by cumulants and Poisson equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
from flint import fmpq, fmpq_mat

from sgverify.exact.affine.carrier import start_ingredients
from sgverify.exact.affine.drawn_noise import normal_through
from sgverify.exact.affine.matrices import to_fmpq
from sgverify.exact.affine.model import Model, StepSize
from sgverify.exact.affine.step_series import StepSeries
from sgverify.exact.affine.two_scale_step import two_scale_series
from sgverify.exact.affine.varying_model import varying_problem
from sgverify.exact.answers.coefficients import EXPANSION_BITS, ORDERS, Coefficients, to_float
from sgverify.exact.ball import Certified
from sgverify.exact.block_recursion import Array
from sgverify.exact.chain import Quadratic
from sgverify.exact.ergodic import ergodic_bias, stationary_bias
from sgverify.exact.expansion import AffineSeries, asymptotic_variance, expand, expand_transient
from sgverify.exact.mse import mean_square_error
from sgverify.exact.two_scales import TwoScaleSeries
from sgverify.exact.varying import (
    VaryingProblem,
    power_steps,
    varying_bias,
    varying_error,
    varying_mean_square_error,
)

LARGEST_VARYING = 4
"""Coordinates for which a recursion over a million different steps is run: two dimensions with momentum."""

LARGEST_MEAN_SQUARE = 10
"""Coordinates for which the mean square error is computed: its fourth-order tensors have n^4 entries."""


@dataclass(frozen=True)
class QuadraticAnswers:
    """Exact answers for test functions of degree <= 2 and gradient noise independent from step to step."""

    model: Model

    @property
    def has_mean_square_error(self) -> bool:
        """Whether the mean square error is reached too."""
        return self.model.size <= LARGEST_MEAN_SQUARE

    def stationary_bias(self, step: StepSize) -> Certified:
        """phi_h - phi_bar at this step size."""
        return stationary_bias(self.model.problem_at(step))

    def bias(self, step: StepSize, length: int) -> Certified:
        """E phi_hat - phi_bar for the average over `length` steps."""
        return ergodic_bias(self.model.problem_at(step), length)

    def mean_square_error(self, step: StepSize, length: int) -> Certified:
        """E (phi_hat - phi_bar)^2 for the average over `length` steps."""
        return mean_square_error(self.model.problem_at(step), length)

    @property
    def why_no_decreasing_steps(self) -> str | None:
        """Why sums over a decreasing schedule are not computed; None where they are."""
        if self.model.size > LARGEST_VARYING:
            return f"the chain has {self.model.size} coordinates, more than the {LARGEST_VARYING} of a decreasing schedule"
        if "h" in start_ingredients(self.model.scheme):
            return f"the memory of `{self.model.scheme.name}` starts from `h`"
        for law in self.model.scheme.laws:
            if not normal_through([law], 4):
                return f"sums over a decreasing schedule take draws with a normal fourth moment, and noise.{law}() has none"
        return None

    def decreasing_bias(self, scale: float, alpha: float, length: int) -> Certified:
        """E phi_tilde - phi_bar for the weighted average at h_l = scale l^-alpha."""
        return self.weighted_bias(power_steps(scale, alpha, length))

    def decreasing_mean_square_error(self, scale: float, alpha: float, length: int) -> Certified:
        """E (phi_tilde - phi_bar)^2 for the weighted average at h_l = scale l^-alpha."""
        return self.weighted_mean_square_error(power_steps(scale, alpha, length))

    def decreasing_error(self, quantity: str, scale: float, alpha: float, length: int) -> float:
        """The same bias, or with the quantity "mse" the mean square error, without a bound on its rounding."""
        steps = power_steps(scale, alpha, length)
        return varying_error(self._varying, steps, square=quantity == "mse")

    def weighted_bias(self, steps: Array, weights: Array | None = None) -> Certified:
        """E phi_tilde - phi_bar for sum w_l phi(X_l) / sum w_l at the step sizes h_l, w_l = h_l where it is left open."""
        return varying_bias(self._varying, steps, weights=weights)

    def weighted_mean_square_error(self, steps: Array, weights: Array | None = None) -> Certified:
        """E (phi_tilde - phi_bar)^2 for the same average."""
        return varying_mean_square_error(self._varying, steps, weights=weights)

    @cached_property
    def _step_series(self) -> StepSeries:
        return StepSeries(self.model, ORDERS)

    @cached_property
    def _varying(self) -> VaryingProblem:
        return varying_problem(self.model)

    @cached_property
    def series(self) -> AffineSeries | TwoScaleSeries:
        """M(h), c(h), Q(h) expanded at h = 0; with a memory, which moves at once, on two scales."""
        with flint.ctx.workprec(EXPANSION_BITS):
            return (
                two_scale_series(self._step_series) if self.model.scheme.memory else self._step_series.affine
            )

    @cached_property
    def expansion(self) -> Coefficients:
        """b_0, b_1, ...: the stationary bias in powers of h."""
        with flint.ctx.workprec(EXPANSION_BITS):
            return Coefficients.of(expand(self.series, self.exact_observable, to_fmpq(self.model.truth)))

    @cached_property
    def transient(self) -> Coefficients:
        """tau_0, tau_1, ...: h times the sum of all transient biases, in powers of h."""
        with flint.ctx.workprec(EXPANSION_BITS):
            # A memory may start from h: the series knows its start itself.
            mean, spread = (None, None) if self.model.scheme.memory else self.model.start_law()
            return Coefficients.of(expand_transient(self.series, self.exact_observable, mean, spread))

    @cached_property
    def variance(self) -> float | None:
        """sigma_0^2: the asymptotic variance of the time average, L h Var(phi_hat) as h -> 0."""
        with flint.ctx.workprec(EXPANSION_BITS):
            return to_float(asymptotic_variance(self.series, self.exact_observable))

    @property
    def exact_observable(self) -> Quadratic:
        """The test function over the chain's coordinates, in fractions."""
        c, b, a = self.model.observable.quadratic_form()
        pad = self.model.size - len(b)
        linear = fmpq_mat(self.model.size, 1, [to_fmpq(v) for v in [*b, *([Fraction(0)] * pad)]])
        rows: list[Sequence[Any]] = [[to_fmpq(v) for v in (*row, *([Fraction(0)] * pad))] for row in a]
        rows += [[fmpq(0)] * self.model.size for _ in range(pad)]
        return Quadratic(to_fmpq(c), linear, fmpq_mat(rows))
