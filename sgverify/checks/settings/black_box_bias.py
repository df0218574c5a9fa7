"""What is the invariant law of torch code on a Gaussian target? Evaluations show its step as an affine map of the state."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from sgverify.checks.code.injected_step import chosen_gradient
from sgverify.checks.question import Question
from sgverify.checks.rates.exponent import JUMP
from sgverify.checks.settings.designs import configured_design
from sgverify.checks.settings.gaussian_setting import GaussianSetting, NoGaussianLawError
from sgverify.checks.settings.law_defect import StepFit, fit_steps
from sgverify.checks.settings.one_step_map import RARE, REACH, OneStepMap, read_one_step
from sgverify.checks.settings.step_at_setting import FAR, Tried, try_setting
from sgverify.checks.settings.step_rows import StepRows
from sgverify.checks.subject.torch import TorchSubject, limits
from sgverify.errors import ConfigurationError, InstabilityError
from sgverify.evidence import Evidence, Point
from sgverify.exact.numbers.quadrature import normal_cubature
from sgverify.rates import Judgement, judge_step_rate
from sgverify.samplers.intercepted import BlackBoxError, UnreadableDrawError

HALVINGS = 7
"""The number of step sizes h, h/2, h/4, ... at which the bias is computed."""

DESCENTS = 3
"""The most restarts of the halvings, below steps whose values the smaller steps do not explain."""

FEWEST = 4
"""The fewest step sizes of a sweep: the fit needs one power for its error bound, and must distinguish orders 1 and 2."""

UNIT = 2.0**-53

SMALLER = 30
"""The most halvings of a default step in the search for one at which the chain contracts."""

KNOWN = 1e-3
"""The error bound, relative to the values, that powers below the predicted one need if draws enter nonlinearly."""


class _NotReadError(Exception):
    """Raised with the reason why the invariant law cannot be computed."""


class _BendsError(Exception):
    """Raised if the step is not affine in the state."""


@dataclass(frozen=True)
class _Point:
    """The bias at one step size, its error bound, and the affine map whose invariant law has this bias."""

    step: float
    value: float
    error: float
    seen: OneStepMap


def black_box_bias(question: Question) -> Evidence:
    """E phi under the invariant law of X -> M X + c + noise less the posterior's, at h, h/2, ..., and its powers of h.

    M and c come from differences of evaluations at unit vectors, and are tested at states out to 6 spreads of the target and of
    the chain's law. The invariant law has the covariance C = M C M^T + Q, with Q the covariance of the noise. A step that is
    not affine in the state is judged by the change of the posterior's moments in one step.
    """
    subject = cast(TorchSubject, question.subject)
    try:
        reader = _Reader(subject)
        try:
            points = [reader.bias(float(h)) for h in reader.steps()]
        except _BendsError:
            return _by_its_defect(question, reader)
    except (_NotReadError, BlackBoxError, UnreadableDrawError, NoGaussianLawError) as error:
        reason = f"its invariant law is not read: {error}"
        return question.unanswered(reason, method="quadrature")
    prediction = question.prediction
    what = f"the stationary bias of {subject.observable}"
    scale = max(abs(float(subject.truth)), max(abs(point.value) for point in points), 1e-300)
    assert prediction.exponent is not None
    fitted, below = _explained(reader, points, scale)
    judgement = _judge(fitted, points, below, prediction.exponent, what, scale)
    if judgement.verdict == "violates" and fitted.rate.exponent is not None:
        size = abs(float(fitted.rate.coefficient or 0.0)) * points[0].step ** float(fitted.rate.exponent)
        judgement = reader.or_rounding(judgement, max(size, 0.0), scale)
    return question.answered(
        method="quadrature",
        judgement=judgement,
        found=fitted.rate,
        points=[Point(step=p.step, value=p.value, error_bound=p.error) for p in points],
        certificate={
            "powers_of_h": fitted.powers.coefficients[:, 0].tolist(),
            "error_bounds": fitted.powers.bounds[:, 0].tolist(),
            "fitted_from": below[0].step,
            "read": "the affine map of one step, from evaluations at unit vectors of the state and of its draws",
            "affine_at": f"states out to {max(REACH):g} spreads of the target and of the chain's law, draws of up to "
            f"{max(RARE):g} standard deviations; not examined beyond",
            "limits": limits(subject.target.dim),
        },
    )


def _explained(reader: _Reader, points: list[_Point], scale: float) -> tuple[StepFit, list[_Point]]:
    """The fit and its points: the given points or, while a fit does not explain them, points at further halvings below them."""
    below = points
    for _ in range(DESCENTS + 1):
        fitted = fit_steps(*_columns(below), scale)
        if fitted.outlier is None:
            break
        below = [reader.bias(below[-1].step * 2.0**-k) for k in range(HALVINGS)]
    return fitted, below


def _judge(
    fitted: StepFit, points: list[_Point], below: list[_Point], predicted: Fraction, what: str, scale: float
) -> Judgement:
    """The judgement on the exponent for h -> 0, and on the configured steps by the same powers of h."""
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
    if judgement.verdict == "conforms" and below is not points:
        first = fit_steps(*_columns(points), scale).outlier
        assert first is not None
        judgement = _configured_steps(first, points, below, float(predicted), what)
    if judgement.verdict == "conforms":
        judgement = _known(fitted, points, float(predicted), judgement, what, scale)
    return judgement


def _configured_steps(
    outlier: tuple[float, float, float],
    points: list[_Point],
    below: list[_Point],
    predicted: float,
    what: str,
) -> Judgement:
    """Judge the configured steps by |bias| <= C h^K, with C from the smaller steps whose values the powers of h explain."""
    largest = max(abs(p.value) / p.step**predicted for p in below)
    worst = max(points, key=lambda p: (abs(p.value) - p.error) / p.step**predicted)
    announced = largest * worst.step**predicted
    if abs(worst.value) - worst.error > JUMP * announced:
        reason = (
            f"the bias is {worst.value:.3g}, smaller steps announce {announced:.2g}; {what} is {worst.value:.6g} at the configured "
            f"h={worst.step:.6g}, where steps of {below[0].step:.3g} and less announce {announced:.2g}"
        )
        return Judgement("violates", False, reason)
    h, value, due = outlier
    reason = (
        f"the bias is {value:.3g}, powers of h give {due:.3g}; {what} is {value:.6g} at the configured h={h:.6g}, where powers of "
        f"h through the smaller steps give {due:.6g}: the code does something else at one of these steps; as h -> 0, from "
        f"{below[0].step:.3g} on, it is as predicted"
    )
    return Judgement("inconclusive", False, reason)


def _columns(points: list[_Point]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The step sizes, the values and their error bounds."""
    steps, values, errors = (
        np.array([getattr(p, name) for p in points]) for name in ("step", "value", "error")
    )
    return steps, values, errors


