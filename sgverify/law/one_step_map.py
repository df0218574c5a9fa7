"""Is one step of torch code affine at one setting and step size, and what are its map and its noise?"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.linalg import LinAlgWarning, solve_discrete_lyapunov
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from sgverify.errors import Unreached
from sgverify.evidence import tried
from sgverify.law.gaussian_setting import GaussianSetting
from sgverify.law.nodes import MemoryRangeError
from sgverify.law.step_rows import StepRows
from sgverify.samplers.intercepted.black_box import GradientFunction
from sgverify.schemes.torch_step import TorchStep

REACH = (0.5, 1.0, 3.0, 6.0)
"""The distances from the mean, in spreads of the law, at which states are tried; differences alone use 1."""

INTEGRATED = 4
"""The most draws (and one more than the most dimensions) for which product rules are made for the draws."""

STATES = tried(f"states out to {max(REACH):g} spreads")
"""How far an answer reaches that rests on a step which is affine there."""

LINE, FEW_ON_LINE, FEW_DIMENSIONS = 120, 12, 2
"""The states on a line out to the largest distance, where rows go through the code together, and where they go one by one: then in
few dimensions alone."""

NEAR = (0.3, 0.7, 1.4, 3.0)
"""The distances from the mean and from 0 in units of h and of sqrt(h): a step may have a feature as narrow as these."""

SINGLE = 16
"""The most coordinates for which each is tried alone at every distance; more coordinates are tried at the largest only."""

COMMON = (0.25, 0.5, 0.75, 1.25, 1.75)
"""The sizes of normal draws, of both signs, between which a step may jump (for instance by a uniform draw made of normals)."""

RARE = (2.5, 4.0, 6.0)
"""The sizes of rare normal draws, beyond those that random draws reach."""

CUT = 1e-4
"""The relative error of the effect of a rare draw beyond which draws count as cut. Rounding is smaller: the normal quantile of
1 - 1e-9 is accurate to 1e-7."""

WIDER = 1.5
"""States of the chain's own law are tried if it is wider than the stationary law by this factor."""

AFFINE = 1e-9
"""A step counts as affine if it agrees with its affine map at other points, up to this share of their movement."""

SCRAMBLES, POINTS, POINTS_ONE_BY_ONE = 8, 1 << 14, 1 << 6
"""The number of randomised Sobol' sequences for draws that enter a step nonlinearly, the points of each for one draw (an m-th
for m draws), and the points of each if rows go through the code one by one."""

CERTAIN = 10
"""The error bound of a mean over scrambles, in standard errors; Student's t with 7 degrees of freedom exceeds it with 2e-5."""


@dataclass(frozen=True)
class Law:
    """Mean and covariance of a chain's invariant law in natural units, and a bound of the error of every entry."""

    mean: np.ndarray
    covariance: np.ndarray
    bound: float

    @property
    def spreads(self) -> np.ndarray:
        """The standard deviation of each coordinate."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


@dataclass(frozen=True)
class OneStepMap:
    """X -> matrix X + still + noise in natural units about the mean; `covariance` is the noise's.

    `bend` is the smallest distance from the mean, in spreads, at which the step was found not to be affine (None if affine), and
    `where` describes that state. `rounding` bounds the errors of `matrix` and `still`; `blur` bounds the error of the
    covariance and, if draws enter nonlinearly, that of `still`. For a step that bends, both refer to its linear part.
    `noise`, shape (n, draws), is the effect of each of the step's numbers from 0 to 1: if draws enter linearly, the noise is
    `noise` times independent normal numbers, and `rounding` bounds its error too. `noise_bend` is the size of the smallest
    draws that were seen to enter nonlinearly.
    """

    matrix: np.ndarray
    still: np.ndarray
    covariance: np.ndarray
    rounding: float
    blur: float
    noise_bend: float | None
    bend: float | None
    where: str
    noise: np.ndarray

    @property
    def cut(self) -> bool:
        """Do all but rare draws enter linearly, so that draws beyond some size are treated differently?"""
        return self.noise_bend is not None and self.noise_bend >= RARE[0]

    @property
    def radius(self) -> float:
        """The spectral radius of the matrix."""
        return float(np.abs(np.linalg.eigvals(self.matrix)).max())

    @cached_property
    def law(self) -> Law:
        """The invariant law of a map that contracts: C = M C M^T + Q, with Q the covariance of the noise.

        With G the solution of G = M G M^T + I, errors of at most e in Q, and of at most d in the entries of M, change C by
        |G| (e + 4 d |C|) at most, to first order.
        """
        size = len(self.matrix)
        mean = np.linalg.solve(np.eye(size) - self.matrix, self.still)
        covariance = solve_discrete_lyapunov(self.matrix, self.covariance)
        gain = float(np.linalg.norm(solve_discrete_lyapunov(self.matrix, np.eye(size)), 2))
        largest = max(1.0, float(np.abs(covariance).sum(axis=1).max()), float(np.abs(mean).sum()))
        return Law(mean, covariance, gain * (self.blur + 4 * self.rounding * largest))


def read_one_step(
    rows: StepRows,
    h: float,
    *,
    length: float = 1.0,
    wide: np.ndarray | None = None,
    probed: bool = True,
    also: np.ndarray | None = None,
) -> OneStepMap:
    """The map, from differences of evaluations at unit vectors times `length`, tested at other states and draws.

    States out to 6 spreads are tested, in each coordinate and in all at once, of both signs, and on lines. `wide` are further
    spreads to test, such as those of the chain's own law; `also` holds further states. Without `probed`, only the linear part is
    computed. A step that has no value at some memory bends: a second moment, for one, is never below 0. What was read once is
    kept with the rows.
    """
    key = (h, length, probed, *(None if part is None else part.tobytes() for part in (wide, also)))
    if key not in rows.read:
        rows.read[key] = _read_or_bent(rows, h, length, wide, probed, also)
    found: OneStepMap = rows.read[key]
    return found


def read_in_its_law(
    rows: StepRows,
    h: float,
    *,
    also: np.ndarray | None = None,
    noisy: Callable[[OneStepMap], OneStepMap] = lambda seen: seen,
) -> OneStepMap:
    """The map, tested also at states of the chain's own law where it is wider; `noisy` adds further noise to what is read."""
    seen = noisy(read_one_step(rows, h, also=also))
    if seen.bend is not None or not seen.radius < 1:
        return seen
    wide = seen.law.spreads
    if not (wide > WIDER).any() or not np.isfinite(wide).all():
        return seen
    return noisy(read_one_step(rows, h, wide=np.maximum(wide, 1.0), also=also))


