"""Files that a user names: only regular ones are read, and never more of them than a stated size.

A device or a pipe has no end, and a name that the system cannot hold is no file: each is an `OSError` with its reason in
`strerror`, as a missing file is, so that one message of the reader serves them all.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

MOST_TEXT = 2**26
"""Bytes of a text file that is read whole: configurations, evidence, code. JSON of this size takes about a gigabyte."""

BESIDE = 24
"""Bytes by which the name of the file that is written beside another is longer."""

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


__all__ = [
    "MOST_TEXT",
    "amount",
    "check_new",
    "each_once",
    "opened",
    "possible_name",
    "read_bytes",
    "read_text",
    "size_of",
]
