"""The leading power of h in values at falling step sizes, and whether the powers that are found explain the values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sgverify.exact.vanishing_steps import PowersOfH, powers_of_h
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


__all__ = ["StepFit", "fit_steps"]
