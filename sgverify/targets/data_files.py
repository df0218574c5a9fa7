"""The data of a posterior from a file: CSV, npy, npz or Parquet.

A file is read once and identified by the hash of its content. A large npy file stays on disk: it is mapped, and whoever runs over
its data takes them piece by piece. Of every other file the numbers are held in memory, `MOST_HELD` bytes of them at most; how many
there are is read from the header of a file before they are.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import math
import zipfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from sgverify.errors import ConfigurationError, UserError, shown
from sgverify.keeping.files import amount, opened, read_bytes, size_of
from sgverify.targets.data import first_entry

MAPPED = 2**25
"""Bytes from which an npy file is mapped; a smaller one is copied, and may change on disk afterwards."""

MOST_HELD = 2**30
"""Bytes of a file, and of its numbers as float64, that are held in memory; a mapped npy file may be larger."""

_PIECE, _ROWS = 2**20, 2**16

FILE_KEYS = ("file", "columns", "key", "sha256")
"""The configuration keys below `target.` that concern a data file."""

_TEXT = (".csv", ".tsv", ".txt")


def content_hash(file: str) -> str:
    """The SHA-256 of a file's content, in hexadecimal; raises `ConfigurationError` where it cannot be read."""
    digest = hashlib.sha256()
    try:
        with opened(file, None if Path(file).suffix.lower() == ".npy" else MOST_HELD) as content:
            while piece := content.read(_PIECE):
                digest.update(piece)
    except OSError as error:
        _refuse_file(file, error)
    return digest.hexdigest()


def read_file(given: Mapping[str, Any]) -> np.ndarray:
    """The numbers of `target.file`, the configured `columns` in their order. Shape (N, w), float64.

    A CSV file has a header where its first line holds anything but numbers; columns are named, or counted from 0. An npz
    file needs `key` where it holds several arrays. The columns of a Parquet file, for which pyarrow is installed, have names.
    `sha256`, where it is given, has to be the content's. Raises `ConfigurationError` for a file that is missing, empty, ragged,
    changed or too large, or that holds anything but finite numbers.
    """
    file = str(given["file"])
    digest = content_hash(file)
    if given.get("sha256", digest) != digest:
        raise ConfigurationError(
            f"target.file={file!r} has changed: its content has the SHA-256 {digest[:12]}..., and target.sha256 is "
            f"{str(given['sha256'])[:12]}...; restore the file, or leave target.sha256 out to take it as it is"
        )
    suffix = Path(file).suffix.lower()
    if suffix in (".npy", ".npz"):
        names, table = None, _array(file, given.get("key"))
    elif "key" in given:
        raise ConfigurationError(
            f"target.key={given['key']!r} names an array of an npz file, and target.file={file!r} is none; leave it out"
        )
    elif suffix in _TEXT:
        names, table = _csv(file)
    elif suffix == ".parquet":
        names, table = _parquet(file, given.get("columns"))
    else:
        raise ConfigurationError(
            f"target.file={file!r}: expected a file named *.csv, *.tsv, *.txt, *.npy, *.npz or *.parquet; rename it"
        )
    width = table.shape[1]
    if given.get("columns") is not None and suffix != ".parquet":
        table = np.ascontiguousarray(table[:, _places(file, names, width, given["columns"])])
    wrong = first_entry(table, lambda piece: ~np.isfinite(piece))
    if wrong is not None:
        row, column = wrong
        if suffix in _TEXT:
            _refuse_text(file, names, row, _places(file, names, width, given.get("columns"))[column])
        raise ConfigurationError(
            f"target.file={file!r}: datum {row} (from 0) holds {table[row, column]} in column {column} of those taken; expected "
            "finite numbers; remove or mend this datum"
        )
    return table


def column_names(given: Mapping[str, Any]) -> list[str] | None:
    """The names of the columns of `read_file`, after that of an `intercept`; None where there are no names, or no file."""
    file = str(given.get("file") or "")
    suffix = Path(file).suffix.lower()
    if suffix in _TEXT:
        _, first = next(_lines(file))
        if all(_is_number(entry) for entry in first):
            return None
        names = [name.strip() for name in first]
    elif suffix == ".parquet":
        from pyarrow import parquet

        names = list(parquet.ParquetFile(file).schema_arrow.names)
    else:
        return None
    ones = ["intercept"] if given.get("intercept") else []
    return ones + [names[place] for place in _places(file, names, len(names), given.get("columns"))]


