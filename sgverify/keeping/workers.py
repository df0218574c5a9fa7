"""Calls on several processes of this machine: the one loop of campaigns, of `verify --workers` and of chains drawn apart."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from typing import Any, NamedTuple

from sgverify.errors import ConfigurationError, PluginWarning
from sgverify.named_code import Asked, asked, asking

MOST = 8
"""The most processes by default: each process loads torch separately."""


VARIABLE = "SGVERIFY_WORKERS"
"""The environment variable with the number of processes where `--workers` is not given."""


_PROGRAM = threading.Event()

_PROCESS = ExitStack()
"""The contexts that stay entered until the process ends."""


def of_the_program() -> None:
    """Say that this process is the command line's own, so that new processes find nothing else to import."""
    _PROGRAM.set()


def default_workers() -> int:
    """The number of `SGVERIFY_WORKERS`; where it is not set, the processors that this process may use, at most `MOST`.

    It is 1 in a script that calls `main`: each new process would run the script again. Raises `ConfigurationError` for a value
    that is no positive whole number.
    """
    given = os.environ.get(VARIABLE)
    if given is None:
        if not _PROGRAM.is_set():
            return 1
        return min(
            MOST, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
    if not given.isdecimal() or int(given) < 1:
        raise ConfigurationError(
            f"{VARIABLE}={given!r}: expected a whole number of at least 1; mend it, or unset it for one process a processor"
        )
    return int(given)


class Done(NamedTuple):
    """A call that is over: of which process, the label that it was given under, and its future."""

    place: int
    label: Any
    future: Future[Any]

    @property
    def lost(self) -> bool:
        """Has its process ended without an answer, as it does when memory runs out?"""
        return isinstance(self.future.exception(), BrokenExecutor)


class Workers:
    """A context with `count` processes, numbered from 0, each of which does its calls one after the other.

    A process that ends is replaced, and no other one ends with it. Leaving the context by an exception ends the running calls.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._running: dict[Future[Any], tuple[int, Any]] = {}

    def __enter__(self) -> Workers:
        self._others = set(multiprocessing.active_children())
        self._pools = [new_process() for _ in range(self.count)]
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.end()
        # It waits until its own thread has seen every process end: to wait for a process from two threads lets one of them see it
        # alive after its end.
        for pool in self._pools:
            pool.shutdown()

    def end(self) -> None:
        """End the running calls, and the processes with them."""
        for process in set(multiprocessing.active_children()) - self._others:
            process.terminate()

    def __bool__(self) -> bool:
        """Is a call running?"""
        return bool(self._running)

    def give(self, place: int, label: Any, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call a function in a process, from any thread. Raises `RuntimeError` where it has ended and is not replaced yet."""
        future = self._pools[place].submit(function, *arguments)
        self._running[future] = place, label
        return future

    def done(self, seconds: float | None = None) -> list[Done]:
        """The calls that are over, after waiting for the first of them, at most so many seconds; none where none runs."""
        over, _ = wait(list(self._running), seconds, FIRST_COMPLETED)
        found = [Done(*self._running.pop(future), future) for future in over]
        for place in {call.place for call in found if call.lost}:
            self._pools[place].shutdown(wait=False)
            self._pools[place] = new_process()
        return found


def new_process() -> ProcessPoolExecutor:
    """A process for calls. It ends when this process does, even by SIGKILL."""
    # Spawned, not forked: a forked process would inherit the threads' locks of numerical libraries.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=(asked(),))


def _begin(what: Asked) -> None:
    # What the command line asks for is asked for here too.
    _PROCESS.enter_context(asking(what))
    # Ctrl-C reaches every process of a terminal; only the parent process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is wrong with an installed distribution is said once, by the parent process.
    warnings.simplefilter("ignore", PluginWarning)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process as soon as its parent has ended; one that waits for a job would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
