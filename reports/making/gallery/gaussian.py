"""What a scheme costs on the Gaussian posterior, exactly: order and constant of its bias, variance, and gradients for an error.

Over L steps from the invariant law the mean square error of the average of phi is b(h)^2 + v(h)/L (L large against the
autocorrelation time), with the stationary bias b and the long-run variance v of the exact engines. An error e takes the fewest
gradients at the h that minimises g v(h)/(e^2 - b(h)^2), g gradients a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from reports.making.gallery.settings import PHI, TOLERANCE, gaussian
from sgverify import rate
from sgverify.advice.plans.costs import gradients_per_step
from sgverify.checks.rates.engines import exact_answers
from sgverify.errors import InstabilityError, Unreached, UserError
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import ExactAnswers
from sgverify.exact.chain.mse import long_run_variance, stationary_variance
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.subject.subject import Subject

SCALES = 10.0
"""Steps are sought up to this many of the target's time scales where the stability limit is beyond."""

STEPS = 60
BUDGETS = tuple(float(f"{value:.4g}") for value in np.geomspace(1e4, 1e11, 43))
"""Gradients of single data for which the least error is sought."""

LOST = (InstabilityError, PrecisionLostError)


@dataclass(frozen=True)
class Average:
    """The average of phi over one scheme's chain: its bias and its long-run variance at any step size."""

    subject: Subject

    @cached_property
    def answers(self) -> ExactAnswers:
        """The engine. Raises `Unreached` where no exact law is known."""
        return exact_answers(self.subject)

    @property
    def truth(self) -> float:
        """The average under exp(-U/T)."""
        return float(self.subject.truth)

    @cached_property
    def gradients(self) -> float:
        """Gradients of single data in one step."""
        return gradients_per_step(self.subject)

    @cached_property
    def limit(self) -> float:
        """The stability limit."""
        return float(self.subject.step_sizes.limit)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The steps between which the best one is sought."""
        precision = float(self.subject.target.precision[0][0])
        scale = precision**-0.5 if "p" in self.subject.scheme.dynamics.state else 1 / precision
        top = min(self.limit * (1 - 1e-3), SCALES * scale)
        return 1e-6 * scale, top

    def at(self, step: float) -> tuple[float, float]:
        """b(h) and v(h); infinite where balls cannot tell the chain from an unstable one."""
        size = fixed_step(float(f"{step:.6g}"))
        try:
            bias = self.answers.stationary_bias(size)
            variance = long_run_variance(self.subject.model.problem_at(size))
        except LOST:
            return np.inf, np.inf
        # A bias of 0 is a ball around it.
        small = abs(bias.value) <= max(bias.error_bound, 1e-14 * self.truth)
        return (0.0 if small else float(bias.value)), float(variance.value)

    @cached_property
    def sampled(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Steps with b and v, on a logarithmic grid. Shapes (steps,)."""
        steps = np.geomspace(*self.ends, STEPS)
        values = np.array([self.at(step) for step in steps])
        return steps, values[:, 0], values[:, 1]

    def cost(self, step: float, error: float) -> float:
        """Gradients until the root of the mean square error is `error`, at this step; infinite where the bias is beyond it."""
        bias, variance = self.at(step)
        left = error**2 - bias**2
        return self.gradients * variance / left if left > 0 else np.inf

    def cheapest(self, error: float) -> float:
        """The step with the least cost, to four figures."""
        steps, biases, variances = self.sampled
        with np.errstate(divide="ignore", invalid="ignore"):
            costs = np.where(np.abs(biases) < error, variances / (error**2 - biases**2), np.inf)
        place = int(np.argmin(costs))
        low, high = np.log(steps[max(0, place - 1)]), np.log(steps[min(STEPS - 1, place + 1)])
        found = minimize_scalar(
            lambda x: min(self.cost(float(np.exp(x)), error), 1e300),
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-3},
        )
        return float(f"{np.exp(found.x):.4g}")

    def least_errors(self) -> np.ndarray:
        """The least root mean square error of each budget, over the grid of steps, as a share of the truth. Shape (budgets,)."""
        _, biases, variances = self.sampled
        told = np.isfinite(biases)
        lengths = np.array(BUDGETS)[:, None] / self.gradients
        squares = biases[told] ** 2 + variances[told] / lengths
        return np.asarray(np.sqrt(squares.min(axis=1)) / self.truth)


def local_order(scheme: str) -> dict[str, Any]:
    """The proved local order of a scheme given the minibatch, and with minibatches averaged over; with the reason."""
    try:
        found = rate(scheme, quantity="local-order")
    except UserError as error:
        return {"given": None, "averaged": None, "why": str(error)}
    return {
        "given": found.certificate.get("given_minibatch"),
        "averaged": found.certificate.get("averaged"),
        "method": found.method,
    }


def biased(scheme: str, gradient: Mapping[str, Any]) -> dict[str, Any]:
    """The leading term of the bias alone: of minibatches that depend on one another no long-run variance is computed."""
    average = Average(gaussian(scheme, gradient))
    row: dict[str, Any] = {"scheme": scheme, "gradients_per_step": average.gradients}
    try:
        coefficients, limit = average.answers.expansion, average.limit
    except Unreached as unknown:
        return {**row, "why": str(unknown)}
    order = next((k for k, value in enumerate(coefficients.values) if value), None)
    return {
        **row,
        "bias_order": order,
        "bias_constant": None if order is None else coefficients.values[order],
        "orders_computed": len(coefficients.values) - 1,
        "stability_limit": limit,
    }


def measured(scheme: str, gradient: Mapping[str, Any]) -> dict[str, Any]:
    """One row: a scheme with one gradient estimator; `why` alone where no exact law is known."""
    subject = gaussian(scheme, gradient)
    average = Average(subject)
    row: dict[str, Any] = {"scheme": scheme, "phi": PHI, "gradients_per_step": average.gradients}
    try:
        coefficients = average.answers.expansion
        limit = average.limit
    except Unreached as unknown:
        return {**row, "why": str(unknown)}
    order = next((k for k, value in enumerate(coefficients.values) if value), None)
    error = TOLERANCE * average.truth
    step = average.cheapest(error)
    bias, variance = average.at(step)
    own = float(stationary_variance(subject.model.problem_at(fixed_step(step))).value)
    return {
        **row,
        "truth": average.truth,
        "bias_order": order,
        "bias_constant": None if order is None else coefficients.values[order],
        "orders_computed": len(coefficients.values) - 1,
        "diffusion_variance": average.answers.variance,
        "stability_limit": limit,
        "step": step,
        "searched_to": average.ends[1],
        "bias": bias,
        "variance": variance,
        "autocorrelation_time": variance / own,
        "steps": variance / (error**2 - bias**2),
        "gradients": average.cost(step, error),
        "errors": [float(f"{value:.6g}") for value in average.least_errors()],
    }
