"""Draws in files: what is read again is what was in memory, and nothing is overwritten by accident."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray

import sgverify
from sgverify.draws import check_place, write_draws
from sgverify.errors import ConfigurationError


@pytest.fixture(scope="module")
def draws() -> Any:
    return sgverify.sample(
        "sgnht-euler", target={"name": "gaussian-mean", "dim": 2, "size": 5}, chains=3, steps=40
    )


def opened(path: Path, group: str) -> xarray.Dataset:
    engine = "h5netcdf" if path.suffix == ".nc" else "zarr"
    return xarray.open_dataset(path, group=group, engine=engine)


@pytest.mark.parametrize("name", ["draws.nc", "draws.zarr"])
def test_the_file_holds_what_was_in_memory(draws: Any, name: str, tmp_path: Path) -> None:
    path = write_draws(draws, tmp_path / name)
    for group in ("posterior", "sample_stats", "observed_data"):
        with opened(path, group) as found:
            xarray.testing.assert_identical(found.load().drop_attrs(), draws[group].drop_attrs())
            assert found.attrs["scheme"] == "sgnht-euler"
            assert found.attrs["command"] == draws.attrs["command"]
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_a_netcdf_file_is_plain_hdf5(draws: Any, tmp_path: Path) -> None:
    with h5py.File(write_draws(draws, tmp_path / "draws.nc")) as file:
        np.testing.assert_array_equal(file["posterior/theta"][()], draws.posterior.theta)


def test_arviz_reads_the_file(draws: Any, tmp_path: Path) -> None:
    from sgverify.draws.inference_data import arviz

    found = arviz().from_netcdf(str(write_draws(draws, tmp_path / "draws.nc")))
    assert found.groups() == ["posterior", "sample_stats", "observed_data"]
    np.testing.assert_array_equal(found.posterior.theta, draws.posterior.theta)


@pytest.mark.by_default("draws.nc")
@pytest.mark.parametrize("name", ["draws.nc", "draws.zarr"])
def test_what_is_there_is_replaced_only_by_force(draws: Any, name: str, tmp_path: Path) -> None:
    path = write_draws(draws, tmp_path / name)
    with pytest.raises(ConfigurationError, match="is there already.*--force"):
        write_draws(draws, path)
    write_draws(draws, path, force=True)
    with opened(path, "posterior") as found:
        np.testing.assert_array_equal(found.theta, draws.posterior.theta)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("draws.csv", r"suffix '.csv'; expected .nc \(netCDF, one file\) or .zarr"),
        ("draws", "suffix ''; expected .nc"),
        ("nowhere/draws.nc", "there is no folder .*mkdir -p"),
        ("folder.nc", "is a folder already"),
        ("file.zarr", "is a file already"),
        ("other.zarr", "holds something else than draws, and is not replaced"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before(name: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "folder.nc").mkdir()
    (tmp_path / "file.zarr").touch()
    (tmp_path / "other.zarr").mkdir()
    (tmp_path / "other.zarr" / "thesis.tex").touch()
    with pytest.raises(ConfigurationError, match=expected):
        check_place(tmp_path / name, force=True)


def test_a_folder_without_write_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write everywhere: what the system is asked is answered for it.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ConfigurationError, match="cannot be written to"):
        check_place(tmp_path / "draws.nc")


def test_an_interrupted_write_leaves_what_was_there(
    draws: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_draws(draws, tmp_path / "draws.nc")
    before = path.read_bytes()

    def stopped(draws: Any, path: Path) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("sgverify.draws.files.write_netcdf", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_draws(draws, path, force=True)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["draws.nc"]
