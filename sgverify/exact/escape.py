"""Whether a step without noise carries chains off to infinity that strayed far enough: then the chain is transient.

Where the drift grows faster than the state, an explicit step overshoots by more than it started with beyond some distance,
whatever the step size (Roberts and Tweedie 1996, theorem 3.2; Hutzenthaler, Jentzen, Kloeden 2011). Normal noise reaches every
distance in the end, so that such a chain has no invariant law: for exponentially long it has a quasi-stationary one. Starts are
followed in any dimension, along the axes and the diagonal, at rest where there is a momentum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sgverify.exact.long_double import LongDouble, LongDoubleGradient, step_in_long_double
from sgverify.exact.transfer.hermite import EXTENDED
from sgverify.schemes import Scheme
from sgverify.targets import Target
from sgverify.targets.metric import CoordinateMetric
from sgverify.targets.root_matrix import MatrixMetric

DOUBLINGS = 24
"""Starts are tried to 2^24 = 1.7e7 spreads from the mean: a cubic drift outruns steps down to 1e-14 of its time scale there."""

AXES = 3
"""Coordinates along which starts are tried, and the diagonal."""

GROWING = 1.1
"""Times linear growth of the gradient over the last four doublings that are asked for; below it no orbit is followed."""

STEPS, GONE = 20, 100.0
"""A chain that is 100 times as far out within 20 steps may be on its way: from twice the edge it takes a few."""

ORBIT, FAR = 300, 1e30
"""It is, where it is 1e30 times as far out: x -> c x^q with q = 1.1 takes 30 steps to get there from a hundredfold.

What an exponential force has thrown out comes back.
"""


@dataclass(frozen=True)
class DriftEscape:
    """That chains escape at step size `step` from `distance` on, the first start that does, from the mean."""

    step: float
    distance: float

    def __str__(self) -> str:
        return (
            f"escape: at h={self.step:.3g} a chain that starts {self.distance:.3g} from the mean is carried off to infinity "
            "without any noise: the drift outruns the step, and the chain is transient"
        )


def drift_escape(
    scheme: Scheme,
    target: Target,
    parameters: Mapping[str, float],
    metric: CoordinateMetric | MatrixMetric,
    step: float,
    temperature: float,
) -> DriftEscape | None:
    """The nearest of the starts from which the step without noise diverges; None where all come back or stay."""
    centre = np.asarray(target.location_float64(temperature), dtype=float)
    spread = float(np.max(target.spread_float64(temperature)))
    ways = [np.eye(target.dim)[i] for i in range(min(target.dim, AXES))]
    if target.dim > 1:
        ways.append(np.ones(target.dim) / np.sqrt(target.dim))
    directions = np.array([sign * way for way in ways for sign in (-1.0, 1.0)])
    outermost = centre + directions * spread * 2.0**DOUBLINGS
    gradient = LongDoubleGradient(target)
    with np.errstate(all="ignore"):
        slopes = [
            np.abs(gradient(LongDouble(np.asarray(theta, dtype=EXTENDED))).value).max(1)
            for theta in (centre + (outermost - centre) / 2**4, outermost)
        ]
        # Where it is infinite, the gradient has outgrown every power.
        tame = np.isfinite(slopes[1]) & (slopes[1] <= 2**4 * GROWING * slopes[0])
        directions = directions[~tame]
    if not len(directions):
        return None
    distances = np.sort(spread * 2.0 ** np.arange(-2, DOUBLINGS + 1))

    def gone(offsets: np.ndarray, bounds: np.ndarray, steps: int) -> np.ndarray:
        return _gone(scheme, target, parameters, metric, step, centre, offsets, bounds, steps)

    tried = directions[:, None, :] * distances[None, :, None]
    far = gone(tried.reshape(-1, target.dim), GONE * np.tile(distances, len(directions)), STEPS)
    far = far.reshape(len(directions), len(distances))
    if not far.any():
        return None
    first = far.argmax(1)[far.any(1)]
    nearest = directions[far.any(1)] * distances[first][:, None]
    found = gone(nearest, FAR * (1 + distances[first]), ORBIT)
    return DriftEscape(step, float(distances[first][found].min())) if found.any() else None


def _gone(
    scheme: Scheme,
    target: Target,
    parameters: Mapping[str, float],
    metric: CoordinateMetric | MatrixMetric,
    step: float,
    centre: np.ndarray,
    offsets: np.ndarray,
    bounds: np.ndarray,
    steps: int,
) -> np.ndarray:
    """Whether |theta - centre| exceeds its bound within the steps. Shapes (n, d), (n,) -> (n,)."""
    gradient = LongDoubleGradient(target)
    alive = np.arange(len(offsets))
    result = np.zeros(len(offsets), dtype=bool)
    state = [centre + offsets, *(np.zeros_like(offsets) for _ in list(scheme.state)[1:])]
    for _ in range(steps):
        draws = [np.zeros_like(state[0]) for _ in range(scheme.draws)]
        state = step_in_long_double(
            scheme,
            state,
            draws,
            h=step,
            gradient=gradient,
            dim=target.dim,
            metric=metric,
            parameters=parameters,
        )
        with np.errstate(all="ignore"):
            away = np.abs(state[0] - centre).max(1)
            lost = ~(away < bounds[alive])
            home = ~lost & (away < np.abs(offsets[alive]).max(1) / 2) & (len(state) == 1)
        result[alive[lost]] = True
        keep = ~(lost | home)
        alive, state = alive[keep], [value[keep] for value in state]
        if not len(alive):
            break
    return result


__all__ = ["DriftEscape", "drift_escape"]
