"""How often rates from samples err, and how often they see a planted bug; slow, run with `pytest -m power`."""

from __future__ import annotations

import pytest

from sgverify.checks import rate
from sgverify.exact.readings.formula import plant
from sgverify.schemes import find_scheme

SEEDS = 40
SHORT = {"target": {"name": "gaussian"}, "temperature": 1.5, "chains": 512, "steps": 100}


def verdicts(scheme, **settings) -> list[str]:
    return [
        rate(scheme, quantity="stationary-bias", method="monte-carlo", seed=seed, **SHORT, **settings).verdict
        for seed in range(SEEDS)
    ]


@pytest.mark.power
@pytest.mark.parametrize(("name", "step"), [("sgld-euler", 0.25), ("sghmc-aboba", 1.0)])
def test_right_schemes_are_never_refuted(name: str, step: float) -> None:
    """At the level 4e-4 of each a single false verdict among so many has the chance of 2 in 100."""
    found = verdicts(find_scheme(name), schedule={"step": step})
    assert "violates" not in found


@pytest.mark.power
def test_wrong_noise_is_refuted_nearly_always() -> None:
    weak = plant(find_scheme("sgld-euler"), "sqrt(2*T*h)", "sqrt(T*h)")
    assert verdicts(weak, schedule={"step": 0.25}).count("violates") >= SEEDS - 1
