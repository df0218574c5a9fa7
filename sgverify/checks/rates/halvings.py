"""Which power of h does a quantity show at falling step sizes, and is it the predicted one at the configured steps too?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sgverify.evidence import Point
from sgverify.law.one_step_map import OneStepMap
from sgverify.law.torch_chain import FEWEST, HALVINGS
from sgverify.rates.powers import JUMP, StepFit, fit_steps
from sgverify.rates.verdict import Judgement, judge_step_rate

DESCENTS = 3
"""The most restarts of the halvings, below steps whose values the smaller steps do not explain."""

CLEAR = 100.0
"""The multiple of its error bound from which a value shows powers of h."""

KNOWN = 1e-3
"""The error bound, relative to the values, that powers below the predicted one need if draws enter nonlinearly."""


@dataclass(frozen=True)
class StepValue:
    """A quantity at one step size, with its error bound and the affine map that it was computed from, if it was."""

    step: float
    value: float
    error: float
    seen: OneStepMap | None

    @property
    def point(self) -> Point:
        """The value as evidence shows it."""
        return Point(step=self.step, value=self.value, error_bound=self.error)


Measure = Callable[[float], StepValue]


@dataclass(frozen=True)
class Followed:
    """A quantity at falling steps: the values at the given steps, those that the fit explains, and the fit."""

    what: str
    scale: float
    points: list[StepValue]
    below: list[StepValue]
    fitted: StepFit

    @staticmethod
    def of(measure: Measure, steps: Sequence[float], what: str, size: float) -> Followed:
        """Follow `measure` over the steps; `size` is the quantity's true magnitude.

        While powers of h do not explain the values, further halvings below the smallest step are taken.
        """
        points = [measure(float(h)) for h in steps]
        scale = max(size, max(abs(point.value) for point in points), 1e-300)
        below = points
        for _ in range(DESCENTS + 1):
            fitted = fit_steps(*_columns(below), scale)
            if fitted.outlier is not None and fitted.rate.exponent is None:
                # A value that is hidden in its error at the smallest steps says nothing of the powers that it has at larger ones.
                above = _above_errors(below)
                fitted = fit_steps(*_columns(above), scale) if len(above) < len(below) else fitted
            if fitted.outlier is None:
                break
            below = [measure(below[-1].step * 2.0**-k) for k in range(HALVINGS)]
        return Followed(what, scale, points, below, fitted)

    def judged(self, predicted: Fraction) -> Judgement:
        """The judgement on the exponent for h -> 0, and on the configured steps by the same powers of h."""
        fitted, what = self.fitted, self.what
        if fitted.outlier is not None:
            h, value, due = fitted.outlier
            reason = (
                f"no powers of h explain the bias; {what} is {value:.6g} at h={h:.6g}, where those through smaller steps give "
                f"{due:.6g}"
            )
            return Judgement("inconclusive", False, reason)
        rate = fitted.rate
        judgement = judge_step_rate(rate, predicted, what)
        if rate.exponent is None:
            seen = f"no power of h is seen in {what} through h^{len(fitted.powers.coefficients) - 1}"
            judgement = Judgement(
                "conforms", False, f"the bias is not told from 0; {seen}, and none of its values is"
            )
        if judgement.verdict == "conforms" and self.below is not self.points:
            judgement = self._configured_steps(float(predicted))
        if judgement.verdict == "conforms":
            judgement = self._known(float(predicted), judgement)
        return judgement

    def _configured_steps(self, predicted: float) -> Judgement:
        """Judge the configured steps by |bias| <= C h^K, with C from the smaller steps whose values the powers of h explain."""
        first = fit_steps(*_columns(self.points), self.scale).outlier
        assert first is not None
        below, what = self.below, self.what
        # A quantity that falls faster than predicted announces more at larger steps.
        power = max(predicted, float(self.fitted.rate.exponent or 0))
        largest = max((abs(p.value) + p.error) / p.step**power for p in below)
        worst = max(self.points, key=lambda p: (abs(p.value) - p.error) / p.step**power)
        announced = largest * worst.step**power
        if abs(worst.value) - worst.error > JUMP * announced:
            reason = (
                f"the bias is {worst.value:.3g}, smaller steps announce {announced:.2g}; {what} is {worst.value:.6g} at the "
                f"configured h={worst.step:.6g}, where steps of {below[0].step:.3g} and less announce {announced:.2g}"
            )
            return Judgement("violates", False, reason)
        h, value, due = first
        reason = (
            f"the bias is {value:.3g}, powers of h give {due:.3g}; {what} is {value:.6g} at the configured h={h:.6g}, where "
            f"powers of h through the smaller steps give {due:.6g}: the code does something else at one of these steps; as h -> 0, "
            f"from {below[0].step:.3g} on, it is as predicted"
        )
        return Judgement("inconclusive", False, reason)

    def _known(self, predicted: float, judgement: Judgement) -> Judgement:
        """The judgement, made inconclusive if the error of the noise's covariance may hide a bias.

        If draws enter nonlinearly, the covariance is an integral by quadrature, with an error.
        """
        points = self.points
        maps = [p.seen for p in points if p.seen is not None]
        if all(seen.noise_bend is None for seen in maps):
            return judgement
        bounds = self.fitted.powers.bounds
        hidden = max((float(bounds[j, 0]) * points[0].step ** j for j in range(int(predicted))), default=0.0)
        if any(seen.cut for seen in maps):
            size = min(seen.noise_bend or 0.0 for seen in maps)
            return Judgement(
                "inconclusive",
                False,
                f"large draws do not enter as small ones do; those of {size:g} standard deviations and more: {self.what} is known "
                f"to {hidden:.1g}, and in no power of h is more seen",
            )
        if hidden > KNOWN * self.scale:
            return Judgement(
                "inconclusive",
                False,
                f"the bias is known to {hidden:.1g} only; {self.what}: a step is not linear in its draws",
            )
        return judgement


def _above_errors(points: Sequence[StepValue]) -> list[StepValue]:
    """The points at the larger steps, down to the last whose value is `CLEAR` times its error; `FEWEST` of them at least."""
    last = max((k for k, p in enumerate(points) if abs(p.value) > CLEAR * p.error), default=0)
    return list(points[: max(last + 1, FEWEST)])


def _columns(points: Sequence[StepValue]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The step sizes, the values and their error bounds."""
    steps, values, errors = (
        np.array([getattr(p, name) for p in points]) for name in ("step", "value", "error")
    )
    return steps, values, errors
