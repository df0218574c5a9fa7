"""Draws as a netCDF file, by a library that must not see a disk run full: HDF5 may end the process then."""

from __future__ import annotations

import gc
import io
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def write_netcdf(draws: Any, path: Path) -> None:
    """Write InferenceData, a group after the other. Raises `OSError` where the file cannot be written to its end."""
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    with UnfailingFile(path) as file:
        with warnings.catch_warnings():
            # What a library of the stack will change, the reader of a summary cannot act on.
            warnings.simplefilter("ignore", FutureWarning)
            with h5netcdf.File(file, "w") as whole:
                whole.attrs.update(draws.attrs)
                for group in draws.groups():
                    store = H5NetCDFStore(whole, group=group, mode="a")
                    draws[group].map(_compressed, keep_attrs=True).dump_to_store(store)
        file.close()
    if file.error is not None:
        raise file.error


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


class UnfailingFile(io.RawIOBase):
    """A new file that takes everything: after the first error it writes nothing any more, and keeps the error."""

    def __init__(self, path: Path) -> None:
        self.error: OSError | None = None
        self._file = path.open("w+b", buffering=0)

    def readable(self) -> bool:
        """True."""
        return True

    def writable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """See `io.RawIOBase`."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """See `io.RawIOBase`."""
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        """See `io.RawIOBase`; zeros where nothing could be written."""
        view = memoryview(buffer).cast("B")
        count = self._file.readinto(view) or 0
        if self.error is not None:
            view[count:] = bytes(len(view) - count)
            return len(view)
        return count

    def write(self, data: Any) -> int:
        """Write all of the data, or none after an error."""
        view = memoryview(data).cast("B")
        start, done = self._file.tell(), 0
        while self.error is None and done < len(view):
            try:
                done += self._file.write(view[done:]) or 0
            except OSError as error:
                self.error = error
        self._file.seek(start + len(view))
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """See `io.RawIOBase`."""
        size = self._file.tell() if size is None else size
        if self.error is None:
            try:
                return self._file.truncate(size)
            except OSError as error:
                self.error = error
        return size

    def close(self) -> None:
        """Close the file; an error of this, too, is kept."""
        if not self._file.closed:
            try:
                self._file.close()
            except OSError as error:
                self.error = self.error or error
        super().close()


def _compressed(value: Any) -> Any:
    """The variable, to be compressed."""
    plain = value.drop_encoding()
    if plain.dtype.kind in "iuf":
        plain.encoding["zlib"] = True
    return plain


__all__ = ["write_netcdf"]
