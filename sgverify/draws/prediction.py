"""Predictions of a classifier from draws: the scores of `sgverify.applications.prediction`, which applications use, too."""

from sgverify.applications.prediction import (
    Reliability,
    accuracy,
    brier_score,
    model_average,
    predictive_entropy,
    probabilities,
    reliability,
)

__all__ = [
    "Reliability",
    "accuracy",
    "brier_score",
    "model_average",
    "predictive_entropy",
    "probabilities",
    "reliability",
]
