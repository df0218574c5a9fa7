"""Bayesian regression with Student's t for its residuals: outliers count less, and the potential is not convex."""

from __future__ import annotations

from typing import Any

import numpy as np

from sgverify.schemes.definition.mathematics import dot, log
from sgverify.targets.data import draw_covariates
from sgverify.targets.kind import MATRIX, POSITIVE, VECTOR, DataLayout, TargetKind
from sgverify.targets.potential import (
    Matrix,
    PairPotential,
    Potential,
    Vector,
    centred_quadratic,
    coordinate,
    number,
)

SIZE = 20
"""The default number of data: few, so that the posterior is far from Gaussian and quickly evaluated."""


def potential(
    *, prior_precision: Matrix, prior_mean: Vector, noise_precision: Vector, degrees_of_freedom: Vector
) -> tuple[Potential, PairPotential]:
    """y_i = x_i . theta + e_i/sqrt(r), e_i of Student's t with f degrees of freedom, theta ~ N(prior_mean, prior_precision^-1).

    -log p(y | x, theta) = (f + 1)/2 log(1 + r (y - x . theta)^2/f), constants left out. A datum is (x_1, ..., x_d, y).
    Gelman et al. 2013, section 17.5.
    """
    dim = len(prior_mean.entries)

    def likelihood(theta: Any, datum: Any) -> Any:
        residual = coordinate(datum, dim) - dot(theta, datum[..., :dim])
        f = number(theta, degrees_of_freedom)
        return (f + 1) / 2 * log(1 + number(theta, noise_precision) / f * (residual * residual))

    return centred_quadratic(prior_precision, prior_mean), likelihood


def draw(size: int, dim: int, seed: int) -> np.ndarray:
    """y_i = x_i . theta* + z_i, and 10 more in every tenth row; z_i ~ N(0, 1), covariates and theta* as `draw_covariates` has them.

    Shape (N, d + 1).
    """
    theta, covariates, noise = draw_covariates(size, dim, seed)
    outliers = 10.0 * (np.arange(size) % 10 == 9)
    return np.column_stack([covariates, covariates @ theta + noise + outliers])


def hessian_bounds(
    data: np.ndarray,
    *,
    prior_precision: Matrix,
    noise_precision: Vector,
    degrees_of_freedom: Vector,
    **others: Any,
) -> tuple[float, float]:
    """A datum's second derivative by its residual e is (f + 1) r/f (1 - q)/(1 + q)^2 with q = r e^2/f.

    It is at most (f + 1) r/f, at q = 0, and at least -1/8 of that, at q = 3; X^T X has all other factors.
    """
    r, f = float(noise_precision.entries[0]), float(degrees_of_freedom.entries[0])
    steepest = (f + 1) * r / f * float(np.linalg.eigvalsh(data[:, :-1].T @ data[:, :-1])[-1])
    values = np.linalg.eigvalsh(prior_precision.float64())
    return float(values[0]) - steepest / 8, float(values[-1]) + steepest


ROBUST_REGRESSION = TargetKind(
    name="robust-regression",
    summary=(
        "y_i = x_i . theta + Student's t of `degrees_of_freedom`/sqrt(noise_precision), theta ~ N(prior_mean, prior_precision^-1); "
        "data (x..., y)"
    ),
    source="Gelman et al. 2013, section 17.5",
    constants={
        "prior_precision": (MATRIX, 1),
        "prior_mean": (VECTOR, 0),
        "noise_precision": (POSITIVE, 1),
        "degrees_of_freedom": (POSITIVE, 4),
    },
    potential=potential,
    data=DataLayout(draw, size=SIZE, labels=1, degree=None),
    hessian_bounds=hessian_bounds,
)
