"""Two runs at one place: the second is refused before it removes anything, and what is there is replaced by what is whole."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sgverify
from sgverify.configuration import load_configuration
from sgverify.draws import Sampling
from sgverify.draws.files import read_netcdf
from sgverify.draws.stored.folder import DrawsFolder
from sgverify.errors import ConfigurationError, UserError
from tests.draws.stored.test_resuming import FEW, Killed, assert_first_draws, files, often, read

__all__ = ["often"]

LONGER: dict[str, Any] = {**FEW, "steps": 330}


def forced(place: Path, **how: Any) -> Any:
    """The draws of `sample --force`."""
    sampling = Sampling.of("sghmc-aboba", load_configuration(None, **{**FEW, **how}), streamed=True)
    return sampling.draw(out=place, force=True)


def interrupted(monkeypatch: pytest.MonkeyPatch, after: int, act: Callable[[], object]) -> None:
    """Let something happen before the next chunk is written after so many."""
    honest, left = DrawsFolder.write, [after]

    def write(self: DrawsFolder, *given: Any) -> None:
        left[0] -= 1
        if left[0] == -1:
            act()
        honest(self, *given)

    monkeypatch.setattr(DrawsFolder, "write", write)


@pytest.mark.parametrize("name", ["draws.zarr", pytest.param("draws.nc", marks=pytest.mark.power)])
def test_a_run_that_is_forced_over_one_that_goes_on_loses_neither(
    name: str, often: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / name
    sgverify.sample("sghmc-aboba", **{**FEW, "seed": 7}, out=place)
    old = content(place)
    waiting, over = threading.Event(), threading.Event()

    def slow() -> None:
        waiting.set()
        assert over.wait(60)

    with monkeypatch.context() as patched:
        interrupted(patched, 2, slow)
        first = threading.Thread(target=forced, args=(place,), kwargs=LONGER)
        first.start()
        assert waiting.wait(60)
        for second in (
            lambda: forced(place),
            lambda: sgverify.sample("sghmc-aboba", **FEW, out=place, resume=True),
        ):
            with pytest.raises(ConfigurationError, match="another process is drawing into it"):
                second()
        assert content(place) == old
        over.set()
        first.join()
    whole = sgverify.sample("sghmc-aboba", **LONGER)
    if place.is_dir():
        assert assert_first_draws(read(place), whole) == whole.posterior.sizes["draw"]
    else:
        assert (read_netcdf(place).posterior.theta.values == whole.posterior.theta.values).all()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def content(place: Path) -> Any:
    return place.read_bytes() if place.is_file() else files(place)


def test_a_forced_run_that_is_killed_leaves_the_draws_of_before_and_goes_on(
    often: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, undisturbed = tmp_path / "draws.zarr", tmp_path / "whole.zarr"
    sgverify.sample("sghmc-aboba", **{**FEW, "seed": 7}, out=place)
    old = files(place)

    def end() -> None:
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        interrupted(patched, 6, end)
        forced(place)
    assert files(place) == old
    assert (tmp_path / "draws.zarr.partial.zarr").exists()
    sgverify.sample("sghmc-aboba", **FEW, out=place, resume=True)
    sgverify.sample("sghmc-aboba", **FEW, out=undisturbed)
    assert files(place) == files(undisturbed)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["draws.zarr", "whole.zarr"]


@pytest.mark.power
def test_draws_that_cannot_be_replaced_stay(
    often: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, honest = tmp_path / "draws.zarr", os.replace
    sgverify.sample("sghmc-aboba", **{**FEW, "seed": 7}, out=place)
    old = files(place)

    def refused(source: Any, target: Any) -> None:
        if Path(target) == place and Path(source).name.endswith("partial.zarr"):
            raise OSError(errno.EIO, "Input/output error")
        honest(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", refused)
        with pytest.raises(UserError, match="Input/output error"):
            forced(place)
    assert files(place) == old
    sgverify.sample("sghmc-aboba", **FEW, out=place, resume=True)
    assert files(place) != old and [path.name for path in tmp_path.iterdir()] == ["draws.zarr"]
