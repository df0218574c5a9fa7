"""The watch over code of a user's: a call, a file that is being loaded or a thread that does not come back is named, with its line.

Nothing is ended: Ctrl-C and the end of the command's time do that.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sgverify.code_files import is_own
from sgverify.errors import printable

PATIENCE = 60.0
"""After so many seconds in one call of a user's function, in a file of theirs that is being loaded, or in a thread of theirs, the
line that runs is named on stderr."""

ENDING = 2.0
"""Seconds that the end of a command waits for the watch, which may be writing to a pipe that nobody reads."""


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Context in which code of a user's that does not come back is named, with its line; re-entrant, from any thread."""
    with _LOCK:
        _WATCHED[0] += 1
        if _WATCHED[0] == 1:
            over = threading.Event()
            watch = threading.Thread(target=_watch, args=(over, sys.stderr), daemon=True)
            _WATCHES.append((watch, over))
            watch.start()
    try:
        yield
    finally:
        with _LOCK:
            _WATCHED[0] -= 1
            ended = None if _WATCHED[0] else _WATCHES.pop()
        if ended is not None:
            ended[1].set()
            # It may hold the last reference to frames with tensors of the user's, and the interpreter's end aborts a thread that
            # is just freeing a tensor: "terminate called without an active exception".
            ended[0].join(ENDING)


_LOCK = threading.RLock()
_WATCHED = [0]
_WATCHES: list[tuple[threading.Thread, threading.Event]] = []


def _watch(over: threading.Event, stderr: Any) -> None:
    """Look at every thread now and then: a call that is met each time for `PATIENCE` seconds has not come back."""
    since: dict[int, tuple[Any, float]] = {}
    while not over.wait(PATIENCE / 8):
        waiting = {thread.ident for thread in threading.enumerate() if thread.daemon}
        for ident, frame in sys._current_frames().items():
            entry, now, by_sgverify = _own_part(frame)
            # Threads that nothing waits for may serve for as long as they like.
            if entry is None or (ident in waiting and not by_sgverify):
                since.pop(ident, None)
                continue
            # The frame is kept, so that no later call can have its place in memory.
            if ident not in since or since[ident][0] is not entry:
                since[ident] = entry, time.monotonic()
            elif time.monotonic() - since[ident][1] > PATIENCE and stderr is not None:
                since[ident] = entry, float("inf")
                code = now.f_code
                place = printable(f"{os.path.basename(code.co_filename)}:{now.f_lineno} ({code.co_name})")
                with contextlib.suppress(OSError, ValueError):
                    print(f"{place} has run for {PATIENCE:g} s; Ctrl-C stops it", file=stderr, flush=True)


def _own_part(frame: Any) -> tuple[Any, Any, bool]:
    """The call of a user's code that a thread is in, its innermost frame of the user's, and whether sgverify called it.

    None where the thread is in sgverify, called by the user's code or not, or in neither.
    """
    entry = now = None
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_PACKAGE):
            return entry, now, True
        if _is_users(file):
            entry, now = frame, now or frame
        frame = frame.f_back
    return entry, now, False


_PACKAGE = os.path.dirname(__file__) + os.sep


@functools.cache
def _is_users(file: str) -> bool:
    return os.path.isfile(file) and is_own(Path(file))
