"""Which C compiler builds a kernel, and how?

The compiler is `CC` of the environment, else cc, gcc or clang, else the one that the optional extra `kernel` installs: ziglang, a
package of clang for Linux, macOS and Windows. Arithmetic is IEEE 754, neither contracted nor reassociated: the C text alone
determines the bits, whichever compiler builds it. A library is compiled in a temporary folder, stored by `built`, loaded by ctypes.

`python -m benchmarks compilers` is what the choice rests on: it times builds and steps for every compiler that is here. gcc, clang
and zig give the same bits, and steps of about the same speed. With -O3, gcc and clang take two to three times as long to build and
gain no time in the steps: what counts is that loops over chains become vector instructions, and `-ftree-vectorize` does so at -O2.
TinyCC, which has no vector instructions, `__int128` or thread-local variables, does not build the text. For numba or llvmlite the
definitions would need a second translator beside the C text. numba's import alone takes as long as gcc's build, and a loop over
logistic regression like that of `benchmarks.peers.numba_loops` took 2.5 times as long to build, its steps five times as long.
"""

from __future__ import annotations

import ctypes
import logging
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from sgverify.samplers.fused import built

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
    candidates = [shlex.split(named)] if named else [["cc"], ["gcc"], ["clang"]]
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
    return command is not None and built.find(built.key(text, [*command, *FLAGS])) is not None


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
        raise NoCompiler(
            "there is no C compiler here (cc, gcc or clang); install one, or the optional extra 'kernel', which brings one: "
            "pip install 'sgverify[kernel]'"
        )
    name = built.key(text, [*command, *FLAGS])
    stored = built.find(name)
    if stored is not None:
        try:
            return ctypes.CDLL(str(stored))
        except OSError:
            # From a folder from which nothing may be run, for instance.
            stored = None
    # On Windows a loaded library cannot be removed: the folder then stays until the system removes it.
    with tempfile.TemporaryDirectory(prefix="sgverify-", ignore_cleanup_errors=True) as folder:
        library = _compiled(command, text, Path(folder))
        built.store(name, library)
        try:
            return ctypes.CDLL(str(library))
        except OSError as error:
            raise CannotBuild(f"what {command[0]} made cannot be loaded: {error}") from error


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
    raise CannotBuild(f"{' '.join(command)} fails: {reason}")