def rows_of_chain(
    step: TorchStep, setting: GaussianSetting, h: float, gradient: GradientFunction | None = None
) -> StepRows:
    """The step on a setting, each memory counted in its standard deviation under the chain's law at step size h, if it has one.

    A momentum buffer may be a millionth of theta; in units of its own no rounding is amplified.
    """
    rows = StepRows(step, setting, h, gradient)
    if not setting.memory:
        return rows
    seen = read_one_step(rows, h, probed=False)
    if seen.bend is not None or not seen.radius < 1:
        return rows
    with warnings.catch_warnings():
        # Of a matrix in unequal units; the magnitude is all that is needed.
        warnings.simplefilter("ignore", LinAlgWarning)
        units = (seen.law.spreads * setting.spreads)[setting.known :]
    if not (np.isfinite(units).all() and (units > 0).all()):
        return rows
    return StepRows(step, replace(setting, memory_units=tuple(units.tolist())), h, gradient)


def _read_or_bent(
    rows: StepRows, h: float, length: float, wide: np.ndarray | None, probed: bool, also: np.ndarray | None
) -> OneStepMap:
    try:
        return _read(rows, h, length, wide, probed, also)
    except MemoryRangeError:
        n = len(rows.setting.spreads)
    kept = ", ".join(item.name for item in rows.setting.memory)
    where = f"a memory ({kept}) about its start"
    return OneStepMap(np.eye(n), np.zeros(n), np.eye(n), 0.0, 0.0, None, 1.0, where, np.zeros((n, 0)))


