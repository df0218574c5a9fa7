"""Regressions whose posterior is no Gaussian."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from sgverify.schemes.definition.mathematics import dot, exp, log, softplus
from sgverify.targets.data import checked, draw_covariates, is_count, is_outcome
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

CHECK_LABELS = checked(is_outcome, "0 or 1 as last entry; write -1 as 0", last=True)
CHECK_COUNTS = checked(is_count, "a count, a whole number from 0, as last entry; mend this datum", last=True)


# Bayesian logistic regression: data, no conjugacy, and a Hessian that depends on theta.


def logistic_regression_potential(
    *, prior_precision: Matrix, prior_mean: Vector
) -> tuple[Potential, PairPotential]:
    """P(y = 1 | x, theta) = 1/(1 + exp(-x . theta)), theta ~ N(prior_mean, prior_precision^-1), constants left out.

    -log p(y | x, theta) = softplus(x . theta) - y x . theta for the label y, 0 or 1. A datum is
    (x_1, ..., x_d, y). Bishop 2006, equations 4.87 to 4.90.
    """
    dim = len(prior_mean.entries)

    def likelihood(theta: Any, datum: Any) -> Any:
        score = dot(theta, datum[..., :dim])
        return softplus(score) - coordinate(datum, dim) * score

    return centred_quadratic(prior_precision, prior_mean), likelihood


def draw_logistic_regression(size: int, dim: int, seed: int) -> np.ndarray:
    """y_i = 1 where x_i . theta* + e_i > 0, e_i logistic, covariates and theta* as `draw_covariates` has them.

    e = log(u/(1 - u)) with u = Phi(z) for the normal number z of the row. Shape (N, d + 1).
    """
    theta, covariates, noise = draw_covariates(size, dim, seed)
    share = _normal_distribution(noise)
    label = covariates @ theta + np.log(share / (1 - share)) > 0
    return np.column_stack([covariates, label])


def logistic_regression_hessian_bounds(
    data: np.ndarray, *, prior_precision: Matrix, **others: Any
) -> tuple[float, float]:
    """The Hessian is prior_precision + sum_i p_i (1 - p_i) x_i x_i^T with 0 < p_i (1 - p_i) <= 1/4."""
    steepest = float(np.linalg.eigvalsh(data[:, :-1].T @ data[:, :-1])[-1]) / 4
    values = np.linalg.eigvalsh(prior_precision.float64())
    return float(values[0]), float(values[-1]) + steepest


def _normal_distribution(z: np.ndarray) -> np.ndarray:
    return np.array([NormalDist().cdf(float(value)) for value in z])


LOGISTIC_REGRESSION = TargetKind(
    name="logistic-regression",
    summary="P(y_i = 1) = 1/(1 + exp(-x_i . theta)), theta ~ N(prior_mean, prior_precision^-1); data (x..., y)",
    source="Bishop 2006, section 4.3.2",
    constants={"prior_precision": (MATRIX, 1), "prior_mean": (VECTOR, 0)},
    potential=logistic_regression_potential,
    smooth=True,
    data=DataLayout(
        draw_logistic_regression, size=SIZE, labels=1, degree=None, check=CHECK_LABELS, condensable=True
    ),
    hessian_bounds=logistic_regression_hessian_bounds,
)


# Bayesian Poisson regression: counts, a convex potential, and a Hessian that grows without end.


HIGHEST = 4.0
"""The largest log rate of drawn data."""


def poisson_regression_potential(
    *, prior_precision: Matrix, prior_mean: Vector
) -> tuple[Potential, PairPotential]:
    """y_i ~ Poisson(exp(x_i . theta)), theta ~ N(prior_mean, prior_precision^-1), constants left out.

    -log p(y | x, theta) = exp(x . theta) - y x . theta for the count y. A datum is (x_1, ..., x_d, y). Gelman et al. 2013,
    section 16.2.
    """
    dim = len(prior_mean.entries)

    def likelihood(theta: Any, datum: Any) -> Any:
        score = dot(theta, datum[..., :dim])
        return exp(score) - coordinate(datum, dim) * score

    return centred_quadratic(prior_precision, prior_mean), likelihood


def draw_poisson_regression(size: int, dim: int, seed: int) -> np.ndarray:
    """y_i ~ Poisson(l_i), log l_i = x_i . theta*/(2 sqrt(d)), at most 4; covariates and theta* as `draw_covariates` has them.

    y is the quantile of Phi(z) for the normal number z of the row. Shape (N, d + 1).
    """
    theta, covariates, noise = draw_covariates(size, dim, seed)
    rates = np.exp(np.minimum(covariates @ theta / (2 * math.sqrt(dim)), HIGHEST))
    counts = [
        _quantile(float(rate), NormalDist().cdf(float(z))) for rate, z in zip(rates, noise, strict=True)
    ]
    return np.column_stack([covariates, counts])


def poisson_regression_hessian_bounds(
    data: np.ndarray, *, prior_precision: Matrix, **others: Any
) -> tuple[float, float]:
    """The Hessian is prior_precision + sum_i exp(x_i . theta) x_i x_i^T: at least the first, and above every bound."""
    unbounded = bool(np.any(data[:, :-1]))
    values = np.linalg.eigvalsh(prior_precision.float64())
    return float(values[0]), math.inf if unbounded else float(values[-1])


def _quantile(rate: float, share: float) -> int:
    """The least k with P(y <= k) >= share for y ~ Poisson(rate)."""
    k, chance = 0, math.exp(-rate)
    total = chance
    while total < share and chance > 0:
        k += 1
        chance *= rate / k
        total += chance
    return k


POISSON_REGRESSION = TargetKind(
    name="poisson-regression",
    summary="y_i ~ Poisson(exp(x_i . theta)), theta ~ N(prior_mean, prior_precision^-1), log-concave; data (x..., y)",
    source="Gelman et al. 2013, section 16.2",
    constants={"prior_precision": (MATRIX, 1), "prior_mean": (VECTOR, 0)},
    potential=poisson_regression_potential,
    smooth=True,
    data=DataLayout(
        draw_poisson_regression, size=SIZE, labels=1, degree=None, check=CHECK_COUNTS, condensable=True
    ),
    hessian_bounds=poisson_regression_hessian_bounds,
)


# Bayesian regression with Student's t for its residuals: outliers count less, and the potential is not convex.


def robust_regression_potential(
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


def draw_robust_regression(size: int, dim: int, seed: int) -> np.ndarray:
    """y_i = x_i . theta* + z_i, and 10 more in every tenth row; z_i ~ N(0, 1), covariates and theta* as `draw_covariates` has them.

    Shape (N, d + 1).
    """
    theta, covariates, noise = draw_covariates(size, dim, seed)
    outliers = 10.0 * (np.arange(size) % 10 == 9)
    return np.column_stack([covariates, covariates @ theta + noise + outliers])


def robust_regression_hessian_bounds(
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
    potential=robust_regression_potential,
    smooth=True,
    data=DataLayout(draw_robust_regression, size=SIZE, labels=1, degree=None),
    hessian_bounds=robust_regression_hessian_bounds,
)
