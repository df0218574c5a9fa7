"""Gradient estimators: each one declared object, which samplers, exact engines, strategies and the configuration ask.

`estimator` is the declaration, `kinds` those that ship.
"""

from __future__ import annotations

from collections.abc import Mapping

from sgverify.errors import find_named
from sgverify.gradients.estimator import GradientEstimator
from sgverify.gradients.kinds import (
    ADDITIVE,
    ESTIMATORS,
    FULL,
    IID,
    WITHOUT_REPLACEMENT,
    AdditiveNoise,
    CentredGradient,
    FullGradient,
    MinibatchGradient,
    SnapshotGradient,
    TableGradient,
)

READERS: Mapping[str, tuple[str, ...]] = {
    key: tuple(name for name, estimator in ESTIMATORS.items() if key in estimator.keys)
    for key in dict.fromkeys(key for estimator in ESTIMATORS.values() for key in estimator.keys)
}
"""The estimators that read a key of the gradient table; a key that is not here every estimator reads."""


def find_estimator(kind: str) -> GradientEstimator:
    """The estimator of this name; raises `UnknownNameError` with the nearest one."""
    return find_named("gradient.kind", kind, ESTIMATORS)


__all__ = [
    "ADDITIVE",
    "ESTIMATORS",
    "FULL",
    "IID",
    "READERS",
    "WITHOUT_REPLACEMENT",
    "AdditiveNoise",
    "CentredGradient",
    "FullGradient",
    "GradientEstimator",
    "MinibatchGradient",
    "SnapshotGradient",
    "TableGradient",
    "find_estimator",
]
