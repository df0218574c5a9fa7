"""How do independent jobs run on several processes, with results that do not depend on the number of processes?"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from sgverify.errors import ConfigurationError, UserError
from sgverify.evidence.crash import RAISE, Crash
from sgverify.user_code import own_code

Result = TypeVar("Result")

Job = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function that a new process can import, and its arguments."""

WRONG_CALL, INTERNAL = 2, 4

MOST = 8
"""The most processes by default: each process loads torch separately."""


VARIABLE = "SGVERIFY_WORKERS"
"""The environment variable with the number of processes where `--workers` is not given."""


_PROGRAM = threading.Event()


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


@dataclass(frozen=True)
class Lost:
    """The result of a job that failed: the reason, and the exit code that it implies."""

    reason: str
    code: int


def run_apart(jobs: Sequence[Job], workers: int) -> Iterator[tuple[int, Any]]:
    """As `run_jobs`, but a job that raises, or whose process ends, gives `Lost` and does not affect other jobs.

    Exceptions are raised if the environment variable `SGVERIFY_RAISE` is set.
    """
    missing = set(range(len(jobs)))
    try:
        for number, result in run_jobs([(_attempt, job) for job in jobs], workers):
            missing.discard(number)
            yield number, result
    except BrokenProcessPool:
        # It is unknown which running job ended its process: each remaining job gets a process of its own.
        for number in sorted(missing):
            try:
                ((_, result),) = run_jobs([(_attempt, jobs[number])], workers=2, here=False)
            except BrokenProcessPool:
                result = Lost(
                    "its process ended without an answer, as it does when memory runs out", INTERNAL
                )
            yield number, result


def _attempt(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        with own_code():
            return function(*arguments)
    except UserError as error:
        return Lost(str(error), WRONG_CALL)
    except (Exception, SystemExit) as error:
        if os.environ.get(RAISE):
            raise
        return Lost(Crash.of(error).reason, INTERNAL)


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
    # Spawned, not forked: a forked process would inherit the threads' locks of numerical libraries.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_ignore_interrupts) as pool:
        try:
            yield pool
        except BaseException:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            # Leaving the pool waits until its own thread has seen every process end: to wait for a process from two
            # threads lets one of them see it alive after its end.
            raise


@contextmanager
def beside(function: Callable[..., Result], *arguments: Any) -> Iterator[Future[Result]]:
    """A context in which a second process calls the function; leaving it by an exception ends that process."""
    with processes(1) as pool:
        yield pool.submit(function, *arguments)


def _ignore_interrupts() -> None:
    # Ctrl-C reaches every process of a terminal; only the parent process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
