"""Right code with numbers of its own and with other draws is not alarmed in a long run."""

from __future__ import annotations

import numpy as np
import pytest

from sgverify import adapt
from sgverify.checks.code.real_run import seeded
from sgverify.checks.long_run.running import run_affine
from sgverify.law.torch_chain import law_of
from sgverify.schemes import TorchStep
from tests.zoo import long_runs as zoo

KINETIC = {"dynamics": "kinetic", "map": {"lr": "h**2", "momentum_decay": "h*D"}}
RIGHT = (
    (zoo.Langevin, {}),
    (zoo.SeedOfStep, {}),
    (zoo.ForEach, {}),
    (zoo.Momentum, KINETIC),
    (zoo.UniformNoise, {}),
    (zoo.Momentum, {}),
    (zoo.Fused, {}),
)


def faults(seed: int, steps: int) -> list[str]:
    random = np.random.default_rng(seed)
    found, settings = RIGHT[seed % len(RIGHT)]
    step = adapt(found, **settings)
    assert isinstance(step, TorchStep) and step.as_it_is is not None
    first, second = (
        {
            "h": float(random.uniform(0.02, 0.12)),
            "T": float(random.uniform(0.3, 3)),
            "D": float(random.uniform(0.8, 3)),
        }
        for _ in range(2)
    )
    centre, rate = float(random.normal()), float(random.uniform(0.5, 1.5))
    with seeded(seed):
        run = step.as_it_is(first, second, centre, rate)
        laws = [law_of(step, part.numbers, np.array([centre]), rate)[0] for part in run.parts]
        assert all(law is not None for law in laws)
        return [
            str(item) for item in run_affine(run, [law for law in laws if law], centre, steps, seed).found
        ]


def test_right_runs_are_not_alarmed() -> None:
    assert [text for seed in range(3) for text in faults(seed, 300)] == []


@pytest.mark.power
def test_many_right_runs_are_not_alarmed() -> None:
    assert [text for seed in range(200) for text in faults(seed, 500)] == []
