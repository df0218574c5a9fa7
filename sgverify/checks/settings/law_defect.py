"""How far one step moves the law that it should leave: E f(X_1) - E f(X_0) under that law, for steps that are not affine.

The leading power of h in values at falling step sizes, and whether the powers that are found explain the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sgverify.checks.settings.one_step_map import (
    CERTAIN,
    POINTS_ONE_BY_ONE,
    SCRAMBLES,
    normal_points,
    read_one_step,
)
from sgverify.checks.settings.step_rows import StepRows
from sgverify.exact.readings.leading_terms import PowersOfH, powers_of_h
from sgverify.rates import Rate

SEEN = 1e-8
"""A power of h counts where its share at the largest step exceeds this share of the average itself."""

EXPLAINED = 0.05
"""A value is explained where the polynomial through those at smaller steps meets it to this share. For a law that is analytic in h
within twice the step, through three halvings more, Lagrange's remainder is (1 - 1/2)(1 - 1/4)(1 - 1/8)/2^3 = 0.04 of its largest
value there, and less through more of them."""

BELOW = 3
"""Values at smaller steps that a prediction takes, at least."""


@dataclass(frozen=True)
class StepFit:
    """`rate` is the leading power; `outlier` the smallest step whose value those below do not explain, with what they give."""

    rate: Rate
    powers: PowersOfH
    outlier: tuple[float, float, float] | None


def fit_steps(steps: np.ndarray, values: np.ndarray, errors: np.ndarray, scale: float) -> StepFit:
    """The powers of h in the values, or of sqrt(h) where whole ones do not explain them. Shapes (n,); `scale` is the size of
    what the values are differences of.
    """
    whole = _fit(steps, values, errors, scale, 1)
    if whole.outlier is None:
        return whole
    halves = _fit(steps, values, errors, scale, 2)
    return whole if halves.outlier is not None else halves


def _fit(steps: np.ndarray, values: np.ndarray, errors: np.ndarray, scale: float, parts: int) -> StepFit:
    """In the variable h^(1/parts)."""
    variable = steps ** (1 / parts)
    powers = powers_of_h(variable, values[:, None], errors[:, None])
    found = Rate(None)
    for power in range(len(powers.coefficients)):
        c = float(powers.coefficients[power, 0])
        if powers.seen(power)[0] and abs(c) * variable[0] ** power > SEEN * scale:
            found = Rate(Fraction(power, parts), c)
            break
    return StepFit(found, powers, _outlier(variable, steps, values, errors, scale, found))


def _outlier(
    variable: np.ndarray, steps: np.ndarray, values: np.ndarray, errors: np.ndarray, scale: float, found: Rate
) -> tuple[float, float, float] | None:
    """(h, value, prediction) of the smallest step whose value is not the polynomial's through the smaller steps."""
    for k in reversed(range(len(steps) - BELOW)):
        weights = np.array(
            [
                np.prod(
                    [
                        (variable[k] - variable[j]) / (variable[i] - variable[j])
                        for j in range(k + 1, len(steps))
                        if j != i
                    ]
                )
                for i in range(k + 1, len(steps))
            ]
        )
        due = float(weights @ values[k + 1 :])
        unsure = 2 * (float(np.abs(weights) @ errors[k + 1 :]) + float(errors[k]) + SEEN * scale)
        if abs(values[k] - due) > EXPLAINED * max(abs(values[k]), abs(due)) + unsure:
            return float(steps[k]), float(values[k]), due
        if found.exponent is None and abs(values[k]) > unsure:
            return float(steps[k]), float(values[k]), 0.0
    return None


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


__all__ = ["StepFit", "fit_steps", "law_defect"]
