"""Round trips on the ladder, against walks that are followed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from sgverify.draws import round_trips


@pytest.mark.parametrize("replicas", [2, 3, 4])
def test_trips_are_those_of_each_walker_followed_by_itself(replicas: int) -> None:
    random = np.random.default_rng(replicas)
    length, chains = 200, 3
    walkers = np.empty((length, replicas, chains))
    walkers[:] = np.arange(replicas)[:, None]
    for l in range(1, length):
        walkers[l] = walkers[l - 1]
        for c in range(chains):
            k = random.integers(replicas - 1)
            walkers[l, [k, k + 1], c] = walkers[l - 1, [k + 1, k], c]
    found = round_trips(walkers)
    for c in range(chains):
        for walker in range(replicas):
            ends = [int(np.flatnonzero(walkers[l, :, c] == walker)[0]) for l in range(length)]
            visits = [end for end in ends if end in (0, replicas - 1)]
            turns = [a for a, b in zip(visits, [*visits[1:], -1], strict=True) if a != b]
            if turns and turns[0] != 0:
                turns = turns[1:]
            assert found[walker, c] == max(0, (len(turns) - 1) // 2)
    assert found.sum() > 5


def test_walkers_that_stay_make_no_trip() -> None:
    assert not round_trips(np.tile(np.arange(3)[:, None], (10, 1, 2))).any()
