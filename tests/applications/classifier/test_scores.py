"""Scores of predictions, against plain loops, scipy and scikit-learn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.metrics import brier_score_loss

from reports.applications.classifier.scores import (
    accuracy,
    brier_score,
    model_average,
    predictive_entropy,
    probabilities,
    reliability,
)
from sgverify.errors import UserError

DRAWN = np.random.default_rng(3)
F = DRAWN.dirichlet(np.ones(4) / 2, size=50)
LABELS = DRAWN.integers(4, size=50)


def test_probabilities_are_a_softmax_at_a_temperature() -> None:
    outputs = 900 * DRAWN.normal(size=(5, 3))
    np.testing.assert_allclose(probabilities(outputs), softmax(outputs, -1), atol=1e-15)
    np.testing.assert_allclose(probabilities(outputs, 2.0), softmax(outputs / 2, -1), atol=1e-15)


def test_the_model_average_is_the_weighted_mean_over_draws() -> None:
    f = DRAWN.dirichlet(np.ones(3), size=(2, 4, 5))
    np.testing.assert_allclose(model_average(f), f.reshape(8, 5, 3).mean(0))
    weights = DRAWN.random((2, 4))
    expected = np.zeros((5, 3))
    for chain in range(2):
        for draw in range(4):
            expected += weights[chain, draw] / weights.sum() * f[chain, draw]
    np.testing.assert_allclose(model_average(f, weights), expected)


def test_the_average_of_models_has_no_larger_brier_score_than_the_models_on_average() -> None:
    """The score is convex in f (Jensen)."""
    f = DRAWN.dirichlet(np.ones(4), size=(6, 50))
    assert brier_score(model_average(f), LABELS) < np.mean([brier_score(one, LABELS) for one in f])


def test_the_brier_score_is_the_printed_sum() -> None:
    total = 0.0
    for i in range(50):
        for j in range(4):
            total += (F[i, j] - (1.0 if LABELS[i] == j else 0.0)) ** 2
    assert brier_score(F, LABELS) == pytest.approx(total / 50, rel=1e-13)
    assert brier_score(F, LABELS) == pytest.approx(brier_score_loss(LABELS, F, labels=range(4)), rel=1e-12)


def test_without_labels_the_least_brier_score_is_that_of_the_uniform_distribution() -> None:
    """0.1 of ten classes: what vr-resgld calls the optimal score on unseen inputs."""
    uniform = np.full((3, 10), 0.1)
    assert brier_score(uniform) == pytest.approx(0.1, rel=1e-14)
    assert all(brier_score(one[None]) >= 0.25 for one in F)


def test_entropy_and_accuracy() -> None:
    np.testing.assert_allclose(predictive_entropy(F), entropy(F, axis=-1), rtol=1e-12)
    assert predictive_entropy([[1.0, 0.0]])[0] == 0.0
    assert predictive_entropy(np.full((1, 10), 0.1))[0] == pytest.approx(math.log(10), rel=1e-14)
    assert accuracy(F, LABELS) == np.mean(
        [max(range(4), key=lambda j: F[i, j]) == LABELS[i] for i in range(50)]
    )


def test_reliability_by_hand() -> None:
    found = reliability(F, LABELS, bins=5)
    rows, error = [], 0.0
    for low in np.arange(5) / 5:
        held = [i for i in range(50) if low < F[i].max() <= low + 0.2 + 1e-12]
        if held:
            confidence = np.mean([F[i].max() for i in held])
            right = np.mean([F[i].argmax() == LABELS[i] for i in held])
            rows.append((confidence, right, len(held)))
            error += len(held) / 50 * abs(confidence - right)
    np.testing.assert_allclose(np.transpose(rows), (found.confidence, found.accuracy, found.count))
    assert found.error == pytest.approx(error, rel=1e-12)


def test_what_is_always_right_when_sure_has_no_calibration_error() -> None:
    assert reliability(np.eye(4)[LABELS], LABELS).error == 0.0
    assert reliability(np.eye(4)[LABELS], (LABELS + 1) % 4).error == 1.0


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: brier_score([[2.0, 3.0]]), "pass outputs of a network through probabilities"),
        (lambda: brier_score([0.5, 0.5]), "one row for each instance"),
        (lambda: accuracy(F, LABELS[:3]), "one class for each instance"),
        (lambda: accuracy(F, LABELS / 2), "whole numbers"),
        (lambda: brier_score(F, LABELS + 4), "from 0 to 3"),
        (lambda: model_average(F[None], [-1.0]), "not all 0"),
        (lambda: probabilities([[0.0]], 0.0), "positive, finite"),
        (lambda: reliability(F, LABELS, 0), "positive whole number"),
    ],
)
def test_what_is_no_prediction_is_refused(call: Any, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        call()