def _read(
    rows: StepRows, h: float, length: float, wide: np.ndarray | None, probed: bool, also: np.ndarray | None
) -> OneStepMap:
    n, m = len(rows.setting.spreads), rows.draws(h)
    random = np.random.default_rng(0)
    unit = length * np.eye(n)
    # States and draws of all questions: together they are one call of the code.
    asked = [
        (np.vstack([np.zeros((1, n)), unit, np.zeros((m, n))]), np.vstack([np.zeros((n + 1, m)), np.eye(m)]))
    ]
    if probed:
        signs = np.sign(random.standard_normal((len(COMMON) + len(RARE), m)))
        kicks = np.array(COMMON + RARE)[:, None] * signs
        kicks = np.vstack([kicks[: len(COMMON)], -kicks])
        states, sizes = _probes(n, random)
        lines = _lines(rows, h, random)
        states, sizes = np.vstack([states, lines]), np.append(sizes, np.abs(lines).max(axis=1))
        if wide is not None:
            states, sizes = np.vstack([states, states * wide]), np.concatenate([sizes, sizes])
        if also is not None and len(also):
            states, sizes = np.vstack([states, also]), np.concatenate([sizes, np.abs(also).max(axis=1)])
        draws = random.standard_normal((len(states), m))
        asked += [(np.zeros((len(kicks), n)), kicks), (states, draws)]
    core, *others = rows.parts(asked, h)
    still, matrix, noise = core[0], (core[1 : n + 1] - core[0]).T / length, (core[n + 1 :] - core[0]).T
    off = 4 * rows.rounding(unit) / min(1.0, length)
    if not probed:
        return OneStepMap(matrix, still, noise @ noise.T, off, off, None, None, "", noise)

    kicked, moved = others
    bulk = 2 * len(COMMON)
    due = still + kicks @ noise.T
    apart = np.abs(kicked - due).max(axis=1)
    allowed = _tolerance(rows, due, np.zeros((1, n)))
    odd, tail = apart > allowed, 0.0
    if not odd[:bulk].any():
        # Rounding of the effect of rare draws is not a cut.
        small = apart <= CUT * np.abs(due).max(axis=1)
        rare = odd[bulk:] & small[bulk:]
        tail = float((apart[bulk:] * rare) @ (2 * ndtr(-np.array([1.0, *RARE[:-1]]))))
        odd[bulk:] &= ~rare
    linear, noise_bend = not odd.any(), None
    if not linear:
        noise_bend = float(([1.0] * bulk + list(RARE))[int(np.argmax(odd))])

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
    # If the step bends, mean and covariance of the noise are not used.
    if not linear and bend is None:
        still, covariance, error = _moments_of_noise(rows, h, n)
        blur = max(blur, error)
    return OneStepMap(matrix, still, covariance, off, blur, noise_bend, bend, where, noise)


def _tolerance(rows: StepRows, due: np.ndarray, states: np.ndarray) -> np.ndarray:
    return AFFINE * np.abs(due - states).max(axis=1) + 8 * rows.rounding(states)


def _probes(n: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The states to test, and the distance of each from the mean in its farthest coordinate, in spreads."""
    found, sizes = [], []
    for reach in REACH:
        signs = random.choice([-1.0, 1.0], (4, n))
        single = [np.eye(n), -np.eye(n)] if n <= SINGLE or reach == max(REACH) else []
        block = reach * np.vstack([*single, signs, np.ones((1, n)), -np.ones((1, n))])
        found.append(block)
        sizes.append(np.full(len(block), reach))
    return np.vstack(found), np.concatenate(sizes)


def _lines(rows: StepRows, h: float, random: np.random.Generator) -> np.ndarray:
    """States on a line along the first coordinate of each variable and along all of them: between these a step may have a feature.

    It may be as narrow as the step size, about the mean or 0: states lie there too. Memory stays at its start.
    """
    setting, reach = rows.setting, max(REACH)
    n, known = len(setting.spreads), setting.known
    if not rows.together and setting.dim > FEW_DIMENSIONS:
        return np.zeros((0, n))
    count = LINE if rows.together else FEW_ON_LINE
    even = np.linspace(-reach, reach, count, endpoint=False) + 2 * reach / count * random.random()
    firsts = np.cumsum([0, *setting.sizes[: len(setting.dynamics.shapes) - 1]])
    ways = [np.eye(n)[k] for k in firsts]
    if setting.dim > 1 and rows.together:
        ways.append((np.arange(n) < known).astype(float))
    found = []
    for way in ways:
        k = int(np.argmax(way))
        near = np.outer([h, h**0.5], NEAR if rows.together else NEAR[:2]).ravel() / setting.spreads[k]
        zero = -setting.law[0][k] / setting.spreads[k]
        places = np.concatenate([even, near, -near, zero + near, zero - near])
        found.append(np.outer(places[np.abs(places) <= reach], way))
    return np.vstack(found)


def _shown(rows: StepRows, state: np.ndarray) -> str:
    """The farthest coordinate of a state and its value in the user's units, as text."""
    setting = rows.setting
    k = int(np.argmax(np.abs(state)))
    return f"{setting.names[k]} = {setting.law[0][k] + setting.spreads[k] * state[k]:.3g}"


@lru_cache(maxsize=64)
def normal_points(dim: int, seed: int, count: int) -> np.ndarray:
    """Normal points from a scrambled Sobol' sequence through the normal quantiles, with their mirror images."""
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
        except Unreached:
            # No quadrature rule exists for these draws.
            pass
    count = 1 << int(np.log2(POINTS // m)) if rows.together else POINTS_ONE_BY_ONE
    drawn = [normal_points(m, seed, count) for seed in range(SCRAMBLES)]
    found = rows.parts([(np.zeros((count, n)), draws) for draws in drawn], h)
    means, seconds = [part.mean(axis=0) for part in found], [part.T @ part / len(part) for part in found]
    mean, second = np.mean(means, axis=0), np.mean(seconds, axis=0)
    spread = max(float(np.std(part, axis=0, ddof=1).max()) for part in (means, seconds))
    return mean, second - np.outer(mean, mean), CERTAIN * spread / SCRAMBLES**0.5
