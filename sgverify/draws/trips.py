"""How well replicas mix on their ladder: trips from the coldest temperature to the hottest and back."""

from __future__ import annotations

import numpy as np


def round_trips(walkers: np.ndarray) -> np.ndarray:
    """Completed trips of each walker: from the coldest replica up to the hottest and back again. Shape (R, C).

    `walkers`, shape (L, R, C): who is at each replica after each of L steps (`walker` of `sample_stats`, its axes in this
    order), each walker by the number of the replica that it started at.
    """
    length, replicas, chains = walkers.shape
    trips = np.zeros((replicas, chains), dtype=np.int64)
    # 0: not yet at the coldest; 1: last at the coldest of the two ends; 2: has been at the hottest since.
    seen = np.zeros((replicas, chains), dtype=np.int64)
    columns = np.arange(chains)
    for l in range(length):
        coldest, hottest = (walkers[l, end].astype(np.int64) for end in (0, -1))
        trips[coldest, columns] += seen[coldest, columns] == 2
        seen[coldest, columns] = 1
        seen[hottest, columns] = np.where(seen[hottest, columns] > 0, 2, 0)
    return trips


__all__ = ["round_trips"]
