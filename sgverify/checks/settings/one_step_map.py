"""One step of torch code at one setting and step size: its affine map and its noise, or where it is not affine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from sgverify.checks.settings.step_rows import StepRows
from sgverify.samplers.intercepted import BlackBoxError

REACH = (0.5, 1.0, 3.0, 6.0)
"""Spreads of the law at which states are tried; differences are taken at 1, where alone nothing bends."""

INTEGRATED = 4
"""Draws up to which rules that are made for them are multiplied, in fewer dimensions than that."""

SINGLE = 16
"""Coordinates up to which each is tried alone at every reach; of more, at the largest one."""

COMMON = (0.25, 0.5, 0.75, 1.25, 1.75)
"""Sizes of normal draws on both sides of which a draw made of a uniform one may jump, both signs."""

RARE = (2.5, 4.0, 6.0)
"""Sizes of normal draws beyond those that come by themselves."""

CUT = 1e-4
"""By what share of their effect rare draws are off where they are cut; the normal quantile of 1 - 1e-9 is known to 1e-7."""

AFFINE = 1e-9
"""A step is affine where it agrees with its affine map at other points to this share of what it moves them by."""

SCRAMBLES, POINTS, POINTS_ONE_BY_ONE = 8, 1 << 14, 1 << 6
"""Randomised Sobol' sequences that stand for draws which enter a step other than linearly, and the points of each: of one draw,
of m an m-th of it, and where rows go through the code one by one."""

CERTAIN = 10
"""Standard errors of a mean over the scrambles that count as its bound: Student's law of 7 degrees of freedom has 2e-5 beyond."""


@dataclass(frozen=True)
class OneStepMap:
    """X -> matrix X + still + noise in natural units about the mean; `covariance` is the noise's.

    `bend` is the fewest spreads at which a state was found where this is not so, None where there is none; `where` says it.
    `rounding` bounds what matrix and still are off by, `blur` the covariance and, where draws enter nonlinearly, still; where it
    bends, these are of the linear part alone.
    `noise_bend` is the size of the smallest draws that were seen to enter nonlinearly.
    """

    matrix: np.ndarray
    still: np.ndarray
    covariance: np.ndarray
    rounding: float
    blur: float
    noise_bend: float | None
    bend: float | None
    where: str

    @property
    def cut(self) -> bool:
        """Whether draws enter linearly but for rare ones: they are treated otherwise beyond a size."""
        return self.noise_bend is not None and self.noise_bend >= RARE[0]

    @property
    def radius(self) -> float:
        """The spectral radius of the matrix."""
        return float(np.abs(np.linalg.eigvals(self.matrix)).max())


def read_one_step(
    rows: StepRows,
    h: float,
    *,
    length: float = 1.0,
    wide: np.ndarray | None = None,
    probed: bool = True,
    also: np.ndarray | None = None,
) -> OneStepMap:
    """The map, from differences of evaluations at unit vectors times `length`, held against other states and draws.

    States are tried out to 6 spreads in each coordinate and in all at once, both signs; `wide` are the spreads where others
    than the natural ones are to be tried as well, those of the chain's own law. `also` holds states besides.
    Not `probed`, only the linear part is read.
    """
    n, m = len(rows.setting.spreads), rows.draws(h)
    random = np.random.default_rng(0)
    unit = length * np.eye(n)
    zero = np.zeros((1, n))
    core = rows(np.vstack([zero, unit, np.zeros((m, n))]), np.vstack([np.zeros((n + 1, m)), np.eye(m)]), h)
    still, matrix, noise = core[0], (core[1 : n + 1] - core[0]).T / length, (core[n + 1 :] - core[0]).T
    off = 4 * rows.rounding(unit) / min(1.0, length)
    if not probed:
        return OneStepMap(matrix, still, noise @ noise.T, off, off, None, None, "")

    signs = np.sign(random.standard_normal((len(COMMON) + len(RARE), m)))
    kicks = np.array(COMMON + RARE)[:, None] * signs
    kicks = np.vstack([kicks[: len(COMMON)], -kicks])
    bulk = 2 * len(COMMON)
    kicked = rows(np.zeros((len(kicks), n)), kicks, h)
    due = still + kicks @ noise.T
    apart = np.abs(kicked - due).max(axis=1)
    allowed = _tolerance(rows, due, np.zeros((1, n)))
    odd, tail = apart > allowed, 0.0
    if not odd[:bulk].any():
        # What rounding leaves of rare draws is no cut; it is as seldom as they are.
        small = apart <= CUT * np.abs(due).max(axis=1)
        rare = odd[bulk:] & small[bulk:]
        tail = float((apart[bulk:] * rare) @ (2 * ndtr(-np.array([1.0, *RARE[:-1]]))))
        odd[bulk:] &= ~rare
    linear, noise_bend = not odd.any(), None
    if not linear:
        noise_bend = float(([1.0] * bulk + list(RARE))[int(np.argmax(odd))])

    states, sizes = _probes(n, random)
    if wide is not None:
        states, sizes = np.vstack([states, states * wide]), np.concatenate([sizes, sizes])
    if also is not None and len(also):
        states, sizes = np.vstack([states, also]), np.concatenate([sizes, np.abs(also).max(axis=1)])
    draws = random.standard_normal((len(states), m))
    moved = rows(states, draws, h)
    from_mean = still + draws @ noise.T if linear else rows(np.zeros_like(states), draws, h)
    due = from_mean + states @ matrix.T
    bent = np.abs(moved - due).max(axis=1) > _tolerance(rows, due, states)
    bend, where = None, ""
    if bent.any():
        k = int(
            np.flatnonzero(bent)[np.argmin(sizes[bent])]
        )  # the first: one coordinate alone is away from the mean
        bend, where = float(sizes[k]), _shown(rows, states[k])
    covariance, blur = noise @ noise.T, 2 * off * max(1.0, float(np.abs(noise).sum(axis=0).max(initial=0.0)))
    blur += 2 * tail * max(1.0, float(np.abs(noise).sum(axis=0).max(initial=0.0)))
    # Where it bends nobody asks for them.
    if not linear and bend is None:
        still, covariance, error = _moments_of_noise(rows, h, n)
        blur = max(blur, error)
    return OneStepMap(matrix, still, covariance, off, blur, noise_bend, bend, where)


