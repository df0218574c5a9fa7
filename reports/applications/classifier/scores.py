"""Predictions of a classifier from draws: averages over models, their accuracy and their calibration.

A predictive distribution f is an array of probabilities over R classes along the last axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.errors import UserError

# Of rounded float32 probabilities of ten thousand classes.
_ROUNDING = 1e-3


def probabilities(outputs: Any, temperature: float = 1.0) -> np.ndarray:
    """softmax(outputs / temperature) along the last axis. Shape (..., R) -> (..., R).

    A temperature above 1 makes less sure predictions of the same classes: temperature scaling (Guo et al. 2017), with a
    scale of 2 in vr-resgld, section 5.2 and appendix F. Raises `UserError` for a temperature that is not positive.

    >>> probabilities([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """
    if not 0 < temperature < np.inf:
        raise UserError(f"temperature={temperature!r}: expected a positive, finite number")
    logits = np.asarray(outputs, dtype=np.float64) / temperature
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(raised / raised.sum(-1, keepdims=True))


def model_average(f: Any, weights: Any = None) -> np.ndarray:
    """The average of predictive distributions over all axes but the last two. Shape (*draws, n, R) -> (n, R).

    The posterior predictive distribution sum_k w_k f_k / sum_k w_k of draws theta_k; `weights` has shape (*draws), such as
    exp(sample_stats.log_weight), and all are 1 where it is left out.
    """
    values = _checked(f)
    lead = values.shape[:-2]
    counts = (
        np.ones(lead) if weights is None else np.broadcast_to(np.asarray(weights, dtype=np.float64), lead)
    )
    if (counts < 0).any() or not np.isfinite(counts).all() or not counts.sum() > 0:
        raise UserError(
            "weights: expected finite ones of at least 0 that are not all 0; leave them out to count all alike"
        )
    return np.asarray(np.tensordot(counts, values, axes=len(lead)) / counts.sum())


def accuracy(f: Any, labels: Any) -> float:
    """The share of the n instances whose most probable class is theirs. Shapes (n, R), (n,)."""
    values = _checked(f)
    return float(np.mean(values.argmax(-1) == _labels(labels, values)))


def brier_score(f: Any, labels: Any = None) -> float:
    """BS = 1/n sum_i sum_j (f_ij - o_ij)^2, o_ij = 1 where class j happened to instance i, else 0 (vr-resgld, appendix F).

    Without labels nothing happened that the classes name: o = 0, as for inputs of another kind than those learnt, where the
    least possible score is 1/R. With labels it is 0. Shapes (n, R), (n,).

    >>> brier_score([[0.5, 0.5]], [0]), brier_score([[0.5, 0.5]])
    (0.5, 0.5)
    """
    values = _checked(f)
    happened = np.zeros_like(values)
    if labels is not None:
        happened[np.arange(len(values)), _labels(labels, values)] = 1.0
    return float(((values - happened) ** 2).sum(-1).mean())


def predictive_entropy(f: Any) -> np.ndarray:
    """-sum_j f_j log f_j of each predictive distribution, in nats: 0 where it is sure, log R where it is uniform.

    Shape (..., R) -> (...).
    """
    values = _checked(f)
    return np.asarray(-(values * np.log(np.where(values > 0, values, 1.0))).sum(-1))


@dataclass(frozen=True, eq=False)
class Reliability:
    """Accuracy against confidence: for each bin the mean confidence, the accuracy and the count, shape (B,).

    Empty bins are left out. `error` is the expected calibration error, sum_b count_b |accuracy_b - confidence_b| / n.
    """

    confidence: np.ndarray
    accuracy: np.ndarray
    count: np.ndarray

    @property
    def error(self) -> float:
        """The expected calibration error (Guo et al. 2017, equation 3)."""
        gaps = np.abs(self.accuracy - self.confidence)
        return float((self.count * gaps).sum() / self.count.sum())


def reliability(f: Any, labels: Any, bins: int = 10) -> Reliability:
    """Confidence max_j f_j against accuracy, in `bins` bins ((k-1)/bins, k/bins] of the confidence. Shapes (n, R), (n,)."""
    values = _checked(f)
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise UserError(f"bins={bins!r}: expected a positive whole number")
    sure, right = values.max(-1), values.argmax(-1) == _labels(labels, values)
    place = np.clip(np.ceil(sure * bins).astype(int) - 1, 0, bins - 1)
    count = np.bincount(place, minlength=bins)
    held = count > 0
    sums = (np.bincount(place, weights=item, minlength=bins) for item in (sure, right))
    confidence, share = (total[held] / count[held] for total in sums)
    return Reliability(confidence, share, count[held])


def _checked(f: Any) -> np.ndarray:
    values = np.asarray(f, dtype=np.float64)
    if values.ndim < 2 or not values.size:
        raise UserError(
            f"f has the shape {values.shape}; expected probabilities of shape (n, classes); give one row for each instance"
        )
    if not (values >= 0).all() or np.abs(values.sum(-1) - 1).max() > _ROUNDING:
        raise UserError(
            "f: expected probabilities that add up to 1 along the last axis; pass outputs of a network through probabilities()"
        )
    return values


def _labels(labels: Any, f: np.ndarray) -> np.ndarray:
    found = np.asarray(labels)
    if (
        found.shape != f.shape[:-1]
        or found.dtype.kind not in "iu"
        or (found < 0).any()
        or (found >= f.shape[-1]).any()
    ):
        raise UserError(
            f"labels of shape {found.shape} and dtype {found.dtype}: expected {f.shape[:-1]} whole numbers from 0 to "
            f"{f.shape[-1] - 1}, one class for each instance"
        )
    return found
