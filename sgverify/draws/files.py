"""Draws in files, netCDF or Zarr by the suffix, written whole or not at all, where the place is free and has room."""

from __future__ import annotations

import errno
import gc
import io
import os
import shutil
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sgverify.errors import ConfigurationError
from sgverify.keeping.files import alone_at, check_new, put, replacing, unfinished


def write_netcdf(draws: Any, path: Path) -> None:
    """Write InferenceData in one move, a group after the other. Raises `OSError` where it cannot be written to its end."""
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    # HDF5 may end the process where a disk runs full: it writes to memory, which the compressed draws need once more.
    file = io.BytesIO()
    with warnings.catch_warnings():
        # What a library of the stack will change, the reader of a summary cannot act on.
        warnings.simplefilter("ignore", FutureWarning)
        with h5netcdf.File(file, "w") as whole:
            whole.attrs.update(draws.attrs)
            for group in draws.groups():
                store = H5NetCDFStore(whole, group=group, mode="a")
                draws[group].map(_compressed, keep_attrs=True).dump_to_store(store)
    put(path, file.getbuffer())


def read_netcdf(path: Path) -> Any:
    """InferenceData of a netCDF file, in memory. Raises whatever HDF5 and its readers raise for a file that is damaged."""
    from sgverify.draws.inference_data import arviz

    with _silent_ends():
        made = arviz().from_netcdf(str(path))
        made.load(inplace=True)
    return made


@contextmanager
def _silent_ends() -> Iterator[None]:
    """A context in which an object that could not be made says nothing when it is removed: h5netcdf prints a traceback then."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        yield
    except Exception as error:
        # The frames of the error hold the object.
        traceback.clear_frames(error.__traceback__)
        raise
    finally:
        gc.collect()
        sys.unraisablehook = before


def _compressed(value: Any) -> Any:
    """The variable, to be compressed."""
    plain = value.drop_encoding()
    if plain.dtype.kind in "iuf":
        plain.encoding["zlib"] = True
    return plain


NETCDF, STREAMED = ".nc", ".zarr"
"""The suffix of a netCDF file, and that of a folder: both are written while the draws are drawn, the file from a folder beside
it."""

SUFFIXES = (NETCDF, STREAMED)

PARTIAL = ".partial.zarr"
"""What is appended to the name of a file for the folder of draws that it will be written from, and to that of a folder for the one
that will replace it."""

COPIES = 2.0
"""The room that a netCDF file needs, in sizes of the draws: the folder is removed after the file is written."""


def partial_of(place: Path, *, force: bool = False) -> Path:
    """The folder that draws are written to while they are drawn: the place itself, if a folder is asked for that replaces none."""
    beside = place.with_name(place.name + PARTIAL)
    replaces = force and place.exists()
    return place if place.suffix == STREAMED and not (replaces or beside.exists()) else beside


@contextmanager
def alone_with(place: str | Path) -> Iterator[None]:
    """A context for one process at a time that draws to this place. Raises `ConfigurationError` if another one does."""
    with ExitStack() as stack:
        try:
            stack.enter_context(alone_at(Path(os.path.realpath(place))))
        except BlockingIOError:
            raise ConfigurationError(
                f"--out {str(place)!r}: another process is drawing into it; expected one at a time; wait for it, or end it"
            ) from None
        except OSError as error:
            raise ConfigurationError(
                f"--out {str(place)!r}: cannot be written ({error.strerror}); expected a new name; name another"
            ) from None
        yield


def check_place(place: str | Path, *, force: bool = False, resume: bool = False) -> Path:
    """Check before sampling that draws can be written to this place. Raises `ConfigurationError`.

    `force` replaces what is there: a netCDF file, or a Zarr folder and nothing else. `resume` goes on with it.
    """
    path = Path(place)
    given = f"--out {str(place)!r}"
    if force and resume:
        raise ConfigurationError(
            f"{given}: --force starts anew and --resume goes on with what is there; expected one of them"
        )
    if path.suffix not in SUFFIXES:
        raise ConfigurationError(
            f"{given}: has the suffix {path.suffix!r}; expected .nc (netCDF, one file) or .zarr (a folder); name one of these"
        )
    try:
        check_new(path)
    except FileNotFoundError:
        folder = str(path.absolute().parent)
        raise ConfigurationError(
            f"{given}: there is no folder {folder!r}; expected one that exists; make it with mkdir -p"
        ) from None
    except OSError as error:
        if error.errno != errno.EISDIR:
            raise ConfigurationError(
                f"{given}: cannot be written to ({error.strerror}); expected a new name; name another"
            ) from None
    if path.exists() and path.is_dir() == (path.suffix == ".nc"):
        kind = "a folder" if path.is_dir() else "a file"
        raise ConfigurationError(
            f"{given}: is {kind} already; expected a new name, as {path.suffix} is written; name another"
        )
    if path.exists() and not force and not resume:
        raise ConfigurationError(
            f"{given}: is there already; expected a new name; name another, go on with it by --resume, or replace it with --force"
        )
    partial = partial_of(path)
    if partial != path and partial.exists() and not force and not resume:
        raise ConfigurationError(
            f"{given}: a run that was stopped has left its draws in {partial.name}; expected a new name; go on with it by "
            "--resume, or start anew with --force"
        )
    if path.is_dir() and any(path.iterdir()) and not any((path / name).exists() for name in _ZARR):
        raise ConfigurationError(
            f"{given}: is a folder that holds something else than draws, and is not replaced; expected a new name; name another"
        )
    return path


def check_room(place: Path, size: int) -> None:
    """Check before sampling that the disk has room for `size` bytes of draws. Raises `ConfigurationError` with both numbers.

    Compressed draws take less, by a few percent; other processes may take what is free now.
    """
    from sgverify.draws.step_choice import size_text

    folder = place.resolve().parent
    needed = int(size * COPIES) if place.suffix == NETCDF else size
    free, mend = (
        shutil.disk_usage(folder).free,
        "make room, name a place on another disk, take a larger thinning or fewer steps",
    )
    if needed > free:
        kind = " and, at their end, the netCDF file" if place.suffix == NETCDF else ""
        raise ConfigurationError(
            f"--out {str(place)!r}: the draws{kind} take {size_text(needed)}; expected no more than the {size_text(free)} that "
            f"are free in {str(folder)!r}; {mend}"
        )
    limit = _largest_file()
    if place.suffix == NETCDF and limit is not None and size > limit:
        raise ConfigurationError(
            f"--out {str(place)!r}: the draws take {size_text(size)}; expected no more than the {size_text(limit)} to which the "
            "files of this process are limited (ulimit -f); raise the limit, or name a folder DIR.zarr, which has many small files"
        )


def _largest_file() -> int | None:
    """The bytes that a file of this process may have; None if there is no limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return None if soft == resource.RLIM_INFINITY else soft


