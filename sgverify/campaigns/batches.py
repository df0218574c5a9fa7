"""How many jobs does a process take at once, and what does it hand back of each?

Handing over costs about a millisecond, so that jobs of some milliseconds travel together; jobs whose cost is not known yet travel
alone, and towards the end the batches become small, so that the processes end together.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from sgverify.campaigns.costs import Costs
from sgverify.campaigns.processes import Job
from sgverify.errors import UserError
from sgverify.evidence.crash import RAISE, Crash
from sgverify.store import Circumstances
from sgverify.user_code import own_code

WRONG_CALL, INTERNAL = 2, 4

LONGEST = 1.0
"""The seconds that a batch is expected to take, if it holds more than one job."""

SHARES = 3
"""Of what is left, a batch is at most this part of the share of one process."""


class Lost(NamedTuple):
    """The result of a job that failed: the reason, and the exit code that it implies."""

    reason: str
    code: int


class Finished(NamedTuple):
    """The result of a job, which is `Lost` for one that failed, and the seconds that it took.

    `first` marks the first job of a process, whose seconds count the loading of libraries too. `place` are the circumstances that
    it ran under, where they are not those of this process.
    """

    result: Any
    seconds: float
    first: bool = False
    place: Circumstances | None = None


class JobBatches:
    """The jobs that wait, by number, handed out in batches in their order."""

    def __init__(self, numbers: Iterable[int], costs: Costs | None, processes: int) -> None:
        self._waiting = deque(numbers)
        self._alone: deque[int] = deque()
        self._costs, self._processes = costs, processes

    def __bool__(self) -> bool:
        return bool(self._waiting or self._alone)

    def taken(self) -> list[int]:
        """The next batch; empty where no job waits."""
        if self._alone:
            return [self._alone.popleft()]
        if not self._waiting:
            return []
        batch = [self._waiting.popleft()]
        if self._costs is None:
            return batch
        bound = min(LONGEST, (self._costs.left() or 0.0) / (SHARES * self._processes))
        spent = self._costs.expected(batch[0])
        while self._waiting and spent is not None:
            more = self._costs.expected(self._waiting[0])
            if more is None or spent + more > bound:
                break
            spent += more
            batch.append(self._waiting.popleft())
        return batch

    def again(self, numbers: Iterable[int]) -> None:
        """Put jobs back, before all others and each in a batch of its own."""
        self._alone.extend(numbers)


def run_batch(jobs: Sequence[Job]) -> list[Finished]:
    """Run jobs one after the other; one that raises gives `Lost` and does not affect the others."""
    global _FIRST
    found = []
    for job in jobs:
        began = time.perf_counter()
        result = attempt(*job)
        found.append(Finished(result, time.perf_counter() - began, _FIRST))
        _FIRST = False
    return found


def attempt(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The result of a function, or `Lost`; raises if the environment variable `SGVERIFY_RAISE` is set."""
    try:
        with own_code():
            return function(*arguments)
    except UserError as error:
        return Lost(str(error), WRONG_CALL)
    except (Exception, SystemExit) as error:
        if os.environ.get(RAISE):
            raise
        return Lost(Crash.of(error).reason, INTERNAL)


_FIRST = True
"""Has this process run no job yet?"""


__all__ = ["Finished", "JobBatches", "Lost", "attempt", "run_batch"]
