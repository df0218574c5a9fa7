"""How is the progress of a long question shown in a notebook, where there is no terminal for a bar?"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

PATIENCE, PACE = 1.0, 0.25
"""The seconds before the first line, so that a quick answer shows none, and the seconds between two lines."""


def with_progress(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """The function, whose progress a notebook shows in one line where no `progress` is given; elsewhere it is as it was."""

    @wraps(function)
    def asked(*arguments: Given.args, **named: Given.kwargs) -> Answer:
        if named.get("progress") is not None or not in_notebook():
            return function(*arguments, **named)
        with Line(function.__name__) as line:
            named["progress"] = line
            return function(*arguments, **named)

    return asked


def in_notebook() -> bool:
    """Does this process serve a notebook? IPython in a terminal does not count."""
    # IPython is loaded in every notebook, and need not be installed elsewhere.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


class Line:
    """One line of output that is replaced while a question runs, and empty after it."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._next = time.monotonic() + PATIENCE
        self._handle: Any = None

    def __enter__(self) -> Line:
        return self

    def __call__(self, *told: Any) -> None:
        """Show what is told: (text, done, total) or (done, total)."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PACE
        *text, done, total = told
        self._show(f"{' '.join([self._title, *filter(None, text)])}: {done / total:.0%}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            self._show("")

    def _show(self, text: str) -> None:
        from IPython.display import display

        shown = {"text/plain": text}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)
