"""Check: does autograd's gradient of a user's own density agree with differences of its values?

Differences are the only second derivative available for torch code: nothing else differentiates it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from sgverify.checks.question import Question
from sgverify.errors import DefinitionError
from sgverify.evidence import EVERY, Evidence, tried
from sgverify.rates.verdict import Judgement
from sgverify.samplers.own.functions import gradients_by_datum
from sgverify.subject.subject import Subject
from sgverify.targets import Target

STEPS = (2.0**-8, 2.0**-9, 2.0**-10)
"""The steps of the central differences, in standard deviations; the error falls fourfold from one to the next."""

SHARE = 1e-3
"""The tolerated disagreement, as a share of the magnitudes of all terms of the gradient.

A kink near the state changes a difference by as much, and mistakes in a gradient are larger.
"""

COORDINATES = 3
"""The number of single coordinates among the directions; one more direction combines all coordinates."""

LARGEST = 5000
"""The largest number of data that are visited; of a larger data set, the first ones are."""

PLACES = (0.7, -1.3)
"""The states at which gradients are compared: these multiples of the posterior's standard deviations from its mean.

Odd coordinates are shifted by half as much.
"""

_MARGIN = 10.0


def check_own_gradient(question: Question) -> Evidence:
    """Along each coordinate and one direction of all, autograd's slope of the log density is that of its values.

    Cannot see: whether the density is the posterior that was meant, and mistakes at states other than the few that are tried.
    """
    subject = question.subject
    if not subject.scheme.gradients:
        return question.unanswered("a step asks for no gradient", "not-applicable")
    scope = question.scope(states=tried(f"{len(PLACES)} states"), steps=EVERY, gradients=EVERY)
    certificate = {"states": [theta.tolist() for theta in _states(subject)]}
    try:
        defect = gradient_defect(subject)
    except DefinitionError as error:
        return question.unanswered(f"the density cannot be evaluated: {error}")
    if defect is not None:
        return question.evidence(Judgement("violates", False, defect), certificate=certificate, scope=scope)
    reason = (
        f"autograd agrees with differences at {len(PLACES)} states; its gradient is the slope of the values of one's own code, to "
        "0.1 %; whether the code is the posterior that was meant is not asked"
    )
    return question.evidence(Judgement("conforms", False, reason), certificate=certificate, scope=scope)


def gradient_defect(subject: Subject) -> str | None:
    """A sentence about a direction along which autograd and differences disagree at every state; None if there is none.

    A central difference with step s has the error s^2 U'''/6, estimated from the last two steps, plus the rounding of U
    divided by s. A kink of U spoils the difference at one state; a lost or invented term of the gradient shows at all states.
    """
    target = subject.target
    if target.data is not None and target.size is not None and target.size > LARGEST:
        target = replace(target, data=target.data[:LARGEST])
    spread = subject.target.spread_float64(subject.configuration.temperature)
    gradients = [(theta, *gradients_by_datum(target, theta)) for theta in _states(subject)]
    for part, energy in _parts(target):
        for direction in _directions(spread):
            wrong = []
            for theta, prior, data in gradients:
                found = float((data.sum(0) if part == "likelihood" else prior) @ direction)
                size = float((np.abs(prior) + np.abs(data).sum(0)) @ np.abs(direction))
                value, error = _difference(energy, theta, direction)
                if not abs(found - value) <= _MARGIN * error + SHARE * size:
                    wrong.append((theta, found, value))
            if len(wrong) == len(gradients):
                theta, found, value = wrong[0]
                return (
                    f"slope of the log {part} {-value:.4g}, autograd {-found:.4g}; the values of the log {part} have the slope "
                    f"{-value:.8g} at theta={theta.tolist()[:COORDINATES]} along "
                    f"{(direction / spread).tolist()[:COORDINATES]} standard deviations, and autograd says {-found:.8g}"
                )
    return None


def _states(subject: Subject) -> list[np.ndarray]:
    """The states theta, each of shape (d,), at which gradients are compared."""
    shares = np.where(np.arange(subject.target.dim) % 2, 0.5, 1.0)
    temperature = subject.configuration.temperature
    return [subject.target.at_deviations_float64(factor * shares, temperature) for factor in PLACES]


def _parts(target: Target) -> Iterator[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
    data, likelihood = target.data, target.likelihood
    yield ("prior" if data is not None else "density"), target.prior
    if data is not None and likelihood is not None:
        yield "likelihood", lambda points: np.asarray(likelihood(points[:, None, :], data)).sum(-1)


def _directions(spread: np.ndarray) -> list[np.ndarray]:
    axes = list(np.diag(spread)[:COORDINATES])
    return axes if len(spread) == 1 else [*axes, spread * np.where(np.arange(len(spread)) % 2, -1.0, 1.0)]


def _difference(
    energy: Callable[[np.ndarray], np.ndarray], theta: np.ndarray, direction: np.ndarray
) -> tuple[float, float]:
    """The derivative of U at theta, shape (d,), along a direction, shape (d,), and a bound of its error."""
    shifts = np.array([sign * step for step in STEPS for sign in (1.0, -1.0)])
    values = energy(theta + shifts[:, None] * direction).reshape(-1, 2)
    found = (values[:, 0] - values[:, 1]) / (2 * np.array(STEPS))
    rounding = 2.0**-44 * float(np.abs(values).max()) / STEPS[-1]
    return float(found[-1]), abs(float(found[-1] - found[-2])) + rounding
