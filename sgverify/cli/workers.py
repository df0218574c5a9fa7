"""How do jobs, or the questions of one call, run on several processes, with results that do not depend on their number?"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sgverify.cli import output
from sgverify.errors import ConfigurationError, UserError
from sgverify.evidence.crash import RAISE, Crash
from sgverify.user_code import own_code

if TYPE_CHECKING:
    from sgverify.evidence import Evidence
    from sgverify.verdict.asking import Answered, Enquiry

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


class Call(NamedTuple):
    """What a process needs to make the enquiry of a call of `verify` anew."""

    scheme: str
    config: str | None
    settings: tuple[str, ...]
    selected: tuple[str, ...]
    brief: bool


class Helpers:
    """Further processes, each of which answers one portion of the questions after the other.

    This process takes portions from the front and the others take them from the back, until none is left. What a process that ends
    without an answer leaves open is answered here.
    """

    def __init__(self, pool: ProcessPoolExecutor, call: Call, count: int) -> None:
        self._pool, self._call, self._count = pool, call, count
        self._waiting: deque[tuple[int, ...]] = deque()
        self._running: dict[Future[dict[int, Answered]], tuple[int, ...]] = {}
        # Portions are handed out by the pool's thread as well.
        self._lock = threading.Lock()
        self._told_of_an_end = False
        # They load torch and sympy while this process does.
        for _ in range(count):
            pool.submit(_prepare, call)

    def answers(
        self, enquiry: Enquiry, progress: Any, told: Callable[[list[Evidence]], None]
    ) -> list[Evidence]:
        """The evidence of an enquiry; `told` gets the answers to each question, in the order of the questions.

        Raises what asking them one after the other raises; its evidence is what was told until then.
        """
        from sgverify.checks.progress import Interrupted, keep_evidence

        if enquiry.not_validated:
            return enquiry.ask(progress, told)
        found: dict[int, Answered] = {}
        shown: list[Evidence] = []
        order = iter(range(len(enquiry.questions)))
        following = next(order, None)

        def enter(answers: dict[int, Answered]) -> None:
            nonlocal following
            found.update(answers)
            while following in found:
                told(found[following].evidence)
                shown.extend(found[following].evidence)
                following = next(order, None)

        try:
            self._waiting.extend(enquiry.portions)
            for _ in range(self._count):
                self._hand_out()
            while (taken := self._next()) is not None:
                places, future = taken
                answers = None if future is None else self._result(future, progress)
                if answers is not None:
                    enter(answers)
                    continue
                for place in places:
                    enter({place: enquiry.answered(place, progress, len(found))})
        except KeyboardInterrupt:
            raise Interrupted(enquiry.in_order(shown)) from None
        except Exception as error:
            keep_evidence(error, enquiry.in_order(shown))
            raise
        return enquiry.concluded([found[place] for place in sorted(found)])

    def _hand_out(self, _: object = None) -> None:
        """Give a process the last portion that waits; called again when that is answered."""
        with self._lock:
            if not self._waiting:
                return
            places = self._waiting.pop()
            try:
                future = self._pool.submit(_answers, self._call, places)
            except RuntimeError:
                # The other processes have ended.
                self._waiting.append(places)
                return
            self._running[future] = places
        future.add_done_callback(self._hand_out)

    def _next(self) -> tuple[tuple[int, ...], Future[dict[int, Answered]] | None] | None:
        """A portion to answer here, else one that another process answers, else None."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft(), None
            if not self._running:
                return None
            future = next(iter(self._running))
            return self._running.pop(future), future

    def _result(self, future: Future[dict[int, Answered]], progress: Any) -> dict[int, Answered] | None:
        """The answers of another process; None where it has none, and the questions are to be asked here."""
        try:
            return future.result()
        except BrokenExecutor:
            if not self._told_of_an_end:
                self._told_of_an_end = True
                with output.above(progress):
                    output.say(
                        "a process of --workers ended without an answer, as it does when memory runs out; its questions are "
                        "answered here",
                        err=True,
                    )
        except Exception:
            # Whatever a question raises there it raises here, in its turn.
            pass
        return None


@contextmanager
def helpers(call: Call, workers: int) -> Iterator[Helpers | None]:
    """A context with `workers` - 1 further processes; None for one worker. Leaving it by an exception ends them."""
    if workers == 1:
        yield None
        return
    with processes(workers - 1) as pool:
        yield Helpers(pool, call, workers - 1)


@cache
def _made(call: Call) -> Enquiry:
    from sgverify.configuration import load_configuration
    from sgverify.verdict.asking import enquire

    configuration = load_configuration(call.config, call.settings)
    enquiry = enquire(call.scheme, configuration, call.selected, brief=call.brief)
    _ = enquiry.not_validated, enquiry.portions
    return enquiry


def _prepare(call: Call) -> None:
    """Load what an enquiry needs: for another process."""
    _made(call)


def _answers(call: Call, places: Sequence[int]) -> dict[int, Answered]:
    """The answers to the questions at these places: for another process."""
    enquiry = _made(call)
    return {place: enquiry.answered(place) for place in places}


def _ignore_interrupts() -> None:
    # Ctrl-C reaches every process of a terminal; only the parent process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
