"""How far is a command: a bar with the time left on a terminal, and a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sgverify.errors import printable
from sgverify.keeping.stopping import deadline

if TYPE_CHECKING:
    from sgverify.campaigns.tasks import Progressed


class ProgressBar:
    """A progress bar: `bar(text, done, total)` moves it; `bar.told(progressed)` moves it by costs that were measured."""

    def __init__(self, bar: Any, title: str) -> None:
        self.shown, self._title = bar, title
        self._task = bar.add_task(printable(title), total=None, percent="", counted="", left="")

    def __call__(self, text: str, done: float, total: int) -> None:
        """Show the text, and the share that is done; the time left is that of so many equal parts."""
        left = self.shown.tasks[0].time_remaining
        self._show(text or self._title, done, total, f"{int(done)}/{total}", left)

    def told(self, progressed: Progressed) -> None:
        """Show how many tasks are done, one that runs, and the time left by what tasks have cost."""
        done, left = progressed.done, progressed.left
        # The bar shows time: tasks that are done, and those of a store, count as what was spent on them.
        spent = progressed.spent
        share = (
            spent / (spent + left)
            if left is not None and spent + left > 0
            else done / max(1, progressed.total)
        )
        text = shortened(progressed.running or self._title)
        self._show(text, share * progressed.total, progressed.total, f"{done}/{progressed.total}", left)

    def _show(self, text: str, done: float, total: int, counted: str, left: float | None) -> None:
        _now_running(text)
        self.shown.update(
            self._task,
            description=printable(text),
            completed=done,
            total=total,
            counted=counted,
            **told_share(done, total, left),
        )


def told_share(done: float, total: float, left: float | None) -> dict[str, str]:
    """The percentage and the time left as texts: 100 % only where all is done, and no time left there."""
    whole = done >= total
    percent = 100 if whole else min(99, int(100 * done / total))
    return {
        "percent": f"{percent:>3}%",
        "left": "" if whole or left is None else f"{duration(left)} left",
    }


FIRST, EVERY = 2.0, 30.0
"""The seconds before the first line of progress where there is no terminal, and those between two lines."""


class ProgressLines(ProgressBar):
    """The same as lines on stderr. A thread of their own writes them, so that they come whatever runs, and however long."""

    def __init__(self, title: str) -> None:
        self.shown, self._title, self._last = self, title, title
        self._began, self._over = time.monotonic(), threading.Event()
        _now_running(title)

    def __enter__(self) -> ProgressLines:
        self._stream = sys.stderr
        threading.Thread(target=self._write, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def __call__(self, text: str, done: float, total: int) -> None:
        """Say the text, and how many of the parts are done."""
        self._show(text or self._title, done, total, f"{int(done)}/{total}", None)

    def start(self) -> None:
        """Nothing: lines stand in nobody's way."""

    stop = start

    def _show(self, text: str, done: float, total: int, counted: str, left: float | None) -> None:
        _now_running(text)
        head = self._title if text == self._title else f"{self._title}: {text}"
        left_ = told_share(done, total, left)["left"]
        self._last = f"{head}, {counted}" + (left_ and f", {left_}")

    def _write(self) -> None:
        wait = FIRST
        while not self._over.wait(min(wait, threading.TIMEOUT_MAX)):
            with suppress(OSError, ValueError):
                print(
                    f"{printable(self._last)} (after {duration(time.monotonic() - self._began)})",
                    file=self._stream,
                    flush=True,
                )
            wait = EVERY


def _now_running(text: str) -> None:
    ends = deadline()
    if ends is not None:
        ends.doing = text


def shortened(text: str, most: int = 48) -> str:
    """The text, cut in its middle to so many characters: both ends tell settings apart."""
    return text if len(text) <= most else f"{text[: most // 2 - 1]}…{text[-(most // 2) :]}"


def duration(seconds: float) -> str:
    """Seconds as a reader says them.

    >>> [duration(seconds) for seconds in (0.4, 7.2, 64, 5400, 400000)]
    ['less than 1 s', '7 s', '64 s', '90 min', '111 h']
    """
    if seconds < 1:
        return "less than 1 s"
    for unit, length, most in (("s", 1, 100), ("min", 60, 100)):
        if seconds / length < most:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 3600:.0f} h"
