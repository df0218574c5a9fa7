"""Tasks and a store of their answers: what is there is not run, what finishes is kept at once, what fails is named and not kept."""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sgverify.campaigns.engines import (
    Costs,
    Finished,
    Job,
    JobBatches,
    LocalProcesses,
    Lost,
    Spent,
    run_batch,
)
from sgverify.campaigns.tasks import Progressed, Task, answered
from sgverify.schemes import find_scheme


class Remembered(dict[str, str]):
    """A store in memory."""

    def find(self, key: str, read: Callable[[Any], Any]) -> Any:
        return read(json.loads(self[key])) if key in self else None

    def keep_all(self, answers: Iterable[tuple[str, Any, float]]) -> int:
        for key, value, seconds in answers:
            assert seconds >= 0
            self[key] = json.dumps(value)
        return len(self)


def asked(task: Task, place: Any = None) -> str:
    return json.dumps([task.kind, task.question])


def factorial(n: int) -> Task:
    return Task("factorial", {"n": n}, f"{n}!", math.factorial, (n,), str, int, sort="factorial")


class Counting(LocalProcesses):
    """Counts what it is given to run."""

    def __init__(self) -> None:
        super().__init__(1)
        self.ran: list[Job] = []

    def run(self, jobs: Mapping[int, Job], *more: Any) -> Iterator[list[tuple[int, Finished]]]:
        self.ran += jobs.values()
        return super().run(jobs, *more)


TASKS = [factorial(n) for n in (5, 3, 20)]
FOUND = {0: 120, 1: 6, 2: 2432902008176640000}


def test_what_the_store_has_is_not_run() -> None:
    store, engine = Remembered(), Counting()
    assert dict(answered(TASKS[:2], engine, store, key=asked)) == {0: 120, 1: 6}
    assert store == {asked(TASKS[0]): '"120"', asked(TASKS[1]): '"6"'}
    assert dict(answered(TASKS, engine, store, key=asked)) == FOUND
    assert [arguments for _, arguments in engine.ran] == [(5,), (3,), (20,)]
    store[asked(TASKS[0])] = '"7"'
    assert dict(answered(TASKS, engine, store, key=asked, fresh=True)) == FOUND
    assert store[asked(TASKS[0])] == '"120"'


def test_an_answer_is_kept_before_it_is_given() -> None:
    store = Remembered()
    run = answered(TASKS, Counting(), store, key=asked)
    for kept in (1, 2, 3):
        next(run)
        assert len(store) == kept


def test_what_fails_is_lost_and_never_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SGVERIFY_RAISE")
    store = Remembered()
    wrong = Task("scheme", {}, "nothing", find_scheme, ("nothing",))
    unkept = Task("sum", {}, "half", math.fsum, ((0.5,),), kept=lambda answer: answer > 1)
    found = dict(answered([*TASKS, factorial(-1), wrong, unkept], Counting(), store, key=asked))
    assert found[3].code == 4 and "ValueError: factorial" in found[3].reason
    assert found[4].code == 2 and "unknown scheme" in found[4].reason
    assert found[5] == 0.5 and len(store) == 3


def test_progress_counts_tasks_and_weighs_them_by_what_they_cost() -> None:
    told: list[Progressed] = []
    costs = Costs(["short", "long"], {"short": Spent(4, 4.0), "long": Spent(1, 9.0)})
    tasks = [Task("sum", n, str(n), math.fsum, ((n,),), sort=sort) for n, sort in ((1, "short"), (2, "long"))]
    assert [number for number, _ in answered(tasks, Counting(), costs=costs, told=told.append)] == [1, 0]
    assert (told[0].done, told[0].total, told[0].running, told[0].left) == (0, 2, "2", 10.0)
    assert [item.done for item in told] == [0, 1, 1, 2] and told[-1].left == 0.0


def test_costs_are_those_of_the_sort_and_else_of_all_that_is_known() -> None:
    costs = Costs(["a", "a", "b", "b"])
    assert (costs.expected(0), costs.left(), costs.unmeasured) == (None, None, 4)
    costs.finished(0, 2.0)
    assert (costs.expected(1), costs.expected(2)) == (2.0, None)
    assert costs.left() == 2.0 * 3
    costs.finished(2, 10.0)
    assert costs.left() == 12.0
    # What was found in a store took no time.
    costs.finished(1, None)
    assert costs.left() == 10.0


def test_short_jobs_travel_together_and_ever_fewer_of_them() -> None:
    costs = Costs(["a"] * 1000, {"a": Spent(1, 1 / 64)})
    batches = JobBatches(range(1000), costs, 2)
    sizes = []
    while batches:
        batch = batches.taken()
        sizes.append(len(batch))
        for number in batch:
            costs.finished(number, 1 / 64)
    assert sum(sizes) == 1000 and max(sizes) == sizes[0] == 64 and sizes[-1] == 1
    assert sizes == sorted(sizes, reverse=True)


def test_jobs_of_unknown_or_long_cost_travel_alone() -> None:
    unknown = JobBatches(range(3), Costs(["a"] * 3), 2)
    assert [unknown.taken() for _ in range(4)] == [[0], [1], [2], []]
    long = JobBatches(range(3), Costs(["a"] * 3, {"a": Spent(1, 60.0)}), 2)
    long.again([7])
    assert [long.taken() for _ in range(4)] == [[7], [0], [1], [2]]


def survived(place: str, number: int) -> int:
    """Ends its process by SIGKILL the first time."""
    mark = Path(place) / str(number)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.campaign
def test_a_job_is_tried_again_when_its_process_ends(tmp_path: Path) -> None:
    jobs: dict[int, Job] = {number: (math.factorial, (number,)) for number in range(8)}
    jobs[3] = (survived, (str(tmp_path), 3))
    jobs[5] = (signal.raise_signal, (signal.SIGKILL,))
    costs = Costs(["a"] * 8, {"a": Spent(1, 0.001)})
    found = {number: item.result for some in LocalProcesses(2).run(jobs, costs) for number, item in some}
    assert found[3] == 3
    assert isinstance(found[5], Lost) and "twice" in found[5].reason
    assert [found[number] for number in (0, 1, 2, 4, 6, 7)] == [1, 1, 2, 24, 720, 5040]


def test_only_the_first_job_of_a_process_counts_its_loading() -> None:
    jobs: Sequence[Job] = [(math.factorial, (2,))] * 2
    run_batch(jobs)
    assert [item.first for item in run_batch(jobs)] == [False, False]
