"""Bayesian logistic regression: data, no conjugacy, and a Hessian that depends on theta."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.schemes.definition.mathematics import dot, softplus
from sgverify.targets.data import draw_covariates
from sgverify.targets.kind import MATRIX, VECTOR, DataLayout, TargetKind
from sgverify.targets.potential import Matrix, PairPotential, Potential, Vector, centred_quadratic, coordinate

SIZE = 20
"""The default number of data: few, so that the posterior is far from Gaussian and quickly evaluated."""


def potential(*, prior_precision: Matrix, prior_mean: Vector) -> tuple[Potential, PairPotential]:
    """P(y = 1 | x, theta) = 1/(1 + exp(-x . theta)), theta ~ N(prior_mean, prior_precision^-1), constants left out.

    -log p(y | x, theta) = softplus(x . theta) - y x . theta for the label y, 0 or 1. A datum is
    (x_1, ..., x_d, y). Bishop 2006, equations 4.87 to 4.90.
    """
    dim = len(prior_mean.entries)

    def likelihood(theta: Any, datum: Any) -> Any:
        score = dot(theta, datum[..., :dim])
        return softplus(score) - coordinate(datum, dim) * score

    return centred_quadratic(prior_precision, prior_mean), likelihood


def draw(size: int, dim: int, seed: int) -> np.ndarray:
    """y_i = 1 where x_i . theta* + e_i > 0, e_i logistic, covariates and theta* as `draw_covariates` has them.

    e = log(u/(1 - u)) with u = Phi(z) for the normal number z of the row. Shape (N, d + 1).
    """
    theta, covariates, noise = draw_covariates(size, dim, seed)
    share = _normal_distribution(noise)
    label = covariates @ theta + np.log(share / (1 - share)) > 0
    return np.column_stack([covariates, label])


def check_labels(data: np.ndarray) -> None:
    """Raise `ConfigurationError` for labels other than 0 and 1."""
    wrong = np.flatnonzero(~np.isin(data[:, -1], (0.0, 1.0)))
    if len(wrong):
        raise ConfigurationError(
            f"target.data[{wrong[0]}] has the label {data[wrong[0], -1]:g}; expected 0 or 1 as last entry; write -1 as 0"
        )


def hessian_bounds(data: np.ndarray, *, prior_precision: Matrix, **others: Any) -> tuple[float, float]:
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
    potential=potential,
    data=DataLayout(draw, size=SIZE, labels=1, degree=None, check=check_labels),
    hessian_bounds=hessian_bounds,
)
