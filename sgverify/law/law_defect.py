"""By how much does one step change the law that it should leave invariant?

The defect E f(X_1) - E f(X_0), with X_0 from that law, is computed for steps that are not affine.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from sgverify.law.one_step_map import (
    CERTAIN,
    POINTS_ONE_BY_ONE,
    SCRAMBLES,
    normal_points,
    read_one_step,
)
from sgverify.law.step_rows import StepRows
from sgverify.rates.powers import ErrorTrend, judge_errors

TURN = 0.1
"""A power of h counts if it is still seen at the smallest step, or if its slope has changed by at most this much since the
larger steps."""

LENGTH = 1 / 64
"""The length of the differences that give the linear part. The linear part serves as a control variate, best at small states,
where the step is nearly linear."""

POINTS, MORE_POINTS = 1 << 9, 1 << 14
"""The points of each scramble if rows go through the code together; the larger number is used if the smaller decides nothing."""

GRADED, AWAY, UNIT = 1 / 4, (1e-8, 6.0), 2.0**-40
"""The share of the finer points that lie evenly in the logarithm of their distance from mean or 0; between which distances, in
spreads; and the least probability."""

WAVES = (1.0, 2.0)
"""The frequencies of the bounded test functions, per spread, the second the double of the first: they detect a law of another shape
with the right moments."""

FLAT = (1 / 6, -4 / 6)
"""cos(2x)/6 - 4 cos(x)/6 has no curvature at 0, the mean: it does not see the diffusion there, where a step that divides by the
size of its gradient moves furthest, and where a quadrature is the least accurate. Six times its derivative, 4 sin x - 2 sin 2x, is
4 sin x (1 - cos x), which is 0 or has the sign of x up to pi spreads: a diffusion that falls, or rises, to both sides of the mean
is still seen. The shares add up to less than 1, so that its error is never the largest one."""

BETTER = 1 / 4
"""A regression takes the place of the linear part if it leaves less than this share of its mean square."""

FULL = 8
"""With this many times more points than columns, which are independent then, a regression is solved by its normal equations."""

Affine = tuple[np.ndarray, np.ndarray, np.ndarray]
"""A linear step x -> still + matrix x + noise z, in units of the spreads."""

MOST_PAIRED = 8
"""The most coordinates for which every pair gives a test function; of more coordinates only neighbours are paired."""


def law_defect(rows: StepRows, h: float, *, fine: bool = False) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """E f(X_1) - E f(X_0), X_0 from the stationary law, bounds of the errors, and the names of the f.

    The test functions f are the coordinates in natural units, their products in pairs, sines and cosines of each, and of few
    coordinates a cosine that is flat at the mean (`FLAT`). A method
    of weak order K has a defect of order h^(K+1); a defect of order h means a law that is off by a constant. The expectation
    for a linear step L is exact, and f(X_1) - f(L) is integrated by randomised quasi-Monte Carlo. L is the step's linear part, if
    the step is linear except in the tails; if it bends at its mean, the regression of X_1 on state and draws over another
    scramble, whose points are independent: for each L the integral is unbiased. With `fine`, some of the points are drawn to the
    mean and to 0 in the first coordinate, and weighted (`_graded`).
    """
    n, m = len(rows.setting.spreads), rows.draws(h)
    linear = read_one_step(rows, h, length=LENGTH, probed=False)
    covariance = rows.setting.correlation
    root = np.linalg.cholesky(covariance)
    count = (MORE_POINTS if fine else POINTS) if rows.together else POINTS_ONE_BY_ONE
    centres: tuple[float, ...] = ()
    if fine:
        zero = -float(rows.setting.law[0][0] / rows.setting.spreads[0])
        centres = (0.0, zero) if abs(zero) < AWAY[1] else (0.0,)
    scrambles, weights = zip(
        *(_graded(n + m, seed, count, centres) for seed in range(SCRAMBLES)), strict=True
    )
    asked = [(points[:, :n] @ root.T, points[:, n:]) for points in scrambles]
    moved = rows.parts(asked, h)
    controls = _controls((linear.still, linear.matrix, linear.noise), asked, moved)
    found = [
        _of_normal(still, matrix @ covariance @ matrix.T + noise @ noise.T)
        + weight @ (_values(after) - _values(still + x @ matrix.T + z @ noise.T)) / count
        for (x, z), weight, after, (still, matrix, noise) in zip(asked, weights, moved, controls, strict=True)
    ]
    mean = np.mean(found, axis=0) - _of_normal(np.zeros(n), covariance)
    rounding = 64 * rows.rounding(6 * np.ones((1, n))) / LENGTH
    return (
        mean,
        CERTAIN * np.std(found, axis=0, ddof=1) / SCRAMBLES**0.5 + rounding,
        _names(rows.setting.names),
    )


@lru_cache(maxsize=2 * SCRAMBLES)
def _graded(dim: int, seed: int, count: int, centres: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Normal points, some of them log-uniform about the centres in their first coordinate, and the weights that are due to each.

    A step may have a feature as narrow as a power of h, which points of the law itself do not meet at small h.
    """
    points = normal_points(dim, seed, count)
    if not centres:
        return points, np.ones(count)
    uniform = ndtr(points[:, 0]) / (1 - GRADED)
    share, which = np.modf(2 * len(centres) * np.clip((uniform - 1) * (1 - GRADED) / GRADED, 0.0, 1 - UNIT))
    narrow, wide = AWAY
    away = narrow * (wide / narrow) ** share * np.where(which % 2, 1, -1)
    drawn = ndtri(np.clip(uniform, UNIT, 1 - UNIT))
    first = np.where(uniform < 1, drawn, np.array(centres)[which.astype(int) // 2] + away)
    own = np.exp(-(first**2) / 2) / (2 * np.pi) ** 0.5
    apart = np.abs(first[:, None] - np.array(centres))
    density = (((narrow < apart) & (apart < wide)) / apart).sum(axis=1) / (
        2 * len(centres) * np.log(wide / narrow)
    )
    return np.column_stack([first, points[:, 1:]]), own / ((1 - GRADED) * own + GRADED * density)


def _controls(
    linear: Affine, asked: list[tuple[np.ndarray, np.ndarray]], moved: list[np.ndarray]
) -> list[Affine]:
    """For each scramble the linear step that is integrated exactly: the linear part, or the regression over the scramble before."""
    fits = []
    for (x, z), after in zip(asked, moved, strict=True):
        given = np.hstack([np.ones((len(x), 1)), x, z])
        if len(given) > FULL * given.shape[1]:
            parts = np.linalg.solve(given.T @ given, given.T @ after).T
        else:
            parts = np.linalg.lstsq(given, after, rcond=None)[0].T
        fits.append((parts[:, 0], parts[:, 1 : 1 + x.shape[1]], parts[:, 1 + x.shape[1] :]))
    fits = [fits[-1], *fits[:-1]]

    def left(controls: list[Affine]) -> float:
        return sum(
            float(np.mean((after - still - x @ matrix.T - z @ noise.T) ** 2))
            for (x, z), after, (still, matrix, noise) in zip(asked, moved, controls, strict=True)
        )

    usual = [linear] * len(asked)
    return fits if left(fits) < BETTER * left(usual) else usual


def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    i, j = np.triu_indices(n)
    near = j - i < (n if n <= MOST_PAIRED else 2)
    return i[near], j[near]


def _waves(n: int) -> tuple[float, ...]:
    return WAVES if n <= MOST_PAIRED else WAVES[:1]


def _values(x: np.ndarray) -> np.ndarray:
    """The values of all test functions at rows of states, shape (rows, functions)."""
    i, j = _pairs(x.shape[1])
    sine, cosine = np.sin(x), np.cos(x)
    waves = [sine, cosine, 2 * sine * cosine, 1 - 2 * sine**2][: 2 * len(_waves(x.shape[1]))]
    return np.hstack([x, x[:, i] * x[:, j], *waves, *_flat(waves)])


def _of_normal(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """E f of all test functions under N(mean, covariance), by E exp(i w X) = exp(i w m - w^2 v/2)."""
    i, j = _pairs(len(mean))
    v = np.diag(covariance)
    waves = [
        np.exp(-(wave**2) * v / 2) * part(wave * mean) for wave in _waves(len(v)) for part in (np.sin, np.cos)
    ]
    return np.concatenate([mean, covariance[i, j] + mean[i] * mean[j], *waves, *_flat(waves)])


def _flat(waves: list[np.ndarray]) -> list[np.ndarray]:
    """The flat cosine, where both waves are there: the sines and cosines of frequency 1, then those of frequency 2."""
    return [FLAT[0] * waves[3] + FLAT[1] * waves[1]] if len(waves) == 4 else []


def _names(names: tuple[str, ...]) -> list[str]:
    i, j = _pairs(len(names))
    products = [f"{names[a]}^2" if a == b else f"{names[a]} {names[b]}" for a, b in zip(i, j, strict=True)]
    waves = [
        f"{part}({wave:g} {name})" for wave in _waves(len(names)) for part in ("sin", "cos") for name in names
    ]
    flat = [f"(cos(2 {name}) - 4 cos({name}))/6" for name in names if len(_waves(len(names))) > 1]
    return [*names, *products, *waves, *flat]


def slowest_change(times: np.ndarray, errors: np.ndarray, bounds: np.ndarray, q: int) -> ErrorTrend | None:
    """The moment with the largest change among those that fall slower than h^q; each moment has its own bound.

    Where that one turns, one that falls steadily down to smaller steps takes its place.
    """
    found = [judge_errors(times, errors[:, k : k + 1], bounds[:, k], q) for k in range(errors.shape[1])]
    slow = [replace(trend, entry=k) for k, trend in enumerate(found) if trend.verdict == "slow"]
    if not slow:
        return None

    def size(trend: ErrorTrend) -> float:
        return float(abs(errors[trend.index, trend.entry]))

    worst = max(slow, key=size)
    # A term that only a fit shows has no turn: of integrals, each with a noise of its own, it is no evidence.
    steady = [trend for trend in slow if 0 < trend.turn <= TURN and trend.index > worst.index]
    return max(steady, key=size) if worst.turn > TURN and steady else worst
