"""Where are compiled kernels kept between processes, and when is a stored one trusted?

A library is stored as `KEY-DIGEST.so`: KEY is the hash of all that determines it (C text, compiler, flags, processor), DIGEST
that of its bytes. It is loaded only if its bytes have this digest, and if this user alone can write the folder; any other file is
removed, and the kernel is compiled again. The environment variable `SGVERIFY_CACHE` names another folder, or is `off`.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

VARIABLE = "SGVERIFY_CACHE"
"""The environment variable with the folder of built kernels; `off` keeps none. By default it is the user's cache folder."""

MOST_BYTES = 64 << 20
"""The most bytes that stored kernels take up together: about 2,000 kernels of 30 kB. Those unused for longest are removed."""

_SUFFIX = ".dll" if sys.platform == "win32" else ".so"


def folder() -> Path | None:
    """The folder of built kernels, made if it is not there; None if none is wanted, or none can be trusted or written."""
    given = os.environ.get(VARIABLE) or ""
    if given == "off":
        return None
    with suppress(OSError, RuntimeError):
        place = (Path(given) if given else _users()) / "kernels"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Whoever can write here could have this process run any code.
        if _of_this_user(place) and os.access(place, os.W_OK):
            return place
    return None


def key(text: str, command: Sequence[str]) -> str:
    """The hash of what determines a library: the C text, the compiler and its flags, and the processor.

    A compiler is identified by its file, with size and time: asking for its version would cost a process.
    """
    parts = ["1", text, *command, _file(command[0]), _processor()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def find(name: str) -> Path | None:
    """The stored library of a key, with its bytes checked; None if there is none. A damaged one is removed."""
    place = folder()
    if place is None:
        return None
    with suppress(OSError):
        for path in sorted(place.glob(f"{name}-*{_SUFFIX}")):
            if _of_this_user(path) and path.stem.partition("-")[2] == _digest(path.read_bytes()):
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
    beside = place / f"{name}.{os.getpid()}.part"
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(beside, target)
        _remove_oldest(place, keep=target)
    except OSError:
        with suppress(OSError):
            beside.unlink()


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


def _users() -> Path:
    """The cache folder of this user, by the custom of the system. Raises `RuntimeError` for a user without a home."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "sgverify" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sgverify"
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named and Path(named).is_absolute() else Path.home() / ".cache") / "sgverify"


def _of_this_user(path: Path) -> bool:
    """Does the file or folder belong to this user, who alone can write it? On Windows the user's folder is the user's."""
    if not hasattr(os, "getuid"):
        return True
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


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


@cache
def _processor() -> str:
    """What `-march=native` depends on: a home folder may be shared by machines of several kinds."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        told = ("model name", "flags", "Features", "CPU part", "CPU implementer")
        first = {line.partition(":")[0].strip(): line for line in reversed(lines) if line.startswith(told)}
        if first:
            return "\n".join(sorted(first.values()))
    return f"{platform.processor()} {platform.machine()} {platform.node()}"
