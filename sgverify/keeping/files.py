"""Files that a user names are read up to a stated size; files that are kept are written whole or not at all.

Reading: a device or a pipe has no end, and a name that the system cannot hold is no file: each is an `OSError` with its reason in
`strerror`, as a missing file is, so that one message of the reader serves them all.

Writing: whatever is kept is made beside its place under another name, and put there in one step (`replacing`), so that a process
that is killed at any moment leaves the old content or the new one. `put` writes a file so, `write_atomically` with one message for
users; folders, databases and texts in parts are made within `replacing`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from sgverify.errors import UserError

try:
    import fcntl
except ImportError:  # Windows: files are still written whole, but two writers at once may lose what one wrote
    fcntl = None  # type: ignore[assignment]

MOST_TEXT = 2**26
"""Bytes of a text file that is read whole: configurations, evidence, code. JSON of this size takes about a gigabyte."""

BESIDE = 28
"""Bytes by which the name of what is written beside a place is longer, at most."""

PART = ".part"
"""The end of the name that a file has while it is written."""

NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # Windows has no such pipes

FULL = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EIO", "EACCES")
    if hasattr(errno, name)
)
"""The errors of a place that takes no more."""

KINDS = (
    (stat.S_ISDIR, errno.EISDIR, "a folder"),
    (stat.S_ISFIFO, errno.EINVAL, "a pipe"),
    (stat.S_ISSOCK, errno.EINVAL, "a socket"),
    (stat.S_ISCHR, errno.EINVAL, "a device"),
    (stat.S_ISBLK, errno.EINVAL, "a device"),
)


def size_of(path: str | Path, most: int | None = MOST_TEXT) -> int:
    """The size in bytes of a regular file; raises `OSError` for anything else, and for a file of more than `most` bytes."""
    with possible_name(path):
        found = os.stat(path)
    for holds, number, what in KINDS:
        if holds(found.st_mode):
            raise OSError(number, f"{what}, and no regular file", str(path))
    if most is not None and found.st_size > most:
        raise OSError(errno.EFBIG, f"{amount(found.st_size)}, and {amount(most)} are read at most", str(path))
    return found.st_size


@contextlib.contextmanager
def opened(path: str | Path, most: int | None = MOST_TEXT) -> Iterator[BinaryIO]:
    """A context with the regular file, open for reading; raises what `size_of` raises."""
    size_of(path, most)
    with open(path, "rb") as file:
        yield file


def read_bytes(path: str | Path, most: int = MOST_TEXT) -> bytes:
    """The content of a regular file of at most `most` bytes; raises what `size_of` raises."""
    with opened(path, most) as file:
        # Files that grow meanwhile, and those of /proc, are not of the size that they state.
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"more than {amount(most)}, which are read at most", str(path))
    return content


def read_text(path: str | Path, most: int = MOST_TEXT) -> str:
    """The text of a UTF-8 file, without the mark that some editors put first; raises `UnicodeDecodeError` for other bytes."""
    return read_bytes(path, most).decode("utf-8-sig")


def check_new(path: str | Path) -> None:
    """Raise `OSError` for a place where no file can be written: a folder, a name that no file can have, a folder that is not there.

    A file is written beside its place, under a longer name, before it takes it; so its own name has to be shorter.
    """
    with possible_name(path):
        place = Path(os.path.realpath(path))
        with contextlib.suppress(FileNotFoundError):
            os.stat(place.with_name(place.name + " " * BESIDE))
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(place).st_mode):
                raise OSError(errno.EISDIR, "a folder, and no file", str(path))
        if not stat.S_ISDIR(os.stat(place.parent).st_mode):
            raise OSError(errno.ENOTDIR, "a part of its path is a file", str(path))
        if not os.access(place.parent, os.W_OK):
            raise OSError(errno.EACCES, "its folder cannot be written to", str(path))


@contextlib.contextmanager
def possible_name(path: str | Path) -> Iterator[None]:
    """A context in which a name that no file can have (NUL, half a character) is an `OSError`, and no `ValueError`."""
    try:
        yield
    except ValueError:
        raise OSError(errno.EINVAL, "no file can have this name", str(path)) from None


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The table of these pairs of JSON; raises `ValueError` for a repeated key, of which a reader would see the last alone."""
    for key, times in Counter(key for key, _ in pairs).items():
        if times > 1:
            raise ValueError(f"the key {key!r} is given {times} times in one table")
    return dict(pairs)


