"""What would the same chains average if the target were Gaussian? A control variate whose expectation is computed exactly.

Beside exp(-U/T) stands the Gaussian N(m, S) with its mean and covariance, from the draws that the reference average is from.
Its potential has the precision H = T S^-1, and each of its data has the gradient that the datum has at m less their mean, plus
H (theta - m)/(2N): its minibatches have noise of a constant covariance. The same scheme runs on both with the same random
numbers, the same minibatches included. With A and C the averages of one chain on either target, A - (C - E C) has the expectation
of A, and only the noise of what is not Gaussian in the target and not constant in the noise. E C comes from the exact laws of
affine chains, so that no approximation enters: another Gaussian would change the noise and not the expectation. A sampler that
errs on both targets alike would go unseen in the difference, therefore C itself is held against E C (`Sweep.disagreement`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sgverify.checks.rates.engines import exact_answers
from sgverify.checks.rates.sampled.method import SampledAverages
from sgverify.checks.rates.sampled.pilot import affine_time
from sgverify.checks.rates.sampled.reference import draws_of
from sgverify.configuration import load_configuration
from sgverify.errors import SgverifyError, Unreached
from sgverify.exact.affine.model import fixed_step, horizon_step
from sgverify.exact.answers import QuadraticAnswers
from sgverify.exact.chain.varying_steps import power_steps
from sgverify.exact.numbers.ball import Certified
from sgverify.subject.caching import cached_per_subject
from sgverify.subject.subject import Subject

LARGEST, LARGEST_DATA = 10, 20_000
"""The most coordinates of theta and the most data for a control: its exact laws take milliseconds, its noise a second."""

SLOWER = 1.05
"""How much more slowly than the control's chains the target's may relax, by a lower bound: their burn-in is a multiple of the
control's relaxation time. On five real posteriors the bound is at most 1.02; where two wells make it 1.09 the time is 1.36 times
as long."""

_DIGITS, _DIGITS_OF_DATA = 8, 5
"""Significant digits of the Gaussian's constants and data: short decimals, as any Gaussian nearby will do."""


@dataclass(frozen=True, eq=False)
class GaussianControl:
    """The scheme and configuration of a subject on the Gaussian nearest to its target, whose `centre` has the shape (d,)."""

    subject: Subject
    centre: np.ndarray

    def bias(self, step: float) -> Certified:
        """The exact stationary bias of the control's chain. Raises `InstabilityError` where it has none."""
        return self._answers.stationary_bias(fixed_step(step))

    def average(self, step: float) -> tuple[float, float]:
        """The exact average of the test function under the law of the control's chain, and a bound of its error."""
        found = self.bias(step)
        return float(self.subject.truth) + found.value, found.error_bound

    @cached_property
    def distance(self) -> float:
        """How far the target's centre, where its chains start, is from its mean: the largest coordinate, in standard deviations."""
        own, temperature = self.subject.target, float(self.subject.configuration.temperature)
        away = np.abs(self.centre - own.mean_float64()) / own.spread_float64(temperature)
        return float(away.max())

    @cached_property
    def spread(self) -> float:
        """The standard deviation of the test function b.x + x.A x under N(m, S) x N(0, T I)."""
        target, T = self.subject.target, float(self.subject.configuration.temperature)
        _, b, a = (np.array(part, dtype=np.float64) for part in self.subject.observable.quadratic_form())
        mean, covariance = np.zeros(len(b)), T * np.eye(len(b))
        mean[: target.dim] = target.mean_float64()
        covariance[: target.dim, : target.dim] = T * target.covariance_float64()
        slope, spread = b + 2 * a @ mean, a @ covariance
        return float(slope @ covariance @ slope + 2 * np.trace(spread @ spread)) ** 0.5

    def averages(
        self, kind: str, alpha: Fraction, scale: float, lengths: Sequence[int]
    ) -> list[tuple[float, float]]:
        """(E C, a bound of its error) of averages of these lengths from the configured start, along h = C L^-alpha or C l^-alpha.

        Raises `Unreached` where no engine computes weighted averages.
        """
        return [self._of_run(kind, alpha, scale, length) for length in lengths]

    def _of_run(self, kind: str, alpha: Fraction, scale: float, length: int) -> tuple[float, float]:
        if kind == "horizon":
            found = self._answers.bias(horizon_step(scale, alpha, length), length)
        else:
            found = self._answers.weighted_bias(power_steps(scale, float(alpha), length))
        return float(self.subject.truth) + found.value, found.error_bound

    def squared_bias_over_variance(
        self, kind: str, alpha: Fraction, scale: float, length: int
    ) -> float | None:
        """bias^2/variance of the control's average of this length; None where its mean square error is not computed."""
        answers = self._answers
        weighted = kind == "power"
        if answers.why_not("mean square error") or (weighted and answers.why_not("weighted average")):
            return None
        if weighted:
            square = answers.weighted_mean_square_error(power_steps(scale, float(alpha), length)).value
        else:
            square = answers.mean_square_error(horizon_step(scale, alpha, length), length).value
        bias = self._of_run(kind, alpha, scale, length)[0] - float(self.subject.truth)
        return bias**2 / (square - bias**2)

    def relaxation_time(self, step: float) -> float:
        """The relaxation time of the control's chain, from the spectral radius of its step."""
        return affine_time(self.subject, step)

    @property
    def limit(self) -> float:
        """The stability limit of the control's step."""
        return float(self.subject.step_sizes.limit)

    @cached_property
    def _answers(self) -> QuadraticAnswers:
        answers = exact_answers(self.subject)
        assert isinstance(answers, QuadraticAnswers)
        return answers


