"""Draws in files: netCDF or Zarr by the suffix, written whole or not at all."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sgverify.errors import ConfigurationError

STREAMED = ".zarr"
"""The suffix of a folder, which is written while the draws are drawn; a netCDF file is written at their end."""

SUFFIXES = (".nc", STREAMED)


def check_place(place: str | Path, *, force: bool = False) -> Path:
    """Check before sampling that draws can be written to this place. Raises `ConfigurationError`.

    `force` replaces what is there: a netCDF file, or a Zarr folder and nothing else.
    """
    path = Path(place)
    given = f"--out {str(place)!r}"
    if path.suffix not in SUFFIXES:
        raise ConfigurationError(
            f"{given}: has the suffix {path.suffix!r}; expected .nc (netCDF, one file) or .zarr (a folder); name one of these"
        )
    folder = path.resolve().parent
    if not folder.is_dir():
        raise ConfigurationError(
            f"{given}: there is no folder {str(folder)!r}; expected one that exists; make it with mkdir -p"
        )
    if not os.access(folder, os.W_OK):
        raise ConfigurationError(
            f"{given}: the folder {str(folder)!r} cannot be written to; expected one that can; name another"
        )
    if path.exists() and path.is_dir() == (path.suffix == ".nc"):
        kind = "a folder" if path.is_dir() else "a file"
        raise ConfigurationError(
            f"{given}: is {kind} already; expected a new name, as {path.suffix} is written; name another"
        )
    if path.exists() and not force:
        raise ConfigurationError(
            f"{given}: is there already; expected a new name; name another, or replace it with --force"
        )
    if path.is_dir() and any(path.iterdir()) and not any((path / name).exists() for name in _ZARR):
        raise ConfigurationError(
            f"{given}: is a folder that holds something else than draws, and is not replaced; expected a new name; name another"
        )
    return path


def reading_line(place: str | Path) -> str:
    """The line of Python that reads a file of draws again."""
    if Path(place).suffix == ".nc":
        return f"import arviz; draws = arviz.from_netcdf({str(place)!r})"
    # ArviZ refuses stores under zarr 3; xarray reads every group of them.
    return f'import xarray; draws = xarray.open_datatree({str(place)!r}, engine="zarr")'


def write_draws(
    draws: Any, place: str | Path, *, force: bool = False, chunks: Mapping[str, Any] | None = None
) -> Path:
    """Write InferenceData where `check_place` allows it, in one move; an interrupted write leaves the old file.

    `chunks` are the encodings of a Zarr folder, by group and variable.
    """
    path = check_place(place, force=force)
    beside = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        if path.suffix == ".nc":
            draws.to_netcdf(str(beside), engine="h5netcdf")
        else:
            with warnings.catch_warnings():
                # Where a library of the stack announces what it will change, the reader of a summary cannot act on it.
                warnings.simplefilter("ignore", FutureWarning)
                # Format 2 is what every reader of Zarr reads, text and all.
                draws.to_datatree().to_zarr(
                    str(beside), mode="w", zarr_format=2, consolidated=True, encoding=dict(chunks or {})
                )
            if path.exists():
                shutil.rmtree(path)
        os.replace(beside, path)
    except OSError as error:
        raise ConfigurationError(
            f"--out {str(place)!r}: cannot be written ({error.strerror or error}); name a place with room that can be written to"
        ) from None
    finally:
        if beside.is_dir():
            # Files that are still being written beside may come and go.
            shutil.rmtree(beside, ignore_errors=True)
        else:
            beside.unlink(missing_ok=True)
    return path


_ZARR = (".zgroup", "zarr.json", ".zmetadata")
