"""How far one step moves the law that it should leave: E f(X_1) - E f(X_0) under that law, for steps that are not affine."""

from __future__ import annotations

import numpy as np

from sgverify.checks.one_step_map import (
    CERTAIN,
    POINTS_ONE_BY_ONE,
    SCRAMBLES,
    normal_points,
    read_one_step,
)
from sgverify.checks.step_rows import StepRows

LENGTH = 1 / 64
"""Of the differences that give the linear part: it is a control, and best where the step is most nearly linear."""

POINTS, MORE_POINTS = 1 << 9, 1 << 14
"""Points of each scramble where rows go through the code together, and where these leave it open."""

WAVES = (1.0, 2.0)
"""Frequencies of the bounded test functions, per spread: a law with the right moments and another shape moves them."""

MOST_PAIRED = 8
"""Coordinates among which every pair is a test function; beyond, neighbours are."""


def law_defect(rows: StepRows, h: float, *, fine: bool = False) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """E f(X_1) - E f(X_0), X_0 from the stationary law, bounds of the errors, and the names of the f.

    f are the coordinates in natural units, their products in pairs, and sines and cosines of each. A method of weak order K
    has h^(K+1) here; what is h^1 times a constant changes the law by a constant. The step's linear part L is integrated
    exactly, f(X_1) - f(L) by randomised quasi-Monte Carlo: a step that is linear but in the tails has little left to integrate.
    """
    n, m = len(rows.setting.spreads), rows.draws(h)
    linear = read_one_step(rows, h, length=LENGTH, probed=False)
    still, *ends = rows(np.zeros((m + 1, n)), np.vstack([np.zeros((1, m)), np.eye(m)]), h)
    noise = (np.array(ends).reshape(m, n) - still).T
    covariance = rows.setting.law[1] / np.outer(rows.setting.spreads, rows.setting.spreads)
    root = np.linalg.cholesky(covariance)
    moved_covariance = linear.matrix @ covariance @ linear.matrix.T + noise @ noise.T
    exact = _of_normal(still, moved_covariance) - _of_normal(np.zeros(n), covariance)
    count = (MORE_POINTS if fine else POINTS) if rows.together else POINTS_ONE_BY_ONE
    found = []
    for seed in range(SCRAMBLES):
        points = normal_points(n + m, seed, count)
        x, z = points[:, :n] @ root.T, points[:, n:]
        after = rows(x, z, h)
        found.append((_values(after) - _values(still + x @ linear.matrix.T + z @ noise.T)).mean(axis=0))
    mean = exact + np.mean(found, axis=0)
    rounding = 64 * rows.rounding(6 * np.ones((1, n))) / LENGTH
    return (
        mean,
        CERTAIN * np.std(found, axis=0, ddof=1) / SCRAMBLES**0.5 + rounding,
        _names(rows.setting.names),
    )


def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    i, j = np.triu_indices(n)
    near = j - i < (n if n <= MOST_PAIRED else 2)
    return i[near], j[near]


def _waves(n: int) -> tuple[float, ...]:
    return WAVES if n <= MOST_PAIRED else WAVES[:1]


def _values(x: np.ndarray) -> np.ndarray:
    """f of rows of states. Shape (rows, f)."""
    i, j = _pairs(x.shape[1])
    waves = [part(wave * x) for wave in _waves(x.shape[1]) for part in (np.sin, np.cos)]
    return np.hstack([x, x[:, i] * x[:, j], *waves])


def _of_normal(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """E f under N(mean, covariance): E exp(i w X) = exp(i w m - w^2 v/2)."""
    i, j = _pairs(len(mean))
    v = np.diag(covariance)
    waves = [
        np.exp(-(wave**2) * v / 2) * part(wave * mean) for wave in _waves(len(v)) for part in (np.sin, np.cos)
    ]
    return np.concatenate([mean, covariance[i, j] + mean[i] * mean[j], *waves])


def _names(names: tuple[str, ...]) -> list[str]:
    i, j = _pairs(len(names))
    products = [f"{names[a]}^2" if a == b else f"{names[a]} {names[b]}" for a, b in zip(i, j, strict=True)]
    waves = [
        f"{part}({wave:g} {name})" for wave in _waves(len(names)) for part in ("sin", "cos") for name in names
    ]
    return [*names, *products, *waves]


__all__ = ["law_defect"]
