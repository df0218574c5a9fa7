"""Which C compiler builds a kernel, and how?

The compiler is `CC` of the environment, else cc, gcc or clang, else the one that the optional extra `kernel` installs: ziglang, a
package of clang for Linux, macOS and Windows. Arithmetic is IEEE 754, neither contracted nor reassociated: the C text alone
determines the bits, whichever compiler builds it. A library is compiled in a temporary folder and loaded by ctypes.

It is stored as `KEY-DIGEST.so`: KEY is the hash of all that determines it (C text, compiler, flags, processor), DIGEST that of its
bytes. It is loaded only if its bytes have this digest, and if this user alone can write the folder; any other file is removed, and
the kernel is compiled again. The environment variable `SGVERIFY_CACHE` names another folder, or is `off`.

`python -m benchmarks compilers` is what the choice rests on: it times builds and steps for every compiler that is here. gcc, clang
and zig give the same bits, and steps of about the same speed. With -O3, gcc and clang take two to three times as long to build and
gain no time in the steps: what counts is that loops over chains become vector instructions, and `-ftree-vectorize` does so at -O2.
TinyCC, which has no vector instructions, `__int128` or thread-local variables, does not build the text. For numba or llvmlite the
definitions would need a second translator beside the C text. numba's import alone takes as long as gcc's build, and a loop over
logistic regression like that of `benchmarks.peers.numba_loops` took 2.5 times as long to build, its steps five times as long.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import logging
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from sgverify.keeping.files import put
from sgverify.keeping.places import cache_folder, of_this_user

MOST_BYTES = 64 << 20
"""The most bytes that stored kernels take up together: about 2,000 kernels of 30 kB. Those unused for longest are removed."""

_SUFFIX = ".dll" if sys.platform == "win32" else ".so"


def folder() -> Path | None:
    """The folder of built kernels, made if it is not there; None if none is wanted, or none can be trusted or written."""
    with suppress(OSError):
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
        put(target, content, mode=0o700)
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


WINDOWS = sys.platform == "win32"
NATIVE = "-march=native"

FLAGS = (
    "-O2",
    "-ftree-vectorize",
    # Whole loops over coordinates are unrolled, so that values stay in registers; clang does so at -O2.
    "-fpeel-loops",
    NATIVE,
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-shared",
    "-w",
    *(() if WINDOWS else ("-fPIC",)),
)

SLOWEST = 0.5
"""Seconds that a build takes at most on the machines where it was measured (`python -m benchmarks compilers`)."""

_BUILT: dict[str, ctypes.CDLL] = {}


class CannotBuild(Exception):
    """Raised if there is no compiler, or if it fails; the message says which."""


class NoCompiler(CannotBuild):
    """Raised if there is no compiler; the message says how to get one."""


@cache
def tell_of_slow_steps(reason: str) -> None:
    """Say once in a process, by the logger `sgverify` and so on stderr by default, why steps are taken without a kernel."""
    logging.getLogger("sgverify").warning(
        "steps are taken on torch, which may take many times as long: %s", reason
    )


def compiler() -> list[str] | None:
    """The command of the C compiler; None if there is none."""
    named = os.environ.get("CC")
    try:
        candidates = [shlex.split(named)] if named else [["cc"], ["gcc"], ["clang"]]
    except ValueError:
        # A quotation mark that is not closed: no shell would run it.
        return None
    found = next((command for command in candidates if command and shutil.which(command[0])), None)
    return _zig() if found is None and not named else found


def _zig() -> list[str] | None:
    """The command of the C compiler in the package ziglang; None if that is not installed."""
    package = find_spec("ziglang")
    if package is None or package.origin is None:
        return None
    program = Path(package.origin).with_name("zig.exe" if WINDOWS else "zig")
    return [str(program), "cc"] if program.exists() else None


def is_built(text: str) -> bool:
    """Is the library of a C text loaded or stored, so that it costs no compiler's time?"""
    if text in _BUILT:
        return True
    command = compiler()
    return command is not None and find(key(text, [*command, *FLAGS])) is not None


def build(text: str, patience: float = math.inf) -> ctypes.CDLL:
    """The library compiled from a C text; each text is compiled once.

    Raises `CannotBuild`, also if a text that is not built would take more seconds than `patience`.
    """
    if text not in _BUILT:
        if patience < SLOWEST and not is_built(text):
            raise CannotBuild(f"to build it takes about {SLOWEST} s, and the run fewer")
        _BUILT[text] = _load(text)
    return _BUILT[text]


def _load(text: str) -> ctypes.CDLL:
    """The stored library of a text, or one that is compiled now and stored."""
    command = compiler()
    if command is None:
        named = os.environ.get("CC")
        raise NoCompiler(
            f"CC={named!r} names no program that is here; mend it, or unset it"
            if named
            else "there is no C compiler here (cc, gcc or clang); install one, or the optional extra 'kernel', which brings one: "
            "pip install 'sgverify[kernel]'"
        )
    name = key(text, [*command, *FLAGS])
    stored = find(name)
    if stored is not None:
        try:
            return ctypes.CDLL(str(stored))
        except OSError:
            # From a folder from which nothing may be run, for instance.
            stored = None
    try:
        # On Windows a loaded library cannot be removed: the folder then stays until the system removes it.
        with tempfile.TemporaryDirectory(prefix="sgverify-", ignore_cleanup_errors=True) as folder:
            library = _compiled(command, text, Path(folder))
            store(name, library)
            try:
                return ctypes.CDLL(str(library))
            except OSError as error:
                raise CannotBuild(f"what {command[0]} made cannot be loaded: {error}") from error
    except OSError as error:
        place = os.environ.get("TMPDIR") or "the system's own"
        raise CannotBuild(
            f"the temporary folder ({place}) cannot be written: {error.strerror}; make room there, or name another one by TMPDIR"
        ) from error


def _compiled(command: list[str], text: str, folder: Path) -> Path:
    """The compiled library, in this folder. A compiler that does not know the processor compiles for all of its kind."""
    source, library = folder / "kernel.c", folder / ("kernel.dll" if WINDOWS else "kernel.so")
    source.write_text(text, encoding="utf-8")
    reason = ""
    for flags in (FLAGS, [flag for flag in FLAGS if flag != NATIVE]):
        done = subprocess.run(
            [*command, *flags, "-o", str(library), str(source)],
            capture_output=True,
            text=True,
            check=False,
            # What zig remembers of this one text is not kept.
            env={**os.environ, "ZIG_LOCAL_CACHE_DIR": str(folder)},
        )
        if not done.returncode:
            return library
        reason = reason or " ".join(done.stderr.splitlines()[:3])
    if "No space left" in reason:
        raise OSError(errno.ENOSPC, "No space left on device")
    raise CannotBuild(f"{' '.join(command)} fails: {reason}")
