"""Bayesian Poisson regression: counts, a convex potential, and a Hessian that grows without end."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.schemes.definition.mathematics import dot, exp
from sgverify.targets.data import draw_covariates
from sgverify.targets.kind import MATRIX, VECTOR, DataLayout, TargetKind
from sgverify.targets.potential import Matrix, PairPotential, Potential, Vector, centred_quadratic, coordinate

SIZE = 20
"""The default number of data: few, so that the posterior is far from Gaussian and quickly evaluated."""

HIGHEST = 4.0
"""The largest log rate of drawn data."""


def potential(*, prior_precision: Matrix, prior_mean: Vector) -> tuple[Potential, PairPotential]:
    """y_i ~ Poisson(exp(x_i . theta)), theta ~ N(prior_mean, prior_precision^-1), constants left out.

    -log p(y | x, theta) = exp(x . theta) - y x . theta for the count y. A datum is (x_1, ..., x_d, y). Gelman et al. 2013,
    section 16.2.
    """
    dim = len(prior_mean.entries)

    def likelihood(theta: Any, datum: Any) -> Any:
        score = dot(theta, datum[..., :dim])
        return exp(score) - coordinate(datum, dim) * score

    return centred_quadratic(prior_precision, prior_mean), likelihood


def draw(size: int, dim: int, seed: int) -> np.ndarray:
    """y_i ~ Poisson(l_i), log l_i = x_i . theta*/(2 sqrt(d)), at most 4; covariates and theta* as `draw_covariates` has them.

    y is the quantile of Phi(z) for the normal number z of the row. Shape (N, d + 1).
    """
    theta, covariates, noise = draw_covariates(size, dim, seed)
    rates = np.exp(np.minimum(covariates @ theta / (2 * math.sqrt(dim)), HIGHEST))
    counts = [
        _quantile(float(rate), NormalDist().cdf(float(z))) for rate, z in zip(rates, noise, strict=True)
    ]
    return np.column_stack([covariates, counts])


def check_counts(data: np.ndarray) -> None:
    """Raise `ConfigurationError` for a last entry that is no count."""
    last = data[:, -1]
    wrong = np.flatnonzero((last < 0) | (last != np.floor(last)))
    if len(wrong):
        raise ConfigurationError(
            f"target.data[{wrong[0]}] has the count {last[wrong[0]]:g}; expected a whole number from 0 as last entry; mend this "
            "datum"
        )


def hessian_bounds(data: np.ndarray, *, prior_precision: Matrix, **others: Any) -> tuple[float, float]:
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
    potential=potential,
    data=DataLayout(draw, size=SIZE, labels=1, degree=None, check=check_counts),
    hessian_bounds=hessian_bounds,
)
