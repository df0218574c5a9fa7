"""The experiments of vr-resgld: what is counted along a run, and the barrier that decides what can be seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reports.experiments import build_experiment
from reports.experiments.vr_resgld.figures import barrier_height, modes
from reports.experiments.vr_resgld.settings import APART, mixture, run
from sgverify.evidence import Study


@pytest.fixture(scope="module")
def small() -> Study:
    return build_experiment("vr-resgld/figure-2", "quick")


ALIKE: dict[str, Any] = {
    "name": "resgld",
    "temperature": 10.0,
    "step": 1e-7,
    "length": 12,
    "batch": 10,
    "chains": 3,
    "middle": 10.0,
    "exchange": {"ladder": [1.0, 1.0 + 1e-12], "every": 3, "energies": "exact"},
}
"""Replicas of one temperature but for 1e-12, so that every swap is taken."""


def test_the_barrier_is_that_of_the_sum_over_all_data() -> None:
    x = np.asarray(mixture().data)[:, 0]

    def energy(beta: float) -> float:
        return float(-np.logaddexp(-((x - beta) ** 2) / 50, -((x - 20 + beta) ** 2) / 50).sum())

    low, high = modes()
    assert low == pytest.approx(-5, abs=0.1) and high == pytest.approx(25, abs=0.1)
    assert barrier_height() == pytest.approx(energy(10.0) - min(energy(low), energy(high)), rel=1e-9)


def test_swaps_between_equal_temperatures_are_all_taken_and_all_counted() -> None:
    trail = run(**ALIKE)
    assert np.atleast_1d(trail.tried).tolist() == np.atleast_1d(trail.accepted).tolist() == [4 * 3]
    assert trail.numbers == list(range(1, 13)) and np.array(trail.theta).shape == (12, 2, 3)
    assert np.all(trail.changes == 0) and np.all(trail.crossings == 0)


def test_replicas_in_different_modes_exchange_them_without_a_crossing() -> None:
    # Every swap is taken: the coldest changes its mode at every third step.
    trail = run(**ALIKE, places=APART)
    coldest, warmest = np.array(trail.theta).swapaxes(0, 1)
    assert (coldest[0] > 25).all() and (warmest[0] < -5).all()
    assert np.all(trail.changes == 4) and np.all(trail.crossings == 0)


def test_changes_of_the_mode_are_those_of_the_coldest_replica() -> None:
    # With the middle put where the chains start, falling to the mode below it is one change for each.
    trail = run("sgld-euler", temperature=10.0, step=1e-5, length=60, batch=10, chains=3, middle=28.0)
    above = np.array(trail.theta)[:, 0] > 28.0
    assert above[0].all() and not above[-1].any()
    counted = (np.diff(above.astype(int), axis=0) != 0).sum(axis=0)
    assert np.array_equal(trail.changes, counted) and np.array_equal(trail.crossings, counted)
    assert counted.sum() >= 3


@pytest.mark.power  # 0.7 s
def test_the_study_shows_traces_swaps_and_variances(small: Study) -> None:
    assert [len(panel.series) for panel in small.panels] == [3, 2, 2, 3, 2]
    printed, apart, who, ladder, paths, exponents = small.tables
    assert [row[-1] for row in who.rows] == [0, 0]
    assert [row[0] for row in printed.rows] == ["SGLD", "reSGLD", "VR-reSGLD"]
    assert [row[0] for row in apart.rows] == ["reSGLD", "VR-reSGLD"]
    assert printed.rows[0][1] is None and ladder.rows[0][1] is not None
    assert paths.rows[-1][-1] == 1.0 and all(row[1] > 0 for row in paths.rows)
    assert [row[0] for row in exponents.rows] == ["the minibatch n", "the step size eta"]