def reading_line(place: str | Path) -> str:
    """The line of Python that reads a file of draws again."""
    if Path(place).suffix == ".nc":
        return f"import arviz; draws = arviz.from_netcdf({str(place)!r})"
    # ArviZ refuses stores under zarr 3; xarray reads every group of them.
    return f'import xarray; draws = xarray.open_datatree({str(place)!r}, engine="zarr")'


def remove_folder(place: Path) -> None:
    """Remove a folder in one move: no part of it is left under its name, whenever the process is killed."""
    with unfinished(place) as beside:
        os.replace(place, beside)


def write_draws(draws: Any, place: str | Path, *, force: bool = False) -> Path:
    """Write InferenceData where `check_place` allows it, in one move; an interrupted write leaves the old file."""
    check_place(place, force=force)
    with alone_with(place):
        return put_draws(draws, place, force=force)


def put_draws(draws: Any, place: str | Path, *, force: bool = False) -> Path:
    """Write InferenceData within `alone_with` the place."""
    path = check_place(place, force=force)
    try:
        with replacing(path) as beside, warnings.catch_warnings():
            # Where a library of the stack announces what it will change, the reader of a summary cannot act on it.
            warnings.simplefilter("ignore", FutureWarning)
            if path.suffix == NETCDF:
                write_netcdf(draws, beside)
            else:
                # Format 2 is what every reader of Zarr reads, text and all.
                draws.to_datatree().to_zarr(str(beside), mode="w", zarr_format=2, consolidated=True)
    except OSError as error:
        raise ConfigurationError(
            f"--out {str(place)!r}: cannot be written ({error.strerror or error}); name a place with room that can be written to"
        ) from None
    return path


_ZARR = (".zgroup", "zarr.json", ".zmetadata")
