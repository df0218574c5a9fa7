"""Targets with a quadratic potential, whose laws are Gaussian."""

from __future__ import annotations

from typing import Any

import numpy as np

from sgverify.schemes.definition.mathematics import dot
from sgverify.targets.data import draw_covariates, draw_data
from sgverify.targets.kind import MATRIX, POSITIVE, VECTOR, DataLayout, TargetKind
from sgverify.targets.potential import (
    Matrix,
    PairPotential,
    Potential,
    Vector,
    centred_quadratic,
    coordinate,
    linear,
    number,
)

# A bare quadratic potential, without data.


def gaussian_potential(*, precision: Matrix, mean: Vector) -> tuple[Potential, None]:
    """U(theta) = (theta - mean) . precision (theta - mean) / 2, the potential of N(mean, T precision^-1)."""
    return centred_quadratic(precision, mean), None


GAUSSIAN = TargetKind(
    name="gaussian",
    summary="a bare quadratic potential U = (theta - mean) . precision (theta - mean) / 2, without data",
    source="design: theory.md, exact results 1 and 3",
    constants={"precision": (MATRIX, 1), "mean": (VECTOR, 0)},
    potential=gaussian_potential,
    smooth=True,
    quadratic=True,
)


# The conjugate Gaussian model: the posterior of a mean.


def gaussian_mean_potential(
    *, prior_precision: Matrix, prior_mean: Vector, noise_precision: Matrix
) -> tuple[Potential, PairPotential]:
    """x_i ~ N(theta, noise_precision^-1), theta ~ N(prior_mean, prior_precision^-1), constants left out.

    -log p(theta) = (theta - m) . Q (theta - m) / 2 and -log p(x | theta) = (x - theta) . R (x - theta) / 2;
    chen2015, section 5 (synthetic data), has m = 0, Q = R = 1.
    """

    def likelihood(theta: Any, x: Any) -> Any:
        residual = x - theta
        return dot(residual, linear(noise_precision, residual)) / 2

    return centred_quadratic(prior_precision, prior_mean), likelihood


GAUSSIAN_MEAN = TargetKind(
    name="gaussian-mean",
    summary="posterior of a mean: x_i ~ N(theta, noise_precision^-1), theta ~ N(prior_mean, prior_precision^-1)",
    source="chen2015, section 5 (synthetic data)",
    constants={"prior_precision": (MATRIX, 1), "prior_mean": (VECTOR, 0), "noise_precision": (MATRIX, 1)},
    potential=gaussian_mean_potential,
    smooth=True,
    data=DataLayout(draw_data),
    quadratic=True,
)


# Bayesian linear regression: a Gaussian posterior whose minibatches change the Hessian, not only the gradient.


def linear_regression_potential(
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
    potential=linear_regression_potential,
    smooth=True,
    data=DataLayout(draw, labels=1, degree=2),
    quadratic=True,
)
