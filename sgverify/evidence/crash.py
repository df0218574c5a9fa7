"""The record of an unforeseen exception: one line in the answer, the traceback in a file for a bug report."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import stat
import sysconfig
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import sgverify
from sgverify.keeping.files import put
from sgverify.user_code import changed_for_all

PACKAGE = Path(__file__).parents[1]
RAISE = "SGVERIFY_RAISE"
"""The environment variable under which unforeseen exceptions are raised, not recorded; tests set it, so that no bug is hidden."""

LONGEST = 300
"""The most characters of an exception's message that an answer quotes; the file has the whole message."""


@dataclass(frozen=True)
class Crash:
    """The record of an exception: `exception` is its type and message, `place` the innermost line of this package or the user.

    `ours`: that line belongs to this package. `starved`: memory ran out. `changed`: what code of the user's has changed for this
    whole process, if it has. `file` is the path of the traceback, None if none could be written. Contents and name of the file
    depend on the exception alone, so that equal crashes leave one file.
    """

    exception: str
    place: str
    ours: bool
    starved: bool
    file: str | None
    changed: str = ""

    @classmethod
    def of(cls, error: BaseException) -> Crash:
        """The record of `error`; never raises."""
        place, ours = _place(error.__traceback__)
        return cls(
            _line(error), place, ours, out_of_memory(error), _written(error), ", ".join(changed_for_all())
        )

    @property
    def reason(self) -> str:
        """The sentence of an answer: what happened, where, and how to report it."""
        kept = (
            f"the traceback is in {self.file}" if self.file else "no file could be written for its traceback"
        )
        if self.starved:
            return f"memory ran out, nothing was answered; {self.exception}, {self.place}: give it more, or ask for less; {kept}"
        if self.changed:
            return (
                f"stopped by an exception, nothing was answered; {self.exception}, raised at {self.place}; your code changes "
                f"{self.changed} for the whole process, in which sgverify computes too: leave that as it is, or put it back; {kept}"
            )
        if not self.ours:
            return f"stopped by an exception, nothing was answered; {self.exception}, raised at {self.place}; {kept}"
        return (
            f"an error inside sgverify, nothing was answered; for or against the scheme: {self.exception} ({self.place}); please "
            f"report it: {kept}"
        )

    @property
    def certificate(self) -> dict[str, Any]:
        """The record as JSON values for a certificate."""
        return {"exception": self.exception, "raised": self.place, "traceback": self.file}


def out_of_memory(error: BaseException | None) -> bool:
    """Did memory run out, by Python's own error, torch's, the system's, or an error with one of these as its cause?"""
    while error is not None:
        text = str(error) if isinstance(error, RuntimeError | OSError | ImportError) else ""
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            return True
        # torch's allocator on the processor raises a plain RuntimeError; a library that cannot be mapped an ImportError.
        said = "allocate memory" in text or "failed to map segment" in text
        if said or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        error = error.__cause__
    return False


def _line(error: BaseException) -> str:
    try:
        message = " ".join(str(error).split())
    except Exception:  # an exception of somebody's whose text is computed, and whose computation fails
        message = ""
    if len(message) > LONGEST:
        message = f"{message[:LONGEST]}..."
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _place(trace: TracebackType | None) -> tuple[str, bool]:
    """FILE:LINE of the innermost frame that is the package's own or a user's, and whether it is the package's."""
    libraries = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    found: tuple[str, bool] = ("no line known", True)
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if Path(file).is_relative_to(PACKAGE):
            found = f"{Path(file).relative_to(PACKAGE.parent).as_posix()}:{trace.tb_lineno}", True
        elif not file.startswith("<") and not file.startswith(libraries):
            found = f"{Path(file).name}:{trace.tb_lineno}", False
        trace = trace.tb_next
    return found


def _written(error: BaseException) -> str | None:
    """The file with the traceback; None where the system has no place for it. What has its name, and is another, stays."""
    try:
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        versions = (
            f"sgverify {sgverify.__version__}, Python {platform.python_version()}, {platform.platform()}"
        )
        raw = f"{versions}\n\n{''.join(lines)}".encode("utf-8", "backslashreplace")
        name = f"sgverify-traceback-{hashlib.sha256(raw).hexdigest()[:12]}.txt"
        path = Path(tempfile.gettempdir()) / name
        if os.path.lexists(path):
            if stat.S_ISREG(os.lstat(path).st_mode) and os.access(path, os.R_OK) and path.read_bytes() == raw:
                return str(path)
            path = Path(tempfile.mkdtemp(prefix="sgverify-")) / name
        put(path, raw, mode=0o600)
        return str(path)
    except Exception:  # the disk is full, memory is out: what was to be told is told without a file
        return None
