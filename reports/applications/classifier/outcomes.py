"""What is kept of each method: its scores by chain, and its row in the result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reports.applications.classifier.data import ClassImages
from reports.applications.classifier.scores import accuracy, brier_score, predictive_entropy
from reports.applications.statistics import mean_of

CURVE = 33
"""The entropies, from 0 to log R, at which the distribution function of entropies is kept."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The scores of a method. Those by chain have the shape (C,), or (2, C): as predicted, and after temperature scaling.

    `accuracy` and `last` are in per cent: of the model average, and of the last state; `negative_log_likelihood` is that of the
    model average. `unsure` is the share of images of unseen classes whose entropy is above the threshold, `curve`, (2, C,
    `CURVE`), the distribution function of their entropies. Scores are NaN for a chain that has diverged, and those of unseen
    images where there are none.
    """

    label: str
    eta: float
    states: int
    accuracy: np.ndarray
    last: np.ndarray
    negative_log_likelihood: np.ndarray
    brier_seen: np.ndarray
    brier_unseen: np.ndarray
    unsure: np.ndarray
    curve: np.ndarray
    swaps: np.ndarray | None
    theta: np.ndarray

    def told(self, printed: Mapping[str, Any]) -> dict[str, Any]:
        """The row of the result."""
        found: dict[str, Any] = {
            "method": self.label,
            "eta at the start": _rounded(self.eta),
            "states averaged": self.states,
        }
        scores = {
            "accuracy in per cent": self.accuracy,
            "accuracy of the last state": self.last,
            "negative log-likelihood": self.negative_log_likelihood,
            "Brier score, seen": self.brier_seen[0],
            "Brier score, seen, scaled": self.brier_seen[1],
            "Brier score, unseen": self.brier_unseen[0],
            "Brier score, unseen, scaled": self.brier_unseen[1],
            "share of unseen above the entropy": self.unsure[0],
            "share of unseen above the entropy, scaled": self.unsure[1],
        }
        if self.swaps is not None:
            scores["swaps"] = self.swaps.astype(np.float64)
        for name, values in scores.items():
            mean = mean_of(values)
            found[name] = {
                "mean": None if mean is None else _rounded(mean.value),
                "standard error": None if mean is None or mean.error is None else _rounded(mean.error),
                "of each seed": [_number(value) for value in values],
            }
        found["printed accuracy, CIFAR10 and CIFAR100"] = printed["accuracy"].get(self.label)
        found["printed Brier scores"] = printed["brier"].get(self.label)
        return found


def outcome(
    label: str,
    averages: tuple[np.ndarray, np.ndarray],
    last: np.ndarray,
    images: ClassImages,
    *,
    eta: float,
    threshold: float,
    states: int,
    swaps: np.ndarray | None,
    theta: np.ndarray,
) -> Outcome:
    """The scores of model averages, as predicted and after temperature scaling, each of shape (C, images, classes)."""
    tested, labels = len(images.test), images.test_labels.numpy()

    def scores(values: np.ndarray, score: Any) -> np.ndarray:
        """A score by chain; NaN for a chain without predictions."""
        return np.array([score(f) if np.isfinite(f).all() and len(f) else math.nan for f in values])

    def likelihood(f: np.ndarray) -> float:
        with np.errstate(divide="ignore"):
            return float(-np.log(f[np.arange(tested), labels]).mean())

    seen, unseen = ([part[:, place] for part in averages] for place in (slice(tested), slice(tested, None)))
    entropies = [
        np.array([predictive_entropy(f) if np.isfinite(f).all() else np.full(len(f), np.nan) for f in part])
        for part in unseen
    ]
    grid = curve_at(images.classes)
    return Outcome(
        label=label,
        eta=eta,
        states=states,
        accuracy=scores(seen[0], lambda f: 100 * accuracy(f, labels)),
        last=scores(last[:, :tested], lambda f: 100 * accuracy(f, labels)),
        negative_log_likelihood=scores(seen[0], likelihood),
        brier_seen=np.stack([scores(part, lambda f: brier_score(f, labels)) for part in seen]),
        brier_unseen=np.stack([scores(part, brier_score) for part in unseen]),
        unsure=np.stack([_share(part, threshold, above=True) for part in entropies]),
        curve=np.stack(
            [np.stack([_share(part, level, above=False) for level in grid], -1) for part in entropies]
        ),
        swaps=swaps,
        theta=theta,
    )


def curve_at(classes: int) -> np.ndarray:
    """The entropies at which the distribution function is kept."""
    return np.linspace(0, math.log(classes), CURVE)


def _share(entropies: np.ndarray, level: float, *, above: bool) -> np.ndarray:
    """The share of images of each chain with an entropy above a level, or at most at it; NaN without images."""
    if not entropies.shape[-1]:
        return np.full(len(entropies), np.nan)
    found = np.asarray((entropies > level if above else entropies <= level).mean(-1))
    found[np.isnan(entropies).any(-1)] = np.nan
    return found


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _number(value: float) -> float | None:
    return _rounded(float(value)) if math.isfinite(value) else None
