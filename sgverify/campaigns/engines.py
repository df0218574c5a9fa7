"""Where do jobs run: in this process, or on further processes of this machine? An engine on a cluster is in `cluster`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from sgverify.campaigns.batches import INTERNAL, Finished, JobBatches, Lost, run_batch
from sgverify.campaigns.costs import Costs
from sgverify.campaigns.processes import Job, ended_with_errors, new_processes
from sgverify.store import Circumstances

Begun = Callable[[Sequence[int]], None]
"""Is told the numbers of jobs that begin."""

NO_ANSWER = "its process ended without an answer twice, as it does when memory runs out"


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
        count = min(self._processes, len(jobs))
        # One pool for each process: if one ends, it is known which jobs ran in it, and no other process ends with it.
        pools = [new_processes(1) for _ in range(count)]
        try:
            with ended_with_errors():
                yield from _on_pools(pools, jobs, batches, begun)
        finally:
            for pool in pools:
                pool.shutdown()


def _on_pools(
    pools: list[ProcessPoolExecutor], jobs: Mapping[int, Job], batches: JobBatches, begun: Begun | None
) -> Iterator[list[tuple[int, Finished]]]:
    running: dict[Future[list[Finished]], tuple[int, list[int]]] = {}
    suspected: set[int] = set()

    def hand_out(place: int) -> None:
        batch = batches.taken()
        if batch:
            running[pools[place].submit(run_batch, [jobs[number] for number in batch])] = place, batch
            if begun is not None:
                begun(batch)

    for place in range(len(pools)):
        hand_out(place)
    while running:
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            place, batch = running.pop(future)
            try:
                found = future.result()
            except BrokenProcessPool:
                pools[place].shutdown(wait=False)
                pools[place] = new_processes(1)
                # Which job of the batch ended the process is not known: each is tried again, by itself.
                lost = [number for number in batch if number in suspected]
                batches.again(number for number in batch if number not in suspected)
                suspected.update(batch)
                hand_out(place)
                yield [(number, Finished(Lost(NO_ANSWER, INTERNAL), 0.0, True)) for number in lost]
                continue
            # What was found may take the caller a while; its process goes on.
            hand_out(place)
            yield list(zip(batch, found, strict=True))


def run_apart(jobs: Sequence[Job], workers: int) -> Iterator[tuple[int, Any]]:
    """As `run_jobs`, but a job that raises, or whose process ends, gives `Lost` and does not affect other jobs.

    Exceptions are raised if the environment variable `SGVERIFY_RAISE` is set.
    """
    for together in LocalProcesses(workers).run(dict(enumerate(jobs))):
        for number, finished in together:
            yield number, finished.result


__all__ = ["Begun", "Engine", "LocalProcesses", "run_apart"]
