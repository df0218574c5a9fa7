"""Images of classes that are learnt, test images of the same classes, and images of classes that are never seen.

By default scikit-learn's digits, which ship inside that package: 1,797 images of 8 x 8 levels from 0 to 16, here divided by 16. The
digits 0 to 7 are learnt and tested, 8 and 9 are unseen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError

SEEN = 8
"""The digits below this one are learnt."""


@dataclass(frozen=True, eq=False)
class ClassImages:
    """Levels, float64 of shape (N, channels x height x width), row by row in each channel, and labels, int64 of shape (N,).

    `unseen` are test images of other classes; it may be empty. `told` says where the images come from, for a result.
    """

    train: Tensor
    train_labels: Tensor
    test: Tensor
    test_labels: Tensor
    unseen: Tensor
    classes: int
    height: int
    width: int
    channels: int
    told: Mapping[str, str | int]


def digits(seed: int = 0, learnt: int = 512) -> ClassImages:
    """scikit-learn's digits: `learnt` images of 0 to 7 drawn by `seed`, the others of 0 to 7 for testing, 8 and 9 unseen.

    Raises `ConfigurationError` where scikit-learn is not installed, or where no image is left for testing.
    """
    try:
        from sklearn.datasets import load_digits  # type: ignore[import-untyped]
    except ImportError:
        raise ConfigurationError(
            "the digits are part of scikit-learn, which is not installed; expected it, or binary files of CIFAR; "
            "pip install scikit-learn, or give --data"
        ) from None
    levels, labels = load_digits(return_X_y=True)
    known = np.flatnonzero(labels < SEEN)
    if not 4 <= learnt < len(known):
        raise ConfigurationError(
            f"train-images={learnt}: expected 4 to {len(known) - 1}, of {len(known)} images of the digits 0 to {SEEN - 1}, so that "
            "some are left for testing"
        )
    order = known[np.random.Generator(np.random.Philox(seed)).permutation(len(known))]
    return made(
        f"digits of scikit-learn, 0 to {SEEN - 1} learnt, {SEEN} and 9 unseen",
        (levels[order[:learnt]] / 16, labels[order[:learnt]]),
        (levels[order[learnt:]] / 16, labels[order[learnt:]]),
        levels[labels >= SEEN] / 16,
        classes=SEEN,
        shape=(1, 8, 8),
    )


def made(
    name: str,
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    unseen: np.ndarray,
    *,
    classes: int,
    shape: tuple[int, int, int],
) -> ClassImages:
    """The images from arrays of levels, each of shape (N, channels x height x width), and labels; `shape` has the three factors."""
    parts = [np.ascontiguousarray(part, dtype=np.float64) for part in (train[0], test[0], unseen)]
    labels = [np.ascontiguousarray(part[1], dtype=np.int64) for part in (train, test)]
    digest = hashlib.sha256(b"".join(part.tobytes() for part in (*parts, *labels))).hexdigest()[:16]
    told: dict[str, str | int] = {
        "name": name,
        "training images": len(parts[0]),
        "test images": len(parts[1]),
        "images of unseen classes": len(parts[2]),
        "classes": classes,
        "levels of an image": parts[0].shape[1],
        "sha256 of the images": digest,
    }
    learnt, tested, unknown = (torch.from_numpy(part) for part in parts)
    return ClassImages(
        learnt,
        torch.from_numpy(labels[0]),
        tested,
        torch.from_numpy(labels[1]),
        unknown,
        classes,
        shape[1],
        shape[2],
        shape[0],
        told,
    )