def amount(size: float) -> str:
    """A number of bytes for people.

    >>> amount(2**26), amount(12), amount(2.4e9)
    ('67.1 MB', '12 bytes', '2.4 GB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:g} bytes"


def put(path: Path, content: str | bytes | memoryview, *, lasting: bool = False, mode: int = 0o666) -> None:
    """Put a file in place in one step, with the permissions of `mode` but for those that the user withholds.

    The one function of the package that writes a file. One that is `lasting` is on disk then, whatever becomes of the machine.
    Raises `OSError` where it cannot be written; what was there then is untouched, and nothing is left beside it.
    """
    # A name of bytes that are no UTF-8 has halves of characters, which are written as JSON writes them.
    raw = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with replacing(path, lasting=lasting) as beside:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(beside, flags, mode), "wb") as file:
            file.write(raw)


@contextlib.contextmanager
def replacing(path: Path, *, lasting: bool = False) -> Iterator[Path]:
    """A context with a free name beside `path` for a file or a folder, which takes its place in one step at the end.

    Left by an exception, the context removes what was written and leaves `path` as it was. What writers raise, `OSError` among it,
    is raised.
    """
    with unfinished(path) as beside:
        yield beside
        if lasting:
            with open(beside, "rb") as file:
                os.fsync(file.fileno())
        move(beside, path)


@contextlib.contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """A context with a free name for what becomes `path`, in whole or in parts; what has that name at the end is removed."""
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}{PART}")
    try:
        yield beside
    finally:
        remove(beside)


def move(source: Path, path: Path) -> None:
    """Give a file or a folder another name. A folder that has this name goes when the new one is there, or stays."""
    if not path.is_dir():
        os.replace(source, path)
        return
    with unfinished(path) as aside:
        os.replace(path, aside)
        try:
            os.replace(source, path)
        except BaseException:
            os.replace(aside, path)
            raise


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, if it is there; of what others write there meanwhile some may stay."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Put a file in place in one step; a link is followed.

    A device or a pipe (`/dev/stdout`) is written to and never replaced.
    Raises UserError when the place cannot be written; the old file, if any, then is untouched.
    """
    path = Path(os.path.realpath(path))
    with writable(path):
        if not path.exists() or path.is_file():
            put(path, content, lasting=True)
            return
        # A pipe that nobody reads is an error, and no wait without an end.
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags | NONBLOCK)) as place:
            os.set_blocking(place.fileno(), True)
            place.write(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)


@contextlib.contextmanager
def written_in_parts(path: str | Path) -> Iterator[TextIO]:
    """A context with a text stream to a file that takes the place of `path` when the context is left without an error.

    For documents that are too large to be held in memory. Raises `UserError` when the place cannot be written.
    """
    path = Path(os.path.realpath(path))
    with (
        writable(path),
        replacing(path, lasting=True) as beside,
        beside.open("w", encoding="utf-8") as stream,
    ):
        yield stream
        stream.flush()


@contextlib.contextmanager
def writable(path: Path) -> Iterator[None]:
    """A context in which an `OSError` is a `UserError` that names the file."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"cannot write {str(path)!r}: {error.strerror}; expected a file in a folder that exists and can be "
            "written. Choose another place."
        ) from None


@contextlib.contextmanager
def alone_in(folder: Path, *, wait: bool | float = True) -> Iterator[None]:
    """A context for one process at a time: a lock on the folder, which leaves no file behind and ends with the process.

    Raises `BlockingIOError` where another process has it, unless `wait`; where this is a number, after so many seconds.
    """
    try:
        held = -1 if fcntl is None else os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise UserError(
            f"cannot write in {str(folder)!r}: {error.strerror}; expected a folder that exists"
        ) from None
    with _locked(held, wait):
        yield


@contextlib.contextmanager
def alone_at(path: Path) -> Iterator[None]:
    """A context for one process at a time that makes `path`, whether it is there or not.

    The lock is on an empty file beside it, and ends with the process; the file is removed at the end, and after a kill by the next
    one. Raises `BlockingIOError` where another process has it, `OSError` where there can be none.
    """
    place = path.with_name(f".{path.name}.lock")
    while True:
        held = (
            -1 if fcntl is None else os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | NONBLOCK, 0o666)
        )
        with _locked(held, False):
            # The process before may have removed the file since, at its end.
            if held < 0 or (place.exists() and os.path.samestat(os.fstat(held), os.stat(place))):
                try:
                    yield
                finally:
                    remove(place)
                return


@contextlib.contextmanager
def _locked(held: int, wait: bool | float) -> Iterator[None]:
    """A context with the lock on an open file, which is closed at its end; without one where there is no file (-1)."""
    ends = time.monotonic() + wait
    try:
        while held >= 0:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | (0 if wait is True else fcntl.LOCK_NB))
                break
            except BlockingIOError:
                if time.monotonic() >= ends:
                    raise
                time.sleep(0.02)
        yield
    finally:
        if held >= 0:
            os.close(held)


def json_text(value: Any) -> str:
    """JSON for a file that is kept: a table or list without nested ones is one line; of any other, each entry begins a line.

    A point, a row of numbers or a setting is read and compared as one line, and no line is spent on a single number.
    Raises ValueError for NaN and infinities.

    >>> print(json_text({"found": {"low": 1, "high": 2}, "points": [{"step": 0.5}, {"step": 0.25}], "notes": []}), end="")
    {
     "found": {"low": 1, "high": 2},
     "points": [
      {"step": 0.5},
      {"step": 0.25}
     ],
     "notes": []
    }
    """
    return _laid_out(value, "\n") + "\n"


def _laid_out(value: Any, start: str) -> str:
    """`start`: the line break and the indentation of the line that the value begins on."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    if not any(isinstance(entry, dict | list | tuple) and entry for entry in inside):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    deeper = start + " "
    if isinstance(value, dict):
        entries = [
            f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(entry, deeper)}"
            for key, entry in value.items()
        ]
        return f"{{{deeper}{f',{deeper}'.join(entries)}{start}}}"
    entries = [_laid_out(entry, deeper) for entry in value]
    return f"[{deeper}{f',{deeper}'.join(entries)}{start}]"
