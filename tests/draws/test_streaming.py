"""Draws that are written while they are drawn: the same ones, whatever ends the run, and readable at every moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
import zarr.storage._local

import sgverify
from sgverify.cli import main
from sgverify.configuration import load_configuration
from sgverify.draws import Sampling, memory, streaming
from sgverify.draws.streaming import DrawStore
from sgverify.errors import ConfigurationError
from sgverify.samplers.fused import driver
from sgverify.samplers.run.recording import Draws, record
from sgverify.samplers.run.run import Ensemble

FEW: dict[str, Any] = {"chains": 3, "steps": 210, "thinning": 2, "burn_in": 10}


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of some 50 draws, in files of one chain or two."""
    monkeypatch.setattr(streaming, "PART", 3500)
    monkeypatch.setattr(streaming, "CHUNK", 1000)


def read(place: Path) -> dict[str, xarray.Dataset]:
    groups = ("posterior", "sample_stats")
    return {group: xarray.open_dataset(place, engine="zarr", group=group).load() for group in groups}


def assert_first_draws(found: Any, whole: Any) -> int:
    """The draws of a store are the first ones of the whole run; returns their number."""
    count = found["posterior"].sizes["draw"]
    for group in ("posterior", "sample_stats"):
        expected = whole[group].isel(draw=slice(count)).drop_attrs()
        xarray.testing.assert_identical(found[group].load().drop_attrs().drop_encoding(), expected)
    return int(count)


@pytest.mark.parametrize(
    ("scheme", "settings"),
    [
        ("sghmc-aboba", {}),
        pytest.param("resgld", {}, marks=pytest.mark.power),
        ("sgld-euler", {"schedule": {"kind": "power", "scale": 1e-3, "alpha": 0.4}}),
    ],
)
def test_draws_are_the_same_in_parts(
    scheme: str, settings: dict[str, Any], small_parts: None, tmp_path: Path
) -> None:
    whole = sgverify.sample(scheme, **FEW, **settings)
    place = tmp_path / "draws.zarr"
    found = sgverify.sample(scheme, **FEW, **settings, out=place)
    assert assert_first_draws(found, whole) == 100
    assert assert_first_draws(read(place), whole) == 100
    assert found.attrs == whole.attrs
    assert found["posterior"].attrs == whole["posterior"].attrs
    names = [path.name for path in (place / "posterior" / "theta").iterdir()]
    assert len([name for name in names if name[0].isdigit()]) > 2
    assert [path.name for path in tmp_path.iterdir()] == ["draws.zarr"]


def test_few_draws_are_written_as_a_whole(tmp_path: Path) -> None:
    for name in ("draws.zarr", "draws.nc"):
        found = sgverify.sample("sgld-euler", chains=2, steps=20, out=tmp_path / name)
        assert found.posterior.theta.shape == (2, 20, 1)
        with pytest.raises(ConfigurationError, match="is there already"):
            sgverify.sample("sgld-euler", chains=2, steps=20, out=tmp_path / name)
    assert assert_first_draws(read(tmp_path / "draws.zarr"), found) == 20


class Killed(Exception):
    """The process ends here."""


