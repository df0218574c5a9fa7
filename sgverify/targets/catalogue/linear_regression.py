"""Bayesian linear regression: a Gaussian posterior whose minibatches change the Hessian, not only the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from sgverify.schemes.definition.mathematics import dot
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


def potential(
    *, prior_precision: Matrix, prior_mean: Vector, noise_precision: Vector
) -> tuple[Potential, PairPotential]:
    """y_i = x_i . theta + N(0, 1/r), theta ~ N(prior_mean, prior_precision^-1), constants left out.

    -log p(y | x, theta) = r (y - x . theta)^2 / 2: each datum has the Hessian r x x^T of its own. A datum is
    (x_1, ..., x_d, y). Bishop 2006, equations 3.10 and 3.48.
    """
    dim = len(prior_mean.entries)

    def likelihood(theta: Any, datum: Any) -> Any:
        residual = coordinate(datum, dim) - dot(theta, datum[..., :dim])
        return number(theta, noise_precision) * residual * residual / 2

    return centred_quadratic(prior_precision, prior_mean), likelihood


def draw(size: int, dim: int, seed: int) -> np.ndarray:
    """y_i = x_i . theta* + z_i, z_i ~ N(0, 1), covariates and theta* as `draw_covariates` has them. Shape (N, d + 1)."""
    theta, covariates, noise = draw_covariates(size, dim, seed)
    return np.column_stack([covariates, covariates @ theta + noise])


LINEAR_REGRESSION = TargetKind(
    name="linear-regression",
    summary="y_i = x_i . theta + N(0, 1/noise_precision), theta ~ N(prior_mean, prior_precision^-1); data (x..., y)",
    source="Bishop 2006, section 3.3",
    constants={"prior_precision": (MATRIX, 1), "prior_mean": (VECTOR, 0), "noise_precision": (POSITIVE, 1)},
    potential=potential,
    data=DataLayout(draw, labels=1, degree=2),
    quadratic=True,
)
