"""Minibatches of two sources, compared beyond coincidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sgverify.gradients import GradientEstimator

BITS = 40.0
"""Minibatches are compared only if two independent ones agree in all chains with probability at most 2^-BITS."""

MOST_CHAINS = 64


def bits_of(size: int, batch: int) -> float:
    """-log2 of the chance at most that two independent minibatches of n out of N data hold the same: log2 of N over n."""
    return (math.lgamma(size + 1) - math.lgamma(batch + 1) - math.lgamma(size - batch + 1)) / math.log(2)


def chains_needed(size: int, batch: int, least: int) -> int:
    """The number of chains whose minibatches distinguish two sources; `least` if even `MOST_CHAINS` chains cannot."""
    bits = bits_of(size, batch)
    return least if bits * MOST_CHAINS < BITS else max(least, math.ceil(BITS / bits))


def same(a: np.ndarray, b: np.ndarray, size: int) -> bool:
    """Do two minibatches of shape (n, C) hold the same data in every chain, beyond coincidence (2^-BITS)?"""
    if a.shape != b.shape or bits_of(size, len(a)) * a.shape[1] < BITS:
        return False
    return bool(np.array_equal(np.sort(a, axis=0), np.sort(b, axis=0)))


def meeting(one: Sequence[np.ndarray], other: Sequence[np.ndarray], size: int) -> tuple[int, int] | None:
    """The indices of the first two equal minibatches in `one` and `other`; None if no two are equal.

    If `other` is `one`, a minibatch is compared with the earlier minibatches of its own source.
    """
    for i, a in enumerate(one):
        for j, b in enumerate(other[:i] if one is other else other):
            if same(a, b, size):
                return i, j
    return None


def period_of(estimator: GradientEstimator, size: int, settings: Any, per_step: int) -> int:
    """The minibatches from one that is independent of all before to the next such: those of a permutation of N data.

    `settings` are those of the gradient table; a step asks for `per_step` minibatches.
    """
    return estimator.sweeps * (size // int(settings.batch)) or 1


def draw_of(estimator: GradientEstimator, number: int, size: int, settings: Any, per_step: int) -> int:
    """The draw that is minibatch `number` of a run: a sweep back goes over the draws of the sweep there."""
    period = period_of(estimator, size, settings, per_step)
    place = number % period
    return number - place + (min(place, period - 1 - place) if estimator.sweeps == 2 else place)