def _refuse_file(file: str, error: OSError) -> NoReturn:
    raise ConfigurationError(
        f"target.file={file!r}: cannot be read ({error.strerror or error}); give a CSV, npy, npz or Parquet file"
    ) from None


def _refuse_amount(file: str, numbers: int) -> NoReturn:
    raise ConfigurationError(
        f"target.file={file!r} holds {amount(8 * numbers)} of numbers; expected at most {amount(MOST_HELD)} in memory; save them "
        "as float64 by numpy.save, whose file stays on disk"
    )


@contextlib.contextmanager
def _reading(file: str, reader: str, wanted: str) -> Iterator[None]:
    """A context in which whatever the library `reader` raises for the content of a file is one message."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        # Of bytes that are no array, numpy's message recommends unpickling them, which would run code in them.
        unread = any(word in str(error) for word in ("pickle", "Python objects"))
        why = "it holds no array of numpy, or objects" if unread else str(error) or type(error).__name__
        raise ConfigurationError(
            f"target.file={file!r}: {reader} cannot read it ({' '.join(why.split())}); expected {wanted}"
        ) from None


def _array(file: str, key: str | None) -> np.ndarray:
    with _reading(file, "numpy", "arrays of numbers, written by numpy.save or numpy.savez"):
        if Path(file).suffix.lower() == ".npz":
            found = _packed(file, key)
        elif key is not None:
            raise ConfigurationError(
                f"target.file={file!r}, target.key={key!r}: an npy file holds one array without a name; leave target.key out"
            )
        else:
            size = size_of(file, None)
            mapped = size > MAPPED
            with opened(file, None) as content:
                _check_header(file, content, size, mapped=mapped)
            if mapped:
                found = np.lib.format.open_memmap(file, mode="r")
            else:
                found = np.lib.format.read_array(io.BytesIO(read_bytes(file, MAPPED)), allow_pickle=False)
    # A mapped array stays mapped, as `np.asanyarray` keeps its class.
    return np.asanyarray(found, dtype=np.float64).reshape(len(found), -1)


def _packed(file: str, key: str | None) -> np.ndarray:
    """The array `key`, or the only one, of an npz file."""
    with opened(file, MOST_HELD) as content, zipfile.ZipFile(content) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        if (key is None and len(members) != 1) or (key is not None and key not in members):
            given = "" if key is None else f", target.key={key!r}"
            raise ConfigurationError(
                f"target.file={file!r}{given}: it holds {', '.join(map(repr, members)) or 'no array'}; expected target.key to "
                "name one"
            )
        member = members[next(iter(members)) if key is None else key]
        with archive.open(member) as stream:
            _check_header(file, stream, member.file_size)
        with archive.open(member) as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)


def _check_header(file: str, stream: IO[bytes], size: int, *, mapped: bool = False) -> None:
    """Raise `ConfigurationError` for an array of another shape or type than numbers, or of more numbers than can be there or held.

    Raises `ValueError` for what is no header of an array.
    """
    version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read:
        raise ValueError(
            f"version {version[0]}.{version[1]} of the format, which numbers alone are not written in"
        )
    shape, _, dtype = read[version](stream)
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    if len(shape) not in (1, 2) or not all(length > 0 for length in shape) or dtype.kind not in "fiub":
        raise ConfigurationError(
            f"target.file={file!r}: the array is {dtype} of shape {shape}; expected numbers of shape (N,) or (N, w)"
        )
    numbers = math.prod(shape)
    if numbers * dtype.itemsize > size:
        raise ValueError(
            f"its header claims {amount(numbers * dtype.itemsize)}, and {amount(size)} are there"
        )
    if 8 * numbers > MOST_HELD and not (mapped and dtype == np.float64):
        _refuse_amount(file, numbers)


def _parquet(file: str, columns: Sequence[Any] | None) -> tuple[list[str], np.ndarray]:
    """The configured columns of a Parquet file and their names, one group of rows after another."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise ConfigurationError(
            f"target.file={file!r}: a Parquet file is read by pyarrow, which is not installed; expected it; "
            "install sgverify[parquet], or give a CSV or npy file"
        ) from None
    with _reading(file, "pyarrow", "columns of numbers"):
        stored = parquet.ParquetFile(file)
        names = list(stored.schema_arrow.names)
        places = _places(file, names, len(names), columns)
        chosen = [names[place] for place in places]
        rows = stored.metadata.num_rows
        if 8 * rows * len(chosen) > MOST_HELD:
            _refuse_amount(file, rows * len(chosen))
        table = np.empty((rows, len(chosen)))
        row = 0
        for batch in stored.iter_batches(batch_size=_ROWS, columns=chosen):
            for k, name in enumerate(chosen):
                values = batch.column(name).to_numpy(zero_copy_only=False)
                table[row : row + len(values), k] = values
            row += batch.num_rows
    if not table.size:
        raise ConfigurationError(f"target.file={file!r} holds no data; expected one row for each datum")
    return names, table