def _known(
    fitted: StepFit, points: list[_Point], predicted: float, judgement: Judgement, what: str, scale: float
) -> Judgement:
    """The judgement, made inconclusive if the error of the noise's covariance may hide a bias.

    If draws enter nonlinearly, the covariance is an integral by quadrature, with an error.
    """
    if all(p.seen.noise_bend is None for p in points):
        return judgement
    hidden = max(float(fitted.powers.bounds[j, 0]) * points[0].step ** j for j in range(int(predicted)))
    if any(p.seen.cut for p in points):
        size = min(p.seen.noise_bend or 0.0 for p in points)
        return Judgement(
            "inconclusive",
            False,
            f"large draws do not enter as small ones do; those of {size:g} standard deviations and more: {what} is known to "
            f"{hidden:.1g}, and in no power of h is more seen",
        )
    if hidden > KNOWN * scale:
        return Judgement(
            "inconclusive",
            False,
            f"the bias is known to {hidden:.1g} only; {what}: a step is not linear in its draws",
        )
    return judgement


class _Reader:
    """The subject's step on its target: its affine maps, and its biases at given step sizes."""

    def __init__(self, subject: TorchSubject) -> None:
        _refuse(subject)
        self.subject = subject
        design = configured_design(subject)
        assert design is not None
        self.setting: GaussianSetting = design.setting(subject.scheme.dynamics, subject.scheme.memory)
        self.gradient = chosen_gradient(subject)
        self.rows = StepRows(subject.scheme, self.setting, subject.step, self.gradient)
        others = [name for name in subject.scheme.dynamics.state if name not in ("theta", "p")]
        self._moments_alone = bool(others)
        self._maps: dict[float, OneStepMap] = {}
        n, dim = len(self.setting.spreads), subject.target.dim
        start = np.zeros((2, n))
        start[:, :dim] = np.array([[1.0], [-1.0]]) * subject.configuration.start_of()
        self._start = start[np.abs(start).max(axis=1) > max(REACH)]

    def map(self, h: float) -> OneStepMap:
        """The affine map of one step of size h; raises `_BendsError` if the step is not affine at some tested state."""
        if h not in self._maps:
            seen = read_one_step(self.rows, h, also=self._start)
            if seen.bend is None and seen.radius < 1:
                law = solve_discrete_lyapunov(seen.matrix, seen.covariance)
                wide = np.sqrt(np.maximum(np.diag(law), 0.0))
                if (wide > 1.5).any():
                    seen = read_one_step(self.rows, h, wide=np.maximum(wide, 1.0), also=self._start)
            self._maps[h] = seen
        if self._maps[h].bend is not None or self._moments_alone:
            raise _BendsError
        return self._maps[h]

    def steps(self) -> np.ndarray:
        """The configured step sizes of the sweep, from large to small; else halvings of the first step.

        Raises `ConfigurationError` for too few steps, `InstabilityError` if the chain does not contract at one of them.
        """
        given = self.subject.configuration.sweep.steps
        if not given:
            return np.array([self._first() * 2.0**-k for k in range(HALVINGS)])
        steps = np.array(sorted(set(given), reverse=True))
        if len(steps) < FEWEST:
            raise ConfigurationError(
                f"sweep.steps={list(given)}: {len(steps)} different step sizes; expected {FEWEST} at least, for the powers of h "
                "to be told apart, or leave it out"
            )
        for h in steps:
            radius = self.map(float(h)).radius
            if not radius < 1:
                raise InstabilityError(
                    f"sweep.steps has {h:.6g}: one step of {self.subject.reference} does not contract on this target, spectral "
                    f"radius {radius:.6g}; expected smaller steps"
                )
        return steps

    def _first(self) -> float:
        """The configured step; else the default step, halved until the chain contracts at twice its size.

        Raises `InstabilityError` for a configured step at which the chain does not contract.
        """
        subject = self.subject
        h, chosen = subject.step, subject.configuration.schedule.step is not None
        for _ in range(1 if chosen else SMALLER):
            radius = self.map(h).radius
            if radius < 1:
                return h if chosen or h == subject.step else h / 2
            h /= 2
        if chosen:
            raise InstabilityError(
                f"schedule.step={subject.step:.6g}: one step of {subject.reference} does not contract on this target, spectral "
                f"radius {radius:.6g}; expected a smaller step; leave schedule.step out for one that is"
            )
        raise _NotReadError(
            f"the chain contracts at no step size from {subject.step:.3g} down to {2 * h:.3g}: spectral radius {radius:.6g}"
        )

    def bias(self, h: float) -> _Point:
        """The bias at one step size with its error bound, from two maps with differences over vectors of different length."""
        seen = self.map(h)
        if not seen.radius < 1:
            raise _NotReadError(
                f"the chain does not contract at h={h:.3g}: spectral radius {seen.radius:.6g}"
            )
        once = self._average(seen)
        if seen.noise_bend is None:
            twice = self._average(read_one_step(self.rows, h, length=2.0, probed=False))
            unsure = 8 * abs(once - twice)
        else:
            if self.subject.observable.degree > 2:
                raise _NotReadError(
                    "its noise is not normal, and moments beyond the second are not read then"
                )
            gain = float(np.linalg.norm(solve_discrete_lyapunov(seen.matrix, np.eye(len(seen.matrix))), 2))
            wider = OneStepMap(
                **{**vars(seen), "covariance": seen.covariance + seen.blur * np.eye(len(seen.matrix))}
            )
            unsure = abs(self._average(wider) - once) + gain * seen.blur * abs(once)
        truth = float(self.subject.truth)
        sizes = UNIT * max(abs(truth), abs(once)) / (1 - seen.radius)
        return _Point(h, once - truth, unsure + 64 * sizes, seen)

    def _average(self, seen: OneStepMap) -> float:
        """E phi under the invariant law."""
        n, dim = len(seen.still), self.subject.target.dim
        spreads, centre = self.setting.spreads, self.setting.law[0]
        mean = centre + spreads * np.linalg.solve(np.eye(n) - seen.matrix, seen.still)
        covariance = solve_discrete_lyapunov(seen.matrix, seen.covariance) * np.outer(spreads, spreads)
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        nodes, weights = normal_cubature(n, self.subject.observable.degree | 1)
        at = mean + nodes @ root.T
        return float(
            weights
            @ self.subject.observable(
                at[:, :dim], at[:, dim : 2 * dim] if "p" in self.setting.dynamics.state else None
            )
        )

    def or_rounding(self, judgement: Judgement, size: float, scale: float) -> Judgement:
        """The judgement, made inconclusive if rounding to float32 within the step is as large as the bias."""
        possible = self.rows.operations * 2.0**-24 * scale
        if not self.rows.narrow or size > possible:
            return judgement
        return Judgement(
            "inconclusive",
            False,
            f"{judgement.reason}; but it is {size:.2g}, and the step's float32 roundings may do as much as {possible:.2g}: "
            "see the check dtype",
        )


