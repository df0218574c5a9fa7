"""The conjugate Gaussian model: the posterior of a mean."""

from __future__ import annotations

from typing import Any

from sgverify.schemes.definition.mathematics import dot
from sgverify.targets.data import draw_data
from sgverify.targets.kind import MATRIX, VECTOR, DataLayout, TargetKind
from sgverify.targets.potential import Matrix, PairPotential, Potential, Vector, centred_quadratic, linear


def potential(
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
    potential=potential,
    data=DataLayout(draw_data),
    quadratic=True,
)
