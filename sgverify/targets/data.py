"""The data of a posterior: given in the configuration, read from a file, or drawn from a seed.

A CSV, npy, npz or Parquet file is read once and identified by the hash of its content. A large npy file stays on disk: it is
mapped, and whoever runs over its data takes them piece by piece.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.targets.constants import LARGEST, is_list, shown

MAPPED = 2**25
"""Bytes from which an npy file is mapped; a smaller one is copied, and may change on disk afterwards."""

_PIECE, _ROWS = 2**20, 2**16

FILE_KEYS = ("file", "columns", "key", "sha256")
"""The configuration keys below `target.` that concern a data file."""


def content_hash(file: str) -> str:
    """The SHA-256 of a file's content, in hexadecimal; raises `ConfigurationError` where it cannot be read."""
    digest = hashlib.sha256()
    try:
        with Path(file).open("rb") as opened:
            while piece := opened.read(_PIECE):
                digest.update(piece)
    except OSError as error:
        _refuse_file(file, error)
    return digest.hexdigest()


def read_file(given: Mapping[str, Any]) -> np.ndarray:
    """The numbers of `target.file`, the configured `columns` in their order. Shape (N, w), float64.

    A CSV file has a header where its first line holds anything but numbers; columns are named, or counted from 0. An npz
    file needs `key` where it holds several arrays. The columns of a Parquet file, for which pyarrow is installed, have names.
    `sha256`, where it is given, has to be the content's. Raises `ConfigurationError` for a file that is missing, empty, ragged
    or changed, or that holds anything but finite numbers.
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
    elif suffix in (".csv", ".tsv", ".txt"):
        content = _content(file)
        names, table = _csv(file, content, suffix)
    elif suffix == ".parquet":
        names, table = _parquet(file, given.get("columns"))
    else:
        raise ConfigurationError(
            f"target.file={file!r}: expected a file named *.csv, *.tsv, *.txt, *.npy, *.npz or *.parquet; rename it"
        )
    width = table.shape[1]
    if given.get("columns") is not None and suffix != ".parquet":
        table = np.ascontiguousarray(table[:, _places(file, names, width, given["columns"])])
    wrong = _first(table, lambda piece: ~np.isfinite(piece))
    if wrong is not None:
        row, column = wrong
        if suffix in (".csv", ".tsv", ".txt"):
            _refuse_text(
                file, content, suffix, names, row, _places(file, names, width, given.get("columns"))[column]
            )
        raise ConfigurationError(
            f"target.file={file!r}: datum {row} (from 0) holds {table[row, column]} in column {column} of those taken; expected "
            "finite numbers; remove or mend this datum"
        )
    return table


def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        _refuse_file(file, error)


def _refuse_file(file: str, error: OSError) -> NoReturn:
    raise ConfigurationError(
        f"target.file={file!r}: cannot be read ({error.strerror or error}); give a CSV, npy, npz or Parquet file"
    ) from None


def _first(table: np.ndarray, wrong: Callable[[np.ndarray], np.ndarray]) -> tuple[int, int] | None:
    """Row and column of the first entry for which `wrong` holds; a mapped table is visited piece by piece."""
    for start in range(0, len(table), _ROWS):
        found = np.argwhere(wrong(table[start : start + _ROWS]))
        if len(found):
            return start + int(found[0][0]), int(found[0][1])
    return None


def _array(file: str, key: str | None) -> np.ndarray:
    try:
        if Path(file).suffix.lower() == ".npy" and Path(file).stat().st_size > MAPPED:
            found = np.load(file, mmap_mode="r", allow_pickle=False)
        else:
            found = np.load(io.BytesIO(_content(file)), allow_pickle=False)
        arrays = dict(found) if isinstance(found, np.lib.npyio.NpzFile) else {"": found}
    except (ValueError, OSError, EOFError) as error:
        # Of bytes that are no array, numpy's message recommends unpickling them, which would run code in them.
        unread = any(word in str(error) for word in ("pickle", "Python objects"))
        why = "it holds no array of numpy, or objects" if unread else str(error)
        raise ConfigurationError(
            f"target.file={file!r}: numpy cannot read it ({why}); expected arrays of numbers, written by numpy.save or numpy.savez"
        ) from None
    if (key is None and len(arrays) != 1) or (key is not None and key not in arrays):
        given = "" if key is None else f", target.key={key!r}"
        raise ConfigurationError(
            f"target.file={file!r}{given}: it holds {', '.join(map(repr, arrays)) or 'no array'}; expected target.key to name one"
        )
    array = arrays[next(iter(arrays)) if key is None else key]
    if array.ndim not in (1, 2) or not array.size or array.dtype.kind not in "fiub":
        raise ConfigurationError(
            f"target.file={file!r}: the array is {array.dtype} of shape {array.shape}; expected numbers of shape (N,) or (N, w)"
        )
    # A mapped array stays mapped, as `np.asanyarray` keeps its class.
    return np.asanyarray(array, dtype=np.float64).reshape(len(array), -1)


def _parquet(file: str, columns: Sequence[Any] | None) -> tuple[list[str], np.ndarray]:
    """The configured columns of a Parquet file and their names, one group of rows after another."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ConfigurationError(
            f"target.file={file!r}: a Parquet file is read by pyarrow, which is not installed; expected it; "
            "install sgverify[parquet], or give a CSV or npy file"
        ) from None
    try:
        stored = parquet.ParquetFile(file)
        names = list(stored.schema_arrow.names)
        places = _places(file, names, len(names), columns)
        chosen = [names[place] for place in places]
        table = np.empty((stored.metadata.num_rows, len(chosen)))
        row = 0
        for batch in stored.iter_batches(batch_size=_ROWS, columns=chosen):
            for k, name in enumerate(chosen):
                values = batch.column(name).to_numpy(zero_copy_only=False)
                table[row : row + len(values), k] = values
            row += batch.num_rows
    except (ArrowException, OSError, ValueError, TypeError) as error:
        raise ConfigurationError(
            f"target.file={file!r}: pyarrow cannot read numbers from it ({error}); expected columns of numbers"
        ) from None
    if not table.size:
        raise ConfigurationError(f"target.file={file!r} holds no data; expected one row for each datum")
    return names, table