def _csv(file: str) -> tuple[list[str] | None, np.ndarray]:
    """The names of the columns, None where the first line holds numbers, and the entries; NaN for what is no number."""
    names: list[str] | None = None
    numbers, width, rows = array("d"), 0, 0
    for _, entries in _lines(file):
        if not width:
            width = len(entries)
            if not all(_is_number(entry) for entry in entries):
                names = [name.strip() for name in entries]
                continue
        if len(entries) != width:
            raise ConfigurationError(
                f"target.file={file!r}: datum {rows} (from 0) has {len(entries)} entries, and the first line has {width}; give "
                "every line as many"
            )
        # What is not asked for may be text.
        numbers.extend(float(entry) if _is_number(entry) else math.nan for entry in entries)
        rows += 1
    if not rows:
        raise ConfigurationError(
            f"target.file={file!r} holds no data; expected one line for each datum, numbers apart by commas"
        )
    return names, np.frombuffer(numbers, dtype=np.float64).reshape(rows, width)


def _lines(file: str) -> Iterator[tuple[int, list[str]]]:
    """(number, entries) of every line of a CSV file that is not empty."""
    try:
        content = read_bytes(file, MOST_HELD)
    except OSError as error:
        _refuse_file(file, error)
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    reader = csv.reader(text, delimiter="\t" if Path(file).suffix.lower() == ".tsv" else ",")
    try:
        for entries in reader:
            if entries:
                yield reader.line_num, entries
    except UnicodeDecodeError:
        raise ConfigurationError(f"target.file={file!r}: not a text file; save it as UTF-8") from None
    except csv.Error as error:
        raise ConfigurationError(
            f"target.file={file!r}: line {reader.line_num} is no line of CSV ({error}); expected numbers apart by commas; mend "
            "this line"
        ) from None


def _refuse_text(file: str, names: list[str] | None, row: int, column: int) -> NoReturn:
    """Raise `ConfigurationError` with the text, and its line, that stands in a CSV file in place of a finite number."""
    wanted = row if names is None else row + 1
    line, entries = next(found for number, found in enumerate(_lines(file)) if number == wanted)
    where = f"column {column} (from 0)" if names is None else f"column {names[column]!r}"
    raise ConfigurationError(
        f"target.file={file!r}: line {line} holds {shown(entries[column])} in {where}; expected finite numbers; remove or mend "
        "this line, or leave the column out by target.columns"
    )


def _places(file: str, names: list[str] | None, width: int, columns: Sequence[Any] | None) -> list[int]:
    """The indices of the configured columns; all columns by default."""
    if columns is None:
        return list(range(width))
    places = []
    for column in columns:
        if isinstance(column, int) and 0 <= column < width:
            places.append(column)
        elif names is not None and names.count(str(column)) == 1:
            places.append(names.index(str(column)))
        else:
            there = ", ".join(names) if names is not None else f"0 to {width - 1}, as it has no header"
            raise ConfigurationError(
                f"target.columns={shown(list(columns))}: {column!r} is no column of {file!r}; it has {there}"
            )
    if not places:
        raise ConfigurationError(
            "target.columns=[] is empty; expected at least one column; leave it out for all"
        )
    return places


def _is_number(entry: str) -> bool:
    """Is the text a number, infinity or NaN? 1_0, which Python reads as 10, is none, nor is 1e-400, which would be read as 0."""
    try:
        value = float(entry)
    except ValueError:
        return False
    digits = entry.lower().partition("e")[0]
    return "_" not in entry and entry.isascii() and not (value == 0 and any(d in digits for d in "123456789"))
