"""Chains on several processes: the bits of one process, whichever of them end, and however the chains are divided."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sgverify
from sgverify.draws.stored import folder, shards
from sgverify.draws.stored.folder import ChunkGrid
from sgverify.errors import ConfigurationError, UserError
from sgverify.keeping import workers as running
from sgverify.targets import build_target
from tests.draws.stored.test_resuming import FEW, assert_first_draws, killed_after, often, read
from tests.tables import each_row

__all__ = ["often"]

SIX: dict[str, Any] = {**FEW, "chains": 6, "steps": 20, "burn_in": 4, "thinning": 1}
"""Sixteen draws in parts of some eight; every step is a job of its own, of which each stores what it drew."""


class HereInTurn:
    """A pool whose jobs run in this process; each begins at the halt that the last one has stored, as a new process does."""

    made = 0
    ending: frozenset[int] = frozenset()

    def __init__(self) -> None:
        type(self).made += 1
        self.number = type(self).made

    def submit(self, function: Any, *given: Any) -> Future[Any]:
        found: Future[Any] = Future()
        shards._SHARDS.clear()
        if self.number in self.ending:
            found.set_exception(BrokenProcessPool())
            return found
        try:
            found.set_result(function(*given))
        except Exception as error:
            found.set_exception(error)
        return found

    def shutdown(self, wait: bool = True) -> None:
        pass


@pytest.fixture
def in_turn(often: None, monkeypatch: pytest.MonkeyPatch) -> type[HereInTurn]:
    class Fresh(HereInTurn):
        made = 0

    monkeypatch.setattr(running, "new_process", Fresh)
    monkeypatch.setattr(folder, "PART", 800)
    return Fresh


@each_row(
    ("chains", "layout", "workers", "expected"),
    [
        (range(6), ChunkGrid(9, 1), 2, [(0, 3), (3, 6)]),
        (range(6), ChunkGrid(9, 1), 4, [(0, 1), (1, 3), (3, 4), (4, 6)]),
        (range(7), ChunkGrid(9, 3), 2, [(0, 3), (3, 7)]),
        (range(7), ChunkGrid(9, 3), 9, [(0, 3), (3, 6), (6, 7)]),
        (range(7), ChunkGrid(9, 7), 2, [(0, 7)]),
    ],
)
def test_no_two_processes_write_to_one_chunk(
    chains: range, layout: ChunkGrid, workers: int, expected: list[tuple[int, int]]
) -> None:
    found = layout.cut(chains, workers)
    assert [(part.start, part.stop) for part in found] == expected
    assert all(part.start % layout.chains == 0 for part in found)


def test_killed_and_divided_again_and_again(
    in_turn: type[HereInTurn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, place = sgverify.sample("sghmc-aboba", **SIX), tmp_path / "draws.zarr"
    for workers, writes in ((2, 180), (3, 50)):
        with killed_after(monkeypatch, writes):
            sgverify.sample("sghmc-aboba", **SIX, out=place, workers=workers, resume=place.exists())
        assert assert_first_draws(read(place), whole) < 16
    found = sgverify.sample("sghmc-aboba", **SIX, out=place, workers=2, resume=True)
    assert assert_first_draws(found, whole) == 16
    assert found.attrs == whole.attrs


@pytest.mark.power
@pytest.mark.parametrize("scheme", ["vr-resgld", "csgld", "psgld"])
def test_replicas_and_weights_stay_with_their_chain(
    scheme: str, in_turn: type[HereInTurn], tmp_path: Path
) -> None:
    how = {**SIX, "gradient": {"kind": "iid"}}
    whole = sgverify.sample(scheme, **how)
    found = sgverify.sample(scheme, **how, out=tmp_path / "draws.zarr", workers=3)
    assert assert_first_draws(found, whole) == 16
    assert found.attrs == whole.attrs


@pytest.mark.parametrize("scheme", ["sgld-euler", pytest.param("resgld", marks=pytest.mark.power)])
def test_all_chains_end_where_the_first_diverges(
    scheme: str, in_turn: type[HereInTurn], tmp_path: Path
) -> None:
    how: dict[str, Any] = {
        "target": {"name": "quartic"},
        "schedule": {"step": 0.3},
        "chains": 4,
        "start": 0.0,
        "steps": 20_000,
        "thinning": 7,
    }
    whole = sgverify.sample(scheme, **how)
    found = sgverify.sample(scheme, **how, out=tmp_path / "draws.zarr", workers=4)
    assert assert_first_draws(found, whole) == whole.posterior.sizes["draw"]
    assert found.attrs == whole.attrs


def test_a_process_that_ends_is_replaced_once(in_turn: type[HereInTurn], tmp_path: Path) -> None:
    few = {**SIX, "steps": 8}
    whole = sgverify.sample("sghmc-aboba", **few)
    in_turn.ending = frozenset({1})
    found = sgverify.sample("sghmc-aboba", **few, out=tmp_path / "draws.zarr", workers=2)
    assert assert_first_draws(found, whole) == 4
    in_turn.made, in_turn.ending = 0, frozenset({2, 3})
    with pytest.raises(UserError, match="the chains 3 to 5 ended twice without an answer.*--resume"):
        sgverify.sample("sghmc-aboba", **few, out=tmp_path / "other.zarr", workers=2)


def test_what_another_process_cannot_make_is_refused(in_turn: type[HereInTurn], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="workers=2 without out"):
        sgverify.sample("sghmc-aboba", **SIX, workers=2)
    scheme = sgverify.schemes.find_scheme("sghmc-aboba")
    made = replace(scheme, name="mine")
    with pytest.raises(ConfigurationError, match="was made in Python"):
        sgverify.sample(made, **SIX, out=tmp_path / "draws.zarr", workers=2)
    target = build_target(type("Keys", (), {"name": "gaussian"}))
    with pytest.raises(ConfigurationError, match="target='gaussian'.*was made in Python"):
        sgverify.sample("sghmc-aboba", target=target, **SIX, out=tmp_path / "draws.zarr", workers=2)
    assert not list(tmp_path.iterdir())


def halts(place: Path) -> set[str]:
    return {path.name for path in place.glob(".resume/halts-*/*.state")}


@pytest.mark.power  # processes that load torch
def test_processes_of_their_own(tmp_path: Path) -> None:
    how = {**SIX, "thinning": 10_000, "burn_in": 0}
    whole, place = sgverify.sample("sghmc-aboba", **{**how, "steps": 200_000}), tmp_path / "draws.zarr"
    words = ["sample", "sghmc-aboba", "--out", str(place), "--workers", "2", "--resume"]
    for key in ("chains=6", "steps=1e9", "thinning=10000", "schedule.step=1e-3"):
        words += ["--set", key]
    for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 128 + signal.SIGTERM)):
        before = halts(place)
        process = subprocess.Popen(
            [sys.executable, "-m", "sgverify", *words], stderr=subprocess.PIPE, text=True
        )
        while len(halts(place) - before) < 4 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)
        said = process.communicate()[1]
        assert process.returncode == code, said
        # The other processes end with the one that began them.
        time.sleep(1.0)
    found = read(place)
    assert found["posterior"].sizes["draw"] >= 20
    assert (
        assert_first_draws({name: group.isel(draw=slice(20)) for name, group in found.items()}, whole) == 20
    )