def _csv(file: str, content: bytes, suffix: str) -> tuple[list[str] | None, np.ndarray]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigurationError(f"target.file={file!r}: not a text file; save it as UTF-8") from None
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=_delimiter(suffix)) if row]
    names = (
        [name.strip() for name in rows[0]]
        if rows and not all(_is_number(entry) for entry in rows[0])
        else None
    )
    body = rows if names is None else rows[1:]
    if not body:
        raise ConfigurationError(
            f"target.file={file!r} holds no data; expected one line for each datum, numbers apart by commas"
        )
    for i, row in enumerate(body):
        if len(row) != len(rows[0]):
            raise ConfigurationError(
                f"target.file={file!r}: datum {i} (from 0) has {len(row)} entries, and the first line has {len(rows[0])}; give "
                "every line as many"
            )
    # What is not asked for may be text.
    return names, np.array([[float(entry) if _is_number(entry) else np.nan for entry in row] for row in body])


def _refuse_text(
    file: str, content: bytes, suffix: str, names: list[str] | None, row: int, column: int
) -> NoReturn:
    """Raise `ConfigurationError` with the text, and its line, that stands in a CSV file in place of a finite number."""
    reader = csv.reader(io.StringIO(content.decode("utf-8-sig")), delimiter=_delimiter(suffix))
    lines = [(reader.line_num, entries) for entries in reader if entries]
    line, entries = lines[row if names is None else row + 1]
    where = f"column {column} (from 0)" if names is None else f"column {names[column]!r}"
    raise ConfigurationError(
        f"target.file={file!r}: line {line} holds {entries[column]!r} in {where}; expected finite numbers; remove or mend this "
        "line, or leave the column out by target.columns"
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


def _delimiter(suffix: str) -> str:
    return "\t" if suffix == ".tsv" else ","


def _is_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    return True


MOST_NUMBERS = 10**7


def draw_data(size: int, dim: int, seed: int) -> np.ndarray:
    """x_i ~ N(theta*, I), i = 1..N, around one draw theta* ~ N(0, I). Shape (N, d), float64.

    The stream is `numpy.random.default_rng(seed).standard_normal`: first the d coordinates of theta*, then
    the noise of the data, row by row. So the first data of a longer set are those of a shorter one.
    """
    check_amount(size, dim)
    generator = np.random.default_rng(seed)
    centre = generator.standard_normal(dim)
    return frozen(centre + generator.standard_normal((size, dim)))


def draw_covariates(size: int, dim: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(theta*, x, z) of a regression: theta* ~ N(0, I), z_i ~ N(0, 1). Shapes (d,), (N, d), (N,), float64.

    The covariates are skewed, correlated and off 0, so that a bug in any of these shows: with u ~ N(0, I) and
    v_j = 1/2 + u_j + u_j^2/4, x_0 = v_0 and x_j = v_j + v_(j-1)/2. The stream is that of `draw_data`: theta*, then
    (u, z) row by row, so the first data of a longer set are those of a shorter one.
    """
    check_amount(size, dim + 1)
    generator = np.random.default_rng(seed)
    theta = generator.standard_normal(dim)
    rows = generator.standard_normal((size, dim + 1))
    skewed = 0.5 + rows[:, :dim] + rows[:, :dim] ** 2 / 4
    covariates = skewed.copy()
    covariates[:, 1:] += skewed[:, :-1] / 2
    return theta, covariates, rows[:, dim]


def read_data(value: Any, dim: int | None, labels: int = 0) -> np.ndarray:
    """Data as the configuration gives them: N numbers (width 1) or N lists of d + labels numbers, float64.

    Shape (N, d + labels).
    """
    if isinstance(value, np.ndarray) and value.ndim in (1, 2) and value.size and value.dtype.kind in "fiu":
        return _read_array(value, dim, labels)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not is_list(value):
        raise ConfigurationError(
            f"target.data={shown(value)}: expected a list of numbers, or of lists of numbers if dim > 1"
        )
    if not value:
        raise ConfigurationError(
            "target.data=[] is empty; expected at least one datum; add one, or leave it out for drawn data"
        )
    rows = [row if is_list(row) else [row] for row in value]
    width = dim + labels if dim is not None else len(rows[0])
    for i, row in enumerate(rows):
        if len(row) != width or width <= labels:
            _refuse_length(i, value[i], width, dim, labels)
        for entry in row:
            _check_entry(f"target.data[{i}]", entry)
    return frozen([[float(entry) for entry in row] for row in rows])


def _read_array(value: np.ndarray, dim: int | None, labels: int) -> np.ndarray:
    """Data that are an array already, checked without a list of them; what is mapped from a file is not copied."""
    table = value.reshape(len(value), -1)
    width = dim + labels if dim is not None else table.shape[1]
    if table.shape[1] != width or width <= labels:
        _refuse_length(0, table[0].tolist(), width, dim, labels)
    wrong = _first(table, lambda piece: ~(np.abs(piece.astype(np.float64)) <= LARGEST))
    if wrong is not None:
        _check_entry(f"target.data[{wrong[0]}]", table[wrong].item())
    return table if isinstance(table, np.memmap) and table.dtype == np.float64 else frozen(table)


def _refuse_length(place: int, datum: Any, width: int, dim: int | None, labels: int) -> NoReturn:
    why = "because target.dim is given" if dim is not None else "as in the first datum"
    what = "the covariates and then what they explain, " if labels else ""
    least = "at least one number" if not labels else f"at least {labels + 1} numbers, {what[:-2]}"
    raise ConfigurationError(
        f"target.data[{place}]={shown(datum)}: expected "
        f"{f'{width} numbers, {what}{why}' if width > labels else least}; give every datum the same length"
    )


def check_amount(size: int, width: int) -> None:
    """Raise `ConfigurationError` for more numbers than a target can hold."""
    if size * width > MOST_NUMBERS:
        raise ConfigurationError(
            f"target.size={size} with {width} numbers each: expected at most {MOST_NUMBERS} numbers; choose a smaller size"
        )


def check_counts(data: np.ndarray) -> None:
    """Raise `ConfigurationError` for data that are not counts."""
    wrong = np.argwhere((data < 0) | (data != np.floor(data)))
    if len(wrong):
        row, column = wrong[0]
        raise ConfigurationError(
            f"target.data[{row}] has the entry {data[row, column]:g}; expected counts, whole numbers from 0; mend this datum"
        )


def _check_entry(key: str, entry: Any) -> None:
    number = isinstance(entry, int | float | Fraction) and not isinstance(entry, bool)
    if not number or not abs(entry) <= LARGEST:
        raise ConfigurationError(
            f"{key} holds {shown(entry)}: expected finite numbers of size up to 1e100; remove or mend this datum"
        )


def frozen(values: np.ndarray | Sequence[Sequence[float]]) -> np.ndarray:
    """The values as a float64 array that cannot be written to."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
