"""Orbits from far-out starts: whether a step carries chains from there to infinity, so that the chain is transient.

Where the drift grows faster than the state, an explicit step overshoots beyond some distance by more than its start,
whatever the step size (Roberts and Tweedie 1996, theorem 3.2; Hutzenthaler, Jentzen, Kloeden 2011). The same holds where a
thermostat multiplies the momentum by 1 - h xi, on a Gaussian too. Normal noise reaches every distance in the end, so that such
a chain has no invariant law, only a quasi-stationary one for an exponentially long time. Starts are followed in any dimension,
one state variable far out at a time, with a realisation of the noise: far out the noise is negligible, and near the mean a
thermostat without noise would cool down. Finitely many starts are followed: an answer without escape proves nothing, and
names the starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sgverify.exact.numbers.quadrature import EXTENDED
from sgverify.exact.readings.long_double import (
    LongDouble,
    LongDoubleGradient,
    start_in_long_double,
    step_in_long_double,
)
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import FullGradientIngredient, GradientIngredient
from sgverify.targets import Target
from sgverify.targets.metric import CoordinateMetric, MatrixMetric
from sgverify.targets.points import gradient_at

Move = Callable[[list[np.ndarray]], list[np.ndarray]]
"""One step of many states; shapes (n, d) or (n, 1), one array for each state variable."""

NEAREST, DOUBLINGS = -2, 24
"""Starts are tried to 2^24 = 1.7e7 spreads from the mean: a cubic drift outruns steps down to 1e-14 of its time scale there."""

AXES = 8
"""The number of coordinates along which starts are tried, beside the diagonal."""

FEW = 8
"""Up to so many coordinates the gradient is that of Taylor polynomials, one for each coordinate."""

STEPS, GONE = 20, 100.0
"""A chain that is 100 times as far out within 20 steps is suspected of escape: from twice the edge it takes a few steps."""

ORBIT, FAR = 300, 1e30
"""A suspected chain escapes where it is 1e30 times as far out within ORBIT steps: x -> c x^q with q = 1.1 takes 30 steps.

Only the nearest suspected start of each direction is tested: a chain thrown far out by an exponential force may come back.
"""

TENFOLD, RUN = 10.0, 3
"""A chain from any start escapes as well where RUN steps in a row each take it TENFOLD as far.

An exponential makes one such step: exp(-xi h) p ends where h p^2 ~ -xi, before the next one.
"""

SEED = 20_150_618
"""The seed of the noise, so that the same starts always have the same orbits."""

SETTING_OFF = 3
"""The first steps, in which a start at rest may stay; a chain that then moves outwards in each of `ORBIT` steps drifts off.