def _by_its_defect(question: Question, reader: _Reader) -> Evidence:
    """Evidence for a step that is not affine: the change of the posterior's moments in one step, as h falls."""
    subject = cast(TorchSubject, question.subject)
    prediction = question.prediction
    assert prediction.exponent is not None
    steps = subject.configuration.sweep.steps or [subject.step]
    tried: Tried = try_setting(
        subject.scheme,
        reader.setting,
        int(prediction.exponent),
        flow=False,
        top=min(max(steps), 1 / reader.setting.rate),
        gradient=reader.gradient,
    )
    reason = (
        tried.finding
        or f"means and covariances are right to h^{prediction.exponent}; those of the posterior are those of the chain"
    )
    verdict = tried.verdict
    if verdict == "conforms" and tried.bend is not None and tried.bend >= FAR:
        # The step bends only at states so rare that an integral over the posterior does not show them.
        verdict, reason = "inconclusive", f"{reason}; see the check settings"
    return question.answered(
        method="quadrature",
        judgement=Judgement(verdict, False, reason),
        certificate={
            "steps": list(tried.steps),
            "read": "E f(X_1) - E f(X_0), X_0 from the posterior, for coordinates, their products, sines and cosines",
            "limits": limits(subject.target.dim),
        },
    )


def _refuse(subject: TorchSubject) -> None:
    gradient = subject.configuration.gradient
    if not subject.target.quadratic:
        raise _NotReadError(
            f"the potential of target.name={subject.configuration.target.name!r} is not quadratic"
        )
    if gradient.estimator.noisy or gradient.clip is not None:
        raise _NotReadError(f"gradient.kind={gradient.kind!r}: it is read under full gradients alone")


__all__ = ["black_box_bias"]