def _tolerance(rows: StepRows, due: np.ndarray, states: np.ndarray) -> np.ndarray:
    return AFFINE * np.abs(due - states).max(axis=1) + 8 * rows.rounding(states)


def _probes(n: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """States and how many spreads from the mean each is in the coordinate that is farthest."""
    found, sizes = [], []
    for reach in REACH:
        signs = random.choice([-1.0, 1.0], (4, n))
        single = [np.eye(n), -np.eye(n)] if n <= SINGLE or reach == max(REACH) else []
        block = reach * np.vstack([*single, signs, np.ones((1, n)), -np.ones((1, n))])
        found.append(block)
        sizes.append(np.full(len(block), reach))
    return np.vstack(found), np.concatenate(sizes)


def _shown(rows: StepRows, state: np.ndarray) -> str:
    """The coordinate that is farthest out, as a user sees it."""
    setting = rows.setting
    k = int(np.argmax(np.abs(state)))
    return f"{setting.names[k]} = {setting.law[0][k] + setting.spreads[k] * state[k]:.3g}"


@lru_cache(maxsize=64)
def normal_points(dim: int, seed: int, count: int) -> np.ndarray:
    """A scrambled Sobol' sequence through the normal quantiles, with its mirror image."""
    if dim == 0:
        return np.zeros((count, 0))
    uniform = qmc.Sobol(dim, scramble=True, seed=seed).random(count // 2)
    half = ndtri(np.clip(uniform, 2.0**-40, 1 - 2.0**-40))
    return np.vstack([half, -half])


def _moments_of_noise(rows: StepRows, h: float, n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean and covariance of a step from the mean over its draws, and a bound of their errors."""
    m = rows.draws(h)
    if m <= INTEGRATED and rows.setting.dim < INTEGRATED:
        try:
            return rows.integrated(h)
        except BlackBoxError:
            # No rule stands for these draws.
            pass
    means, seconds = [], []
    count = 1 << int(np.log2(POINTS // m)) if rows.together else POINTS_ONE_BY_ONE
    for seed in range(SCRAMBLES):
        moved = rows(np.zeros((count, n)), normal_points(m, seed, count), h)
        means.append(moved.mean(axis=0))
        seconds.append(moved.T @ moved / len(moved))
    mean, second = np.mean(means, axis=0), np.mean(seconds, axis=0)
    spread = max(float(np.std(part, axis=0, ddof=1).max()) for part in (means, seconds))
    return mean, second - np.outer(mean, mean), CERTAIN * spread / SCRAMBLES**0.5


__all__ = [
    "CERTAIN",
    "POINTS_ONE_BY_ONE",
    "RARE",
    "REACH",
    "SCRAMBLES",
    "OneStepMap",
    "normal_points",
    "read_one_step",
]
