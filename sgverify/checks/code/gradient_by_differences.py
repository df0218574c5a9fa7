"""Does autograd's gradient of a user's own potential agree with differences of its values?

Differences are the only second derivative available for torch code: nothing else differentiates it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sgverify.checks.code.gradient_cases import parts_at, states, visited
from sgverify.checks.subject.subject import Subject
from sgverify.targets import Target

STEPS = (2.0**-8, 2.0**-9, 2.0**-10)
"""The steps of the central differences, in standard deviations; the error falls fourfold from one to the next."""

SHARE = 1e-3
"""The tolerated disagreement, as a share of the magnitudes of all terms of the gradient.

A kink near the state changes a difference by as much, and mistakes in a gradient are larger.
"""

COORDINATES = 3
"""The number of single coordinates among the directions; one more direction combines all coordinates."""

_MARGIN = 10.0


def gradient_defect(subject: Subject) -> str | None:
    """A sentence about a direction along which autograd and differences disagree at every state; None if there is none.

    A central difference with step s has the error s^2 U'''/6, estimated from the last two steps, plus the rounding of U
    divided by s. A kink of U spoils the difference at one state; a lost or invented term of the gradient shows at all states.
    """
    target = visited(subject)
    plain = subject.configuration.gradient.model_copy(update={"scale": 1.0, "clip": None})
    spread = subject.target.spread_float64(subject.configuration.temperature)
    for part, energy in _parts(target):
        for direction in _directions(spread):
            wrong = []
            for theta in states(subject):
                parts = parts_at(target, theta, plain)
                gradient = parts.data.sum(0) if part == "likelihood" else parts.prior
                found = float(gradient @ direction)
                size = float(parts.size @ np.abs(direction))
                value, error = _difference(energy, theta, direction)
                if not abs(found - value) <= _MARGIN * error + SHARE * size:
                    wrong.append((theta, found, value))
            if len(wrong) == len(states(subject)):
                theta, found, value = wrong[0]
                return (
                    f"slope of the log {part} {-value:.4g}, autograd {-found:.4g}; the values of the log {part} have the slope "
                    f"{-value:.8g} at theta={theta.tolist()[:COORDINATES]} along "
                    f"{(direction / spread).tolist()[:COORDINATES]} standard deviations, and autograd says {-found:.8g}"
                )
    return None


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
