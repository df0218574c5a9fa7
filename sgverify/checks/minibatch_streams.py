"""Whether two sources of minibatches are one, or one source stands still: told from the data that they gave."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

BITS = 40.0
"""Two independent minibatches of all chains are the same with a chance of 2^-BITS at most, else they are not compared."""

MOST_CHAINS = 64


def bits_of(size: int, batch: int) -> float:
    """-log2 of the chance at most that two independent minibatches of n out of N data hold the same: log2 of N over n."""
    return (math.lgamma(size + 1) - math.lgamma(batch + 1) - math.lgamma(size - batch + 1)) / math.log(2)


def chains_needed(size: int, batch: int, least: int) -> int:
    """So many chains that their minibatches tell sources apart; `least` where no number of them does."""
    bits = bits_of(size, batch)
    return least if bits * MOST_CHAINS < BITS else max(least, math.ceil(BITS / bits))


def same(a: np.ndarray, b: np.ndarray, size: int) -> bool:
    """Whether two minibatches hold the same data in every chain, and this is no accident. Shapes (n, C)."""
    if a.shape != b.shape or bits_of(size, len(a)) * a.shape[1] < BITS:
        return False
    return bool(np.array_equal(np.sort(a, axis=0), np.sort(b, axis=0)))


def meeting(one: Sequence[np.ndarray], other: Sequence[np.ndarray], size: int) -> tuple[int, int] | None:
    """The places of the first two minibatches that are the same, of a source itself the later with an earlier; else None."""
    for i, a in enumerate(one):
        for j, b in enumerate(other[:i] if one is other else other):
            if same(a, b, size):
                return i, j
    return None


__all__ = ["BITS", "bits_of", "chains_needed", "meeting", "same"]
