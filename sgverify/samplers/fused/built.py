"""Where are compiled kernels kept between processes, and when is a stored one trusted?

A library is stored as `KEY-DIGEST.so`: KEY is the hash of all that determines it (C text, compiler, flags, processor), DIGEST
that of its bytes. It is loaded only if its bytes have this digest, and if this user alone can write the folder; any other file is
removed, and the kernel is compiled again. The environment variable `SGVERIFY_CACHE` names another folder, or is `off`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from sgverify.keeping.files import cache_folder, of_this_user, replacing

MOST_BYTES = 64 << 20
"""The most bytes that stored kernels take up together: about 2,000 kernels of 30 kB. Those unused for longest are removed."""

_SUFFIX = ".dll" if sys.platform == "win32" else ".so"


def folder() -> Path | None:
    """The folder of built kernels, made if it is not there; None if none is wanted, or none can be trusted or written."""
    with suppress(OSError, RuntimeError):
        found = cache_folder()
        if found is None:
            return None
        place = found / "kernels"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Whoever can write here could have this process run any code.
        if of_this_user(place) and os.access(place, os.W_OK):
            return place
    return None


def key(text: str, command: Sequence[str]) -> str:
    """The hash of what determines a library: the C text, the compiler and its flags, and the processor.

    A compiler is identified by its file, with size and time: asking for its version would cost a process.
    """
    # Imported here: a call that compiles nothing needs none of it.
    from sgverify.keeping.identity import processor

    parts = ["1", text, *command, _file(command[0]), processor()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def find(name: str) -> Path | None:
    """The stored library of a key, with its bytes checked; None if there is none. A damaged one is removed."""
    place = folder()
    if place is None:
        return None
    with suppress(OSError):
        for path in sorted(place.glob(f"{name}-*{_SUFFIX}")):
            if of_this_user(path) and path.stem.partition("-")[2] == _digest(path.read_bytes()):
                # The time of its last use, by which the oldest are removed.
                os.utime(path)
                return path
            path.unlink()
    return None


def store(name: str, library: Path) -> None:
    """Store a compiled library under its key, in one move; nothing happens where it cannot be written."""
    place = folder()
    if place is None:
        return
    content = library.read_bytes()
    target = place / f"{name}-{_digest(content)}{_SUFFIX}"
    with suppress(OSError):
        with replacing(target) as beside:
            beside.touch(0o700, exist_ok=False)
            beside.write_bytes(content)
        _remove_oldest(place, keep=target)


def _remove_oldest(place: Path, keep: Path) -> None:
    """Remove the libraries that were not used for longest, until the rest takes up no more than `MOST_BYTES`."""
    found = []
    for path in place.iterdir():
        with suppress(OSError):
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= MOST_BYTES:
            return
        if path != keep:
            with suppress(OSError):
                path.unlink()
                total -= size


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


@cache
def _file(program: str) -> str:
    """A program's file behind all links, with its size and the time of its last change."""
    found = shutil.which(program)
    if found is None:
        return program
    path = Path(found).resolve()
    status = path.stat()
    return f"{path} {status.st_size} {status.st_mtime_ns}"
