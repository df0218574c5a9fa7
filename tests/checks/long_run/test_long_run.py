"""Optimizers and torch steps that do otherwise in some step, shape, group or dtype do not conform in a long run; right ones do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from sgverify import verify
from sgverify.checks.long_run.long_run import named_numbers
from sgverify.evidence import Evidence
from sgverify.schemes import TorchStep, langevin
from sgverify.schemes.torch_step import torch_step
from tests.zoo import long_runs as zoo

SHORTER = pytest.mark.usefixtures("short_runs")

FILE = Path(zoo.__file__)


def answer(found: str | TorchStep, **settings: Any) -> Evidence:
    reference = f"{FILE}:{found}" if isinstance(found, str) else found
    (found_here,) = verify(reference, checks=["long-run"], **settings)
    return found_here


def slow(*given: Any) -> Any:
    """A case for the slow tests: another of a kind that is tried already."""
    return pytest.param(*given, marks=pytest.mark.power)


@SHORTER
@pytest.mark.by_default("SeedOfStep")
@pytest.mark.parametrize(
    "name",
    ["SeedOfStep", "Momentum", *map(slow, ["Langevin", "Prefetched", "ForEach", "Fused", "UniformNoise"])],
)
def test_right_ones_conform(name: str) -> None:
    found = answer(name)
    assert found.verdict == "conforms" and found.scope.time.told.endswith("in a row")
    assert "a matrix" in found.scope.shapes.told and "float32" in found.scope.dtypes.told


@SHORTER
@pytest.mark.by_default(
    "Doubled-the variance of 5,000 entries is 2",
    "ColdFloats-with float32",
    "StdOfTheStart-with an lr that changes",
)
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Doubled", "the variance of 5,000 entries is 2"),
        ("ColdFloats", "with float32"),
        ("StdOfTheStart", "with an lr that changes"),
        slow("Ramp", "the variance of 5,000 entries is 2."),
        slow("OneForAll", "entries 1 apart have the correlation"),
        slow("OneForColumns", "entries 25 apart have the correlation"),
        slow("SeedOfPlace", "is correlated with that of a second vector 1 step before"),
        slow("ColdMatrices", "the variance of a matrix is 0.5"),
        slow("HotLargeTensors", "the variance of 5,000 entries is 1.3"),
        slow("SecondGroupCold", "the variance of 5,000 entries is"),
    ],
)
def test_wrong_ones_violate(name: str, told: str) -> None:
    found = answer(name)
    assert found.verdict == "violates" and told in found.reason


@SHORTER
@pytest.mark.by_default("RareKick-at step 311 and every 311 steps from there")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("RareKick", "at step 311 and every 311 steps from there"),
        slow("EverySeventh", "at step 3 and every 7 steps from there"),
        slow("Forgets", "at step 299 and every 300 steps from there"),
        slow("FallingLr", "of the steps from 4"),
        slow("Pool", "at every step"),
        slow("ColdScalars", "the noise of a scalar"),
    ],
)
def test_what_changes_from_step_to_step_is_told_and_no_pass(name: str, told: str) -> None:
    found = answer(name)
    assert found.verdict == "inconclusive" and told in found.reason
    assert found.scope.time.reach == "held"


@pytest.mark.power
def test_a_burn_in_that_an_option_sets_is_told() -> None:
    found = answer("WarmUp")
    assert found.verdict == "conforms"
    assert found.scope.time.told == "steps 61 to 5,000 in a row, from the end of burn_in=60 on"


@SHORTER
def test_a_plain_step_is_run_as_it_is() -> None:
    calls = 0

    def counted(theta: torch.Tensor, *, h: float, grad: Any, T: float) -> torch.Tensor:
        nonlocal calls
        calls += 1
        size = (2 * T * h) ** 0.5 * (calls % 250 != 0)
        return theta - h * grad(theta) + size * torch.randn_like(theta)

    found = answer(torch_step(langevin, order=1)(counted))
    assert found.verdict == "inconclusive" and "every 250 steps from there" in found.reason


@SHORTER
@pytest.mark.by_default("True")
@pytest.mark.parametrize("coupled", [False, True])
def test_a_step_of_entries_that_are_coupled_is_held_from_its_own_states(coupled: bool) -> None:
    def tamed(theta: torch.Tensor, *, h: float, grad: Any, T: float) -> torch.Tensor:
        g = grad(theta)
        size = torch.linalg.vector_norm(g) if coupled else g.abs()
        return theta - h * g / (1 + h * size) + (2 * T * h) ** 0.5 * torch.randn_like(theta)

    assert answer(torch_step(langevin, order=1)(tamed)).verdict == "conforms"


def test_a_step_that_goes_away_is_not_said_to_have_another_law(recwarn: pytest.WarningsRecorder) -> None:
    def climbing(theta: torch.Tensor, *, h: float, grad: Any, T: float) -> torch.Tensor:
        return theta + h * grad(theta) + (2 * T * h) ** 0.5 * torch.randn_like(theta)

    found = answer(torch_step(langevin, order=1)(climbing))
    assert found.verdict == "inconclusive" and "multiplies a distance by 1.099" in found.reason
    assert not [item for item in recwarn if item.category is RuntimeWarning]


PERIOD = 6131


def test_the_numbers_that_code_names_are_seen() -> None:
    def step(theta: torch.Tensor, *, h: float, grad: Any, T: float, cycle: int = 4093) -> torch.Tensor:
        inner = [theta for _ in range(3) if cycle != 8191]
        return inner[0] - h * grad(theta) * (PERIOD > 0)

    assert {PERIOD, 4093, 8191} <= set(named_numbers(torch_step(langevin)(step)))