Only the outermost start of each direction is tested: a force that points outwards there, or a friction that falls without
end, does so from there on. The test is skipped where `ORBIT` steps are so short a time that a rotation would look alike.
"""

REALISATIONS = 3
"""Realisations of the noise for such a start: where forces are weak, a momentum that remembers its noise for longer than
`ORBIT` steps keeps its sign for all of them once in twenty times, and takes the chain outwards or back by chance.
"""


@dataclass(frozen=True)
class Origin:
    """The centre of each state variable under the target, shape (d,) or (1,), and its spread."""

    names: tuple[str, ...]
    centres: tuple[np.ndarray, ...] = field(repr=False)
    spreads: tuple[float, ...]


@dataclass(frozen=True)
class Orbits:
    """The orbits that were followed at step size `step`: from `starts` starts, one of `names` far out at a time.

    `gone` of them go to infinity, the nearest from a `distance` to the mean of `along`.
    """

    step: float
    names: tuple[str, ...]
    starts: int
    gone: int = 0
    distance: float = 0.0
    along: str = ""

    @property
    def followed(self) -> str:
        """A sentence that says which orbits were followed."""
        return (
            f"{self.starts} starts, {' or '.join(self.names)} at 2^{NEAREST} to 2^{DOUBLINGS} standard deviations from its mean, "
            f"over {STEPS} to {ORBIT} steps of h={self.step:.3g}"
        )

    def __str__(self) -> str:
        if not self.gone:
            return f"none of {self.followed}, went to infinity"
        return (
            f"at h={self.step:.3g} the chain is transient: from {self.distance:.3g} beyond the mean of {self.along} the drift "
            f"carries it to infinity (not proved, seen in {self.gone} of {self.followed})"
        )


def followed_orbits(
    move: Move, origin: Origin, step: float, begin: Move | None = None, *, long_enough: bool = True
) -> Orbits:
    """Follow starts in each state variable of `origin`, the others at rest or a spread off, and see which go to infinity.

    `begin` adds the memory to states of the dynamics. `long_enough`: whether `ORBIT` steps are many time scales.
    """
    gone: list[np.ndarray] = []
    distances: list[np.ndarray] = []
    for k, spread in enumerate(origin.spreads):
        ways = _ways(len(origin.centres[k]))
        radii = spread * 2.0 ** np.arange(NEAREST, DOUBLINGS + 1)
        # From theta far out the rest begins at rest; a thermostat is seen to act where something moves.
        offsets = [
            np.full_like(centre, (k > 0) * s)
            for centre, s in zip(origin.centres, origin.spreads, strict=True)
        ]
        tried = (ways[:, None, :] * radii[None, :, None]).reshape(-1, ways.shape[1])
        starts = [
            centre + (tried if i == k else np.broadcast_to(offsets[i], (len(tried), len(centre))))
            for i, centre in enumerate(origin.centres)
        ]
        starts = begin(starts) if begin else starts
        sizes = np.tile(radii, len(ways)) / spread
        left, fled = _follow(move, origin, starts, sizes, GONE, STEPS)
        first = _first(left.reshape(len(ways), -1))
        if len(first):
            nearest = [value[first] for value in starts]
            reached, _ = _follow(move, origin, nearest, 1 + sizes[first], FAR, ORBIT)
            fled[first] |= reached
        last = np.arange(len(radii) - 1, len(tried), len(radii))
        last = last[~(left | fled)[last]]
        for _ in range(REALISATIONS if long_enough else 0):
            if len(last):
                last = last[_outwards(move, [value[last] for value in starts], origin.centres[k], k)]
        if long_enough:
            fled[last] = True
        gone.append(fled)
        distances.append(np.where(fled, np.tile(radii, len(ways)), np.inf))
    names, total = origin.names, sum(len(fled) for fled in gone)
    count = int(sum(fled.sum() for fled in gone))
    if not count:
        return Orbits(step, names, total)
    nearest_in = [
        float((away / spread).min()) for away, spread in zip(distances, origin.spreads, strict=True)
    ]
    k = int(np.argmin(nearest_in))
    return Orbits(step, names, total, count, float(distances[k].min()), names[k])


def step_of_many(
    scheme: Scheme,
    target: Target,
    parameters: Mapping[str, float],
    metric: CoordinateMetric | MatrixMetric,
    step: float,
    clip: float | None = None,
) -> tuple[Move, Move]:
    """A definition's step on many states with the gradient on all data, and the start of its memory, its draws at 0.

    Normal draws replace draws of other laws, which have the same variance 1.
    """
    random = np.random.default_rng(SEED)
    gradient: GradientIngredient
    if target.quadratic and clip is None and not (scheme.census.parts or scheme.starts.parts):
        gradient = _linear_gradient(target)
    elif target.dim > FEW and clip is None:
        gradient = _ReverseGradient(target)
    else:
        gradient = LongDoubleGradient(target, clip=clip)
    given: dict[str, Any] = {"h": step, "gradient": gradient, "dim": target.dim, "metric": metric}

    def move(state: list[np.ndarray]) -> list[np.ndarray]:
        draws = random.standard_normal((scheme.draws, *np.shape(state[0])))
        return step_in_long_double(scheme, state, list(draws), parameters=parameters, **given)

    def begin(state: list[np.ndarray]) -> list[np.ndarray]:
        return start_in_long_double(scheme, state, parameters=parameters, **given)

    return move, begin


class _ReverseGradient(LongDoubleGradient):
    """The same gradient by the reverse mode, whose cost does not grow with the number of coordinates."""

    _last: tuple[np.ndarray, LongDouble] | None = None

    def evaluate(self, place: LongDouble, minibatch: int) -> LongDouble:
        """grad U at `place`, where a step often begins and the one before it ended. Shape (n, d) -> (n, d)."""
        if self._last is None or not np.array_equal(place.value, self._last[0]):
            self._last = place.value, super().evaluate(place, minibatch)
        return self._last[1]

    def prior(self, place: LongDouble) -> LongDouble:
        """The part of the prior. Shape (n, d) -> (n, d)."""
        return LongDouble(gradient_at(place.value, self._target.prior))

    def _at(
        self,
        theta: np.ndarray,
        data: np.ndarray | None,
        factor: Any = 1,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        target = self._target

        def at(states: np.ndarray) -> np.ndarray:
            rows = None if data is None else np.asarray(data, dtype=states.dtype)
            return gradient_at(states, target.prior, target.likelihood, rows, weights)

        # Long double takes ten times as long, and its further exponents are asked for far out alone.
        total = at(theta.astype(np.float64)).astype(theta.dtype)
        beyond = ~np.isfinite(total).all(-1)
        if beyond.any():
            total[beyond] = at(theta[beyond])
        return total


def _linear_gradient(target: Target) -> FullGradientIngredient:
    """The gradient of a quadratic potential, by its precision and mean alone."""
    precision = np.asarray(target.precision_float64(), dtype=EXTENDED)
    mean = np.asarray([float(x) for x in target.mean], dtype=EXTENDED)
    return FullGradientIngredient(
        lambda place: LongDouble((place.value - mean) @ precision),
        hessian=lambda place, vector: LongDouble(vector.value @ precision),
    )


def _ways(width: int) -> np.ndarray:
    """Unit vectors along the axes and the diagonal, both ways. Shape (m, width)."""
    ways = [np.eye(width)[i] for i in range(min(width, AXES))]
    if width > 1:
        ways.append(np.ones(width) / np.sqrt(width))
    return np.array([sign * way for way in ways for sign in (-1.0, 1.0)])


def _first(left: np.ndarray) -> np.ndarray:
    """The index, among all starts, of the nearest one that left, way by way. Shape (ways, radii) -> (m,)."""
    rows = np.flatnonzero(left.any(1))
    return rows * left.shape[1] + left.argmax(1)[rows]


def _follow(
    move: Move, origin: Origin, starts: Sequence[np.ndarray], sizes: np.ndarray, times: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Whether an orbit gets `times` as far out as it started, and whether it escapes by the criterion of `RUN` steps.

    Shapes (n,); `sizes` are the distances of the starts, in spreads.
    """
    alive = np.arange(len(sizes))
    left, fled = np.zeros(len(sizes), dtype=bool), np.zeros(len(sizes), dtype=bool)
    run = np.zeros(len(sizes), dtype=int)
    state, before = list(starts), np.asarray(sizes, dtype=EXTENDED)
    single = len(starts) == 1
    # A memory begins at its own start, from which its distance is measured.
    known = len(origin.centres)
    units = [(1 + np.abs(value).max(1)) / sizes for value in starts[known:]]
    for _ in range(steps):
        state = move(state)
        with np.errstate(all="ignore"):
            parts = [
                (np.abs(value - centre) / spread).max(1)
                for value, centre, spread in zip(state, origin.centres, origin.spreads, strict=False)
            ]
            parts += [np.abs(v).max(1) / unit[alive] for v, unit in zip(state[known:], units, strict=True)]
            away = np.max(parts, axis=0)
            finite = np.isfinite(away)
            run[alive] = np.where(finite & (away >= TENFOLD * before[alive]), run[alive] + 1, 0)
            left[alive] |= ~(away < times * sizes[alive])
            fled[alive] |= finite & (away >= FAR * (1 + sizes[alive])) & (run[alive] >= RUN)
            home = single & (away < sizes[alive] / 2) & ~left[alive]
        before[alive] = away
        keep = finite & ~home & ~fled[alive]
        alive, state = alive[keep], [value[keep] for value in state]
        if not len(alive):
            break
    return left, fled


def _outwards(move: Move, starts: Sequence[np.ndarray], centre: np.ndarray, k: int) -> np.ndarray:
    """Whether the k-th state variable moves away from its centre in every step. Shape (n,)."""
    state, rows = list(starts), np.arange(len(starts[k]))
    before = np.linalg.norm((state[k] - centre).astype(EXTENDED), axis=1)
    for step in range(ORBIT):
        state = move(state)
        with np.errstate(all="ignore"):
            now = np.sqrt(((state[k] - centre) ** 2).sum(1))
            on = np.isfinite(now) & ((now > before) | ((step < SETTING_OFF) & (now == before)))
        rows, before, state = rows[on], now[on], [value[on] for value in state]
        if not len(rows):
            break
    return np.isin(np.arange(len(starts[k])), rows)