@pytest.mark.parametrize(
    "files",
    [[40], pytest.param(range(200), marks=pytest.mark.power)],
    ids=["one", "all"],  # a run for each number of files
)
def test_whenever_the_process_ends_the_folder_can_be_read(
    files: Sequence[int], small_parts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file is written in one move, so that a process that is killed stops between two of them: between any two."""
    monkeypatch.setattr(streaming, "PART", 2000)
    how = {**FEW, "schedule": {"step": 1e-4}}
    whole, honest, taking = sgverify.sample("sgld-euler", **how), zarr.storage._local._put, DrawStore.take
    counts = set()
    for most in files:
        left: list[int] = []

        # The first part comes into its place in one move; then so many files are written.
        def take(*given: Any, most: int = most, left: list[int] = left) -> None:
            taking(*given)
            left[:] = left or [most]

        def put(*given: Any, left: list[int] = left, **more: Any) -> Any:
            if left:
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
            return honest(*given, **more)

        place = tmp_path / f"{most}.zarr"
        with monkeypatch.context() as patched:
            patched.setattr(zarr.storage._local, "_put", put)
            patched.setattr(DrawStore, "take", take)
            with suppress(Killed):
                sgverify.sample("sgld-euler", **how, out=place)
        found = read(place)
        counts.add(assert_first_draws(found, whole))
        assert found["posterior"].attrs["complete"] == (left[0] >= 0)
    assert min(counts) < 100
    assert len(files) == 1 or len(counts) > 2


@pytest.mark.power  # a process that is killed
def test_kill_9_leaves_what_was_written(tmp_path: Path) -> None:
    place = tmp_path / "draws.zarr"
    text = (
        "import sgverify; from sgverify.draws import streaming; streaming.PART = 3000; "
        f"sgverify.sample('sgld-euler', chains=3, steps=10**7, out={str(place)!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", text])
    while not (place / ".zmetadata").exists():
        assert process.poll() is None
        time.sleep(0.1)
    time.sleep(1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    found = read(place)
    count = found["posterior"].sizes["draw"]
    assert 50 < count < 10**7
    whole = sgverify.sample(
        "sgld-euler", chains=3, steps=count, schedule={"step": found["posterior"].step_size}
    )
    np.testing.assert_array_equal(found["posterior"].theta, whole.posterior.theta)


def test_ctrl_c_leaves_the_draws_so_far(
    small_parts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PART", 2000)
    # Blocks shorter than the run, also by a kernel whose text an earlier run in this process has proved.
    monkeypatch.setattr(driver, "_LONGEST", 16)
    whole, honest = sgverify.sample("sgld-euler", **FEW), DrawStore.take

    def pressed(self: DrawStore, draws: Draws) -> None:
        # In the middle of writing: the part is written nevertheless, and the run ends.
        if self.started and self._count < 60:
            signal.raise_signal(signal.SIGINT)
        honest(self, draws)

    monkeypatch.setattr(DrawStore, "take", pressed)
    found = sgverify.sample("sgld-euler", **FEW, out=tmp_path / "draws.zarr")
    assert 20 < assert_first_draws(found, whole) < 100
    assert found.attrs["complete"] == 0


def test_a_divergence_is_said_of_the_last_draw(small_parts: None, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "target": {"name": "quartic"},
        "schedule": {"step": 0.3},
        "chains": 4,
        "start": 0.0,
    }
    whole = sgverify.sample("sgld-euler", steps=20_000, **settings)
    found = sgverify.sample("sgld-euler", steps=20_000, out=tmp_path / "draws.zarr", **settings)
    assert assert_first_draws(found, whole) == whole.posterior.sizes["draw"]
    assert found.sample_stats.diverging.values[:, -1].any()
    assert found.attrs["diverged"] == whole.attrs["diverged"]


@pytest.mark.parametrize("compiled", [False, "kernel", "auto"])
def test_the_recorder_holds_one_part_at_a_time(compiled: Any, small_parts: None) -> None:
    sampling = Sampling.of("sghmc-aboba", load_configuration(None, **FEW), energy=True)
    ensemble = sampling.ensemble
    settings = replace(ensemble.settings, compiled=compiled)

    def again() -> Ensemble:
        return Ensemble(ensemble.scheme, ensemble.target, ensemble.rows, settings)

    whole, parts = record(again()), []
    store: Callable[[Draws], None] = lambda part: parts.append(replace(part, numbers=part.numbers.copy()))  # noqa: E731
    outlet = streaming.Outlet(store, 20)
    last = record(again(), outlet=outlet)
    parts.append(last)
    assert max(len(part.numbers) for part in parts) <= 21
    np.testing.assert_array_equal(np.concatenate([part.numbers for part in parts]), whole.numbers)
    np.testing.assert_array_equal(last.values["theta"], whole.values["theta"][:, -len(last.numbers) :])


def test_a_part_is_written_when_it_is_time_to(monkeypatch: pytest.MonkeyPatch) -> None:
    sampling = Sampling.of("sghmc-aboba", load_configuration(None, **FEW))
    parts: list[int] = []
    record(
        sampling.ensemble,
        outlet=streaming.Outlet(lambda part: parts.append(len(part.numbers)), 1000, seconds=0.0),
    )
    assert sum(parts) > 50


def test_a_statistic_that_comes_late_is_filled_up(tmp_path: Path) -> None:
    sampling = Sampling.of("sghmc-aboba", load_configuration(None, **FEW))
    whole, place = record(sampling.ensemble), tmp_path / "draws.zarr"
    store = DrawStore(place, sampling._made)

    def part(start: int, stop: int, **statistics: np.ndarray) -> Draws:
        values = {name: value[:, start:stop] for name, value in whole.values.items()}
        assert whole.energies is not None
        return replace(
            whole,
            numbers=whole.numbers[start:stop],
            values=values,
            energies=whole.energies[:, start:stop],
            steps=whole.steps[start:stop],
            statistics=statistics,
        )

    store.take(part(0, 50))
    store.take(part(50, 90, swaps=np.ones((3, 40), np.int64)))
    found = store.finish(part(90, 100, swaps=np.ones((3, 10), np.int64)))
    assert found.sample_stats.swaps.values.sum(-1).tolist() == [50, 50, 50]
    assert not found.sample_stats.swaps.values[:, :50].any()


def test_the_command_line_writes_more_than_fits(
    small_parts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    words = ["sample", "sgld-euler", "--set", "chains=3", "--set", "steps=200"]
    assert main(words) == 2
    assert "by out DIR.zarr" in capsys.readouterr().err
    place = tmp_path / "draws.zarr"
    assert main([*words, "--out", str(place)]) == 0
    assert "200 draws of each of 3 chains; more than fit into memory" in capsys.readouterr().out
    assert read(place)["posterior"].sizes["draw"] == 200