@cached_per_subject
def gaussian_control(subject: Subject) -> GaussianControl | None:
    """The control beside a subject's chains.

    None where its chain is no affine one, where no draws tell mean and covariance, or where the target's chains relax more slowly
    than it does (`SLOWER`), as between two wells: their burn-in is no multiple of its relaxation time then.
    """
    if subject.affine or subject.composite is not None or subject.black_box or subject.target.dim > LARGEST:
        return None
    table, temperature = subject.configuration.gradient, float(subject.configuration.temperature)
    fresh = table.estimator.draws_data and table.estimator.fresh
    if table.clip is not None or table.scale != 1 or (table.estimator.noisy and not fresh):
        return None
    if fresh and (subject.target.size or 0) > LARGEST_DATA:
        return None
    try:
        draws = draws_of(subject.target, temperature)
    except SgverifyError:
        return None
    from sgverify.samplers.importance import slowness

    if slowness(draws) > SLOWER:
        return None
    points, shares = draws.points, draws.weights / draws.weights.sum()
    mean = shares @ points
    covariance = (points - mean).T @ (shares[:, None] * (points - mean))
    tree = subject.configuration.model_dump(exclude_unset=True)
    tree["target"] = _target(subject, mean, covariance, fresh)
    other = Subject(subject.scheme, load_configuration(tree), subject.reference)
    try:
        if isinstance(exact_answers(other), QuadraticAnswers):
            return GaussianControl(other, subject.target.location_float64(temperature))
    except Unreached:
        pass
    return None


def corrected(
    found: SampledAverages, beside: SampledAverages, expected: Sequence[Sequence[float]]
) -> SampledAverages:
    """The averages A - (C - E C): `beside` holds C, `expected` E C by row and length, shape (rows, K)."""
    taken = beside.values - np.asarray(expected, dtype=np.float64)[:, :, None]
    diverged = tuple(a or b for a, b in zip(found.diverged, beside.diverged, strict=True))
    return SampledAverages(found.values - taken, diverged, found.chains, taken)


def _target(subject: Subject, mean: np.ndarray, covariance: np.ndarray, data: bool) -> dict[str, Any]:
    """The table of a target with U = (theta - m).H (theta - m)/2, with its data where minibatches are drawn.

    `gaussian-mean` with the prior precision H/2, the prior mean m and the noise precision H/(2N) has the gradients
    H/2 (theta - x_i), times 1/N, of its data: x_i = m - 2 N H^-1 (g_i - mean of g) gives them those of the data at m.
    """
    precision = subject.configuration.temperature * np.linalg.inv(covariance)
    precision = (precision + precision.T) / 2
    if not data:
        return {
            "name": "gaussian",
            "dim": len(mean),
            "precision": _short(precision, _DIGITS),
            "mean": _short(mean, _DIGITS),
        }
    # It brings torch, which the chains need anyway.
    from sgverify.samplers.own.functions import gradients_by_datum

    gradients = gradients_by_datum(subject.target, mean)[1]
    size = len(gradients)
    away = 2 * size * np.linalg.solve(precision, (gradients - gradients.mean(0)).T).T
    return {
        "name": "gaussian-mean",
        "dim": len(mean),
        "data": _short(mean - away, _DIGITS_OF_DATA),
        "prior_precision": _short(precision / 2, _DIGITS),
        "prior_mean": _short(mean, _DIGITS),
        "noise_precision": _short(precision / (2 * size), _DIGITS),
    }


def _short(values: np.ndarray, digits: int) -> Any:
    if values.ndim:
        return [_short(row, digits) for row in values]
    return float(f"{float(values):.{digits}g}")


__all__ = ["GaussianControl", "corrected", "gaussian_control"]
