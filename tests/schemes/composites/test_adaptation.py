"""What an adaptively weighted run is made of: presets, defaults and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sgverify.configuration import load_configuration
from sgverify.configuration.model import PartitionTable
from sgverify.errors import ConfigurationError, DefinitionError
from sgverify.schemes.composites.adaptation import Adaptation, PartitionChoice, make_adaptation, presets
from sgverify.targets import build_target
from tests.tables import each_row


def made(
    tau: float = 1.0, *, cumulative: bool = True, target: dict[str, Any] | None = None, **choice: Any
) -> Adaptation:
    table = load_configuration({"target": target or {"name": "gaussian"}}).target
    return make_adaptation(PartitionChoice(**choice), build_target(table), tau, cumulative=cumulative)


def test_the_printed_settings_are_presets_and_what_is_given_goes_over_them() -> None:
    exploration = made(20.0, preset="exploration")
    assert (exploration.partition.edges[0], exploration.partition.edges[-1], exploration.partition.bins) == (
        0.0,
        20.0,
        30,
    )
    assert (exploration.zeta, exploration.omega(1)) == (5.0, 0.1 / 1001)
    assert made(2.0, preset="griewank", zeta=1.5).zeta == 1.5
    assert made(preset="optimisation-rastrigin").omega(1) == 200 / 1001
    assert set(presets()) == {"exploration", "griewank", "optimisation", "optimisation-rastrigin"}


@pytest.mark.parametrize(
    "name", ["gaussian-mean", "double-well", "mixture", "logistic-regression", "quartic"]
)
def test_the_default_range_begins_at_the_least_energy_there_is(name: str) -> None:
    adaptation = made(0.5, target={"name": name})
    target = build_target(load_configuration({"target": {"name": name}}).target)
    rng = np.random.default_rng(3)
    points = target.location_float64(0.5) + 2 * target.spread_float64(0.5) * rng.normal(
        size=(300, target.dim)
    )
    energies = target.energy_float64(points)
    low, high = adaptation.partition.edges[0], adaptation.partition.edges[-1]
    assert energies.min() >= low - 1e-6 * (1 + abs(low))
    assert high - low == pytest.approx(0.5 * (target.dim / 2 + 4 * (target.dim / 2) ** 0.5 + 4))
    assert (energies < high).mean() > 0.4


def test_a_run_starts_flat_and_as_the_plain_scheme() -> None:
    assert made().start == 1.0
    assert made(cumulative=False, bins=8).start == 0.125


def test_weights_are_for_the_temperature_of_the_run_unless_another_is_wanted() -> None:
    assert made(3.0).temperature == 3.0
    assert made(3.0, temperature=1.0).temperature == 1.0


@each_row(
    ("choice", "message"),
    [
        ({"preset": "rastrigin"}, "preset='rastrigin': expected one of exploration"),
        ({"edges": [0.0, 1.0, 2.0], "bins": 3}, r"edges was given with partition\.bins"),
        ({"low": 3.0, "high": 1.0}, "low < high"),
        ({"bins": 1}, "at least 2 regions"),
        ({"zeta": 0.0}, "zeta"),
        ({"alpha": 0.5}, "1/2 < alpha"),
        ({"scale": 100.0, "offset": 1.0}, "below 1"),
        ({"weights": "psi"}, "region, smooth"),
        ({"temperature": -1.0}, "temperature"),
    ],
)
def test_what_cannot_run_is_refused_by_the_name_of_its_key(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        made(**choice)


def test_the_names_of_presets_are_those_that_a_configuration_takes() -> None:
    for name in presets():
        assert load_configuration(partition={"preset": name}).partition.preset == name
    with pytest.raises(
        ConfigurationError, match=r"^partition\.preset='rastrigin': expected 'exploration', 'griewank', "
    ):
        load_configuration(partition={"preset": "rastrigin"})


def test_every_preset_makes_a_run_and_has_keys_of_the_table_alone() -> None:
    for name, table in presets().items():
        assert set(table) <= set(PartitionTable.model_fields) - {"preset"}
        assert made(2.0, preset=name, target={"name": "mixture"}).partition.bins >= 2


def test_two_papers_never_share_the_name_of_a_preset(monkeypatch, tmp_path) -> None:
    for paper in ("one", "two"):
        (tmp_path / "papers" / paper).mkdir(parents=True)
        (tmp_path / "papers" / paper / "presets.toml").write_text("[steep]\nzeta = 2.0\n")
    monkeypatch.setattr("sgverify.schemes.composites.adaptation.resources.files", lambda _: tmp_path)
    with pytest.raises(
        DefinitionError, match=r"papers/two/presets\.toml: another paper has a preset 'steep'"
    ):
        presets.__wrapped__()
