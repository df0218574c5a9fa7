"""Estimators that look at all data at every evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from sgverify.gradients.estimator import GradientEstimator
from sgverify.values import Numbers


@dataclass(frozen=True, kw_only=True)
class FullGradient(GradientEstimator):
    """grad U itself."""

    noisy: bool = False
    draws_data: bool = False


@dataclass(frozen=True, kw_only=True)
class AdditiveNoise(GradientEstimator):
    """grad U + N(0, covariance)."""

    each_evaluation: bool = True
    draws_data: bool = False


FULL = FullGradient(name="full", summary="All data at every evaluation", label="full gradients")
ADDITIVE = AdditiveNoise(
    name="additive",
    summary="The full gradient and normal noise, fresh at every evaluation",
    label="additive gradient noise",
    own_keys={"covariance": (Numbers, 1.0)},
)
