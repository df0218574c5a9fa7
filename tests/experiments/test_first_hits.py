"""First passages of a level are those of the path that the sampler shows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reports.experiments.awsgld.first_hits import NEVER, sample_hits
from sgverify.configuration import load_configuration
from sgverify.samplers import Settings, fixed
from sgverify.samplers.run.leg import RunObserver
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes.composites.adaptation import PartitionChoice
from sgverify.schemes.loading import load_step
from sgverify.targets import Target, build_target

CHOICE = PartitionChoice(
    low=-0.5, high=3.0, bins=6, zeta=0.8, scale=2.0, alpha=0.6, offset=4.0, temperature=0.8
)
SETTINGS = Settings(chains=3, start=0.5, temperature=1.5, partition=CHOICE, seed=5)


def target() -> Target:
    return build_target(load_configuration({"target": {"name": "double-well"}}).target)


@pytest.mark.parametrize("name", ["sgld-euler", "awsgld"])
def test_first_passages_are_those_of_the_path(name: str) -> None:
    given = (load_step(name), target(), fixed([0.02, 0.05], [80]))
    hits = sample_hits(*given, level=-0.1, settings=SETTINGS)  # type: ignore[arg-type]
    ensemble = Ensemble(*given, SETTINGS)  # type: ignore[arg-type]
    paths: list[torch.Tensor] = []

    class Path(RunObserver):
        def show(self, rows: object, number: int, state: tuple[torch.Tensor, ...], steps: object) -> None:
            paths.append(ensemble.potential.energy(state[0]))

    with torch.no_grad():
        for _ in ensemble.blocks(Path()):
            pass
    energies = torch.stack(paths).numpy()
    below = energies <= -0.1
    np.testing.assert_array_equal(hits.first, np.where(below.any(0), below.argmax(0) + 1, NEVER))
    whole = (hits.first == NEVER).any(-1)
    np.testing.assert_array_equal(hits.best[whole], energies.min(0)[whole])
    assert hits.reached.shape == hits.median.shape == (2,)


def test_a_level_that_nobody_reaches_is_reached_by_no_share_and_after_no_time() -> None:
    hits = sample_hits(load_step("csgld"), target(), fixed([0.02], [5]), level=-99.0, settings=SETTINGS)
    assert hits.reached.tolist() == [0.0] and hits.median.tolist() == [np.inf]
    assert np.isfinite(hits.best).all()
