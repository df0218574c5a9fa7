"""Jobs of a campaign: where they run, in this process or on others of this machine, how many travel together, what they will cost.

Handing over costs about a millisecond, so that jobs of some milliseconds travel together; jobs whose cost is not known yet travel
alone, and towards the end the batches become small, so that the processes end together. An engine on a cluster is in `cluster`.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sgverify.errors import UserError
from sgverify.evidence.crash import RAISE, Crash
from sgverify.keeping.identity import Circumstances
from sgverify.keeping.workers import Workers
from sgverify.user_code import own_code


class Spent(NamedTuple):
    """How many tasks were measured, and the seconds that they took together."""

    tasks: int
    seconds: float

    @property
    def mean(self) -> float:
        """Seconds for each."""
        return self.seconds / self.tasks

    def __add__(self, other: tuple[int, float]) -> Spent:  # type: ignore[override]
        return Spent(self.tasks + other[0], self.seconds + other[1])


class Costs:
    """The expected seconds of tasks: the mean of those of their sort that were measured, before (`known`) or in this run.

    `sorts` has the sort of every task, such as "verify sghmc-aboba gaussian iid".
    """

    def __init__(self, sorts: Sequence[str], known: Mapping[str, Spent] | None = None) -> None:
        self._sorts = sorts
        self._open = Counter(sorts)
        self._measured = {sort: spent for sort, spent in (known or {}).items() if spent.tasks}

    def expected(self, number: int) -> float | None:
        """The seconds that a task is expected to take; None where none of its sort was measured."""
        spent = self._measured.get(self._sorts[number])
        return None if spent is None else spent.mean

    def finished(self, number: int, seconds: float | None) -> None:
        """Count a task as done. Its seconds are None where they tell nothing, as of what was found in a store."""
        sort = self._sorts[number]
        self._open[sort] -= 1
        if seconds is not None:
            self._measured[sort] = self._measured.get(sort, Spent(0, 0.0)) + (1, seconds)

    @property
    def unmeasured(self) -> int:
        """How many open tasks are of a sort of which none was measured."""
        return sum(count for sort, count in self._open.items() if sort not in self._measured)

    def left(self) -> float | None:
        """The seconds of processor time that all open tasks are expected to take; None where nothing was measured.

        Tasks of a sort that was not measured count as much as the mean of the open ones that were, or of all that were.
        """
        if not self._measured:
            return None
        known = {sort: count for sort, count in self._open.items() if sort in self._measured and count}
        seconds = sum(count * self._measured[sort].mean for sort, count in known.items())
        if known:
            return seconds * (1 + self.unmeasured / sum(known.values()))
        return self.unmeasured * sum(self._measured.values(), Spent(0, 0.0)).mean


Job = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function that a new process can import, and its arguments."""

WRONG_CALL, INTERNAL = 2, 4

LONGEST = 1.0
"""The seconds that a batch is expected to take, if it holds more than one job."""

SHARES = 3
"""Of what is left, a batch is at most this part of the share of one process."""


NO_ANSWER = "its process ended without an answer twice, as it does when memory runs out"


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

    def tried_again(self, batch: Sequence[int], suspected: set[int]) -> list[tuple[int, Finished]]:
        """Put the jobs of a process that ended back, once each: `suspected` were in one that ended before, and are lost.

        Which job of a batch ended the process is not known.
        """
        lost = [number for number in batch if number in suspected]
        self.again(number for number in batch if number not in suspected)
        suspected.update(batch)
        return [(number, Finished(Lost(NO_ANSWER, INTERNAL), 0.0, True)) for number in lost]


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


Begun = Callable[[Sequence[int]], None]
"""Is told the numbers of jobs that begin."""


class Engine(Protocol):
    """What runs jobs."""

    @property
    def processes(self) -> int:
        """How many jobs run at the same time."""

    @property
    def places(self) -> Sequence[Circumstances | None]:
        """Under which circumstances jobs may run, each once; None stands for those of this process."""

    def run(
        self, jobs: Mapping[int, Job], costs: Costs | None = None, begun: Begun | None = None
    ) -> Iterator[list[tuple[int, Finished]]]:
        """The pair (number, finished) of every job, some together as soon as they are known; what is found does not depend on the
        engine.

        A job that raises, or twice ends its process, gives `Lost` and does not affect other jobs. If the caller stops
        iterating, or is interrupted, the running jobs are ended. Expected `costs` decide how many jobs travel together.
        """


class LocalProcesses:
    """Processes of this machine; the jobs run in this one, one after the other, where one is enough and `here`."""

    def __init__(self, processes: int, *, here: bool = True) -> None:
        self._processes, self._here = processes, here

    @property
    def processes(self) -> int:
        """How many jobs run at the same time."""
        return self._processes

    @property
    def places(self) -> Sequence[Circumstances | None]:
        """Those of this process."""
        return (None,)

    def run(
        self, jobs: Mapping[int, Job], costs: Costs | None = None, begun: Begun | None = None
    ) -> Iterator[list[tuple[int, Finished]]]:
        """See `Engine`."""
        if self._here and min(self._processes, len(jobs)) <= 1:
            for number, job in jobs.items():
                if begun is not None:
                    begun([number])
                yield [(number, run_batch([job])[0])]
            return
        batches = JobBatches(jobs, costs, self._processes)
        suspected: set[int] = set()
        with Workers(min(self._processes, len(jobs))) as workers:

            def hand_out(place: int) -> None:
                batch = batches.taken()
                if batch:
                    workers.give(place, batch, run_batch, [jobs[number] for number in batch])
                    if begun is not None:
                        begun(batch)

            for place in range(workers.count):
                hand_out(place)
            while workers:
                for call in workers.done():
                    # What was found may take the caller a while; its process goes on.
                    if call.lost:
                        yield batches.tried_again(call.label, suspected)
                        hand_out(call.place)
                    else:
                        hand_out(call.place)
                        yield list(zip(call.label, call.future.result(), strict=True))
