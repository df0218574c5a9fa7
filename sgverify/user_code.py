"""Guards around code of a user's file: it may neither print on the command's stdout nor end the process unseen."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NoReturn

ENDINGS = ("_exit", "abort", "execv", "execve")
"""Functions of `os` that end the interpreter, or put another program in its place, past every handler and `finally`."""


class InterpreterEndedError(SystemExit):
    """User code called a function that ends the process with an exit code of its own; 0 would read as a passed verdict."""


@contextlib.contextmanager
def own_code() -> Iterator[None]:
    """Context in which prints to stdout go to stderr, and calls that would end the interpreter raise.

    `sys.exit` raises `SystemExit` by itself. A process that was forked within is its own master.
    """
    with contextlib.redirect_stdout(_stderr()), unending():
        yield


@contextlib.contextmanager
def unending() -> Iterator[None]:
    """Context in which `os._exit` and its like raise `InterpreterEndedError` in this process; re-entrant, from any thread."""
    with _LOCK:
        _DEPTH[0] += 1
        if _DEPTH[0] == 1:
            _install()
    try:
        yield
    finally:
        with _LOCK:
            _DEPTH[0] -= 1
            if _DEPTH[0] == 0:
                _remove()


_LOCK = threading.RLock()
_DEPTH = [0]
_KEPT: list[tuple[ModuleType, str, Callable[..., Any]]] = []


def _install() -> None:
    # `os` takes these names from the system's own module, where `from posix import _exit` finds them.
    for module in (os, importlib.import_module(os.name)):
        for name in ENDINGS:
            real = getattr(module, name, None)
            if real is not None:
                _KEPT.append((module, name, real))
                setattr(module, name, _refusing(name, real, os.getpid()))


def _remove() -> None:
    while _KEPT:
        module, name, real = _KEPT.pop()
        setattr(module, name, real)


def _refusing(name: str, real: Callable[..., Any], owner: int) -> Callable[..., Any]:
    def refuse(*arguments: Any) -> NoReturn:
        if os.getpid() != owner:
            real(*arguments)
        given = ", ".join(map(repr, arguments))
        raise InterpreterEndedError(f"os.{name}({given[:100]}) would have ended the interpreter")

    return refuse


def _stderr() -> Any:
    return sys.stderr if sys.stderr is not None else open(os.devnull, "w")
