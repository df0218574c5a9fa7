"""From C text to a function: the system's compiler, a folder that is gone afterwards, and ctypes.

The compiler is `CC` of the environment, else cc, gcc or clang. Arithmetic is IEEE 754, never contracted nor
reassociated, so that the text alone says what the bits are.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

FLAGS = (
    "-O3",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fPIC",
    "-shared",
    "-w",
)

_BUILT: dict[str, ctypes.CDLL] = {}


class CannotBuild(Exception):
    """There is no compiler, or it refuses; the message says which."""


def compiler() -> list[str] | None:
    """The command of the C compiler, None where there is none."""
    named = os.environ.get("CC")
    candidates = [shlex.split(named)] if named else [["cc"], ["gcc"], ["clang"]]
    return next((command for command in candidates if command and shutil.which(command[0])), None)


def build(text: str) -> ctypes.CDLL:
    """The library that a C text compiles to; each text is compiled once in a process. Raises `CannotBuild`."""
    if text not in _BUILT:
        _BUILT[text] = _build(text)
    return _BUILT[text]


def _build(text: str) -> ctypes.CDLL:
    command = compiler()
    if command is None:
        raise CannotBuild("there is no C compiler (cc, gcc or clang) here")
    with tempfile.TemporaryDirectory(prefix="sgverify-") as folder:
        source, library = Path(folder, "kernel.c"), Path(folder, "kernel.so")
        source.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [*command, *FLAGS, "-o", str(library), str(source), "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            reason = " ".join(done.stderr.splitlines()[:3])
            raise CannotBuild(f"{command[0]} fails: {reason}")
        try:
            return ctypes.CDLL(str(library))
        except OSError as error:
            raise CannotBuild(f"what {command[0]} made cannot be loaded: {error}") from error
