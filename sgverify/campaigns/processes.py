"""How do jobs run on several processes of this machine, with results that do not depend on their number?"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from typing import Any

from sgverify.errors import ConfigurationError, PluginWarning
from sgverify.named_code import Asked, asked, asking

Job = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function that a new process can import, and its arguments."""

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


def run_jobs(jobs: Sequence[Job], workers: int, *, here: bool = True) -> Iterator[tuple[int, Any]]:
    """The pair (number, result) of every job as soon as it is finished; the results do not depend on `workers`.

    With one worker and `here`, the jobs run in this process, one after the other. Exceptions of jobs are raised. If the caller
    stops iterating, or is interrupted, the running jobs are ended.
    """
    if here and min(workers, len(jobs)) <= 1:
        for number, (function, arguments) in enumerate(jobs):
            yield number, function(*arguments)
        return
    with processes(min(workers, len(jobs))) as pool:
        futures = {
            pool.submit(function, *arguments): number for number, (function, arguments) in enumerate(jobs)
        }
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            raise


@contextmanager
def processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A context with processes for jobs; leaving it by an exception ends the running jobs."""
    with new_processes(workers) as pool, ended_with_errors():
        yield pool


def new_processes(workers: int) -> ProcessPoolExecutor:
    """Processes for jobs. They end when this process does, even by SIGKILL."""
    # Spawned, not forked: a forked process would inherit the threads' locks of numerical libraries.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(asked(),))


@contextmanager
def ended_with_errors() -> Iterator[None]:
    """A context that, when it is left by an exception, ends the processes that were begun in it."""
    others = set(multiprocessing.active_children())
    try:
        yield
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        # Leaving the pool waits until its own thread has seen every process end: to wait for a process from two
        # threads lets one of them see it alive after its end.
        raise


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
