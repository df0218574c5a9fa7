"""Many tasks are answered, where a store has some of the answers already and keeps the others as they come in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sgverify.campaigns.engines import Costs, Engine, Lost
from sgverify.code_files import FileState
from sgverify.keeping.identity import Circumstances, ContentKey, key_of


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Task:
    """A function with arguments, and all that its answer depends on: the question, code of users, files of data.

    `kind` and `question`, a JSON value, say what is asked; `references` are those of schemes whose source belongs to it, and
    `files` hold data. `encode` makes a JSON value of an answer and `decode` the answer of that again. `sort` groups tasks that cost
    about the same. An answer that is not `kept`, such as one that an exception ended, is given and computed anew by the next run.
    """

    kind: str
    question: Any
    title: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    encode: Callable[[Any], Any] = _same
    decode: Callable[[Any], Any] = _same
    references: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    sort: str = ""
    kept: Callable[[Any], bool] = lambda answer: True


class AnswerStore(Protocol):
    """A store of answers for `answered`, such as `sgverify.keeping.Store`."""

    def find(self, key: Any, read: Callable[[Any], Any]) -> Any:
        """What `read` makes of the JSON value of an answer; None where there is none that can be trusted and read."""

    def keep_all(self, answers: Iterable[tuple[Any, Any, float]]) -> int:
        """Keep answers, each with its key and its seconds; they survive the end of this process from when this returns."""


def key_of_task(task: Task, place: Circumstances | None = None) -> ContentKey:
    """The key under which the answer to a task is kept that was computed at a place, by default here."""
    key = key_of(task.kind, task.question, references=task.references, files=task.files)
    return key if place is None else replace(key, circumstances=place)


class RunKeys:
    """The keys of tasks of one run, whose answers belong to the code and the data as they were when the run began.

    A key is asked before a task runs, and again when its answer is kept: after an edit in between, of which nobody knows whether
    the task saw it, the key has a reason (`refused`) and nothing is kept.
    """

    def __init__(self) -> None:
        self._files: dict[str, FileState] = {}
        self._circumstances: str | None = None

    def __call__(self, task: Task, place: Circumstances | None = None) -> ContentKey:
        """`key_of_task`, with a reason where a file is not as it was when it was first looked at."""
        key = key_of_task(task)
        changed = next(
            (state.path for state in key.read if self._files.setdefault(state.path, state) != state), None
        )
        self._circumstances = self._circumstances or key.circumstances.digest
        if changed is None and self._circumstances != key.circumstances.digest:
            changed = "sgverify"
        if place is not None:
            key = replace(key, circumstances=place)
        return key if changed is None else replace(key, refused=f"{changed} was changed during the run")


@dataclass(frozen=True)
class Progressed:
    """How far the tasks are: how many are done of all, the title of one that runs, and the seconds left where they are known.

    `spent` are the seconds that have passed since the first task began.
    """

    done: int
    total: int
    running: str
    left: float | None
    spent: float


def answered(
    tasks: Sequence[Task],
    engine: Engine,
    store: AnswerStore | None = None,
    *,
    key: Callable[[Task, Circumstances | None], Any] | None = None,
    costs: Costs | None = None,
    fresh: bool = False,
    told: Callable[[Progressed], None] | None = None,
) -> Iterator[tuple[int, Any]]:
    """The pair (number, answer) of every task, `Lost` for one that failed; in any order, independent of the engine.

    What the store has under the key of a task is not run, unless `fresh`. What finishes is kept at once, by this process, before
    it is given. `costs` are those of the tasks as far as they are known before. `key` is `RunKeys` by default.
    """
    key = key or RunKeys()
    costs = costs or Costs([task.sort for task in tasks])
    progress = _Progress(tasks, costs, engine.processes, told)
    missing = []
    for number, task in enumerate(tasks):
        value = None
        if store is not None:
            keys = [key(task, place) for place in engine.places]
            found = (store.find(each, task.decode) for each in keys if not fresh)
            value = next((value for value in found if value is not None), None)
        if value is None:
            missing.append(number)
            continue
        progress.finished(number, None)
        yield number, value
    # The longest first, so that none of them is alone at the end; those of unknown cost before them.
    missing.sort(key=lambda number: -(costs.expected(number) or float("inf")))
    jobs = {number: (tasks[number].function, tasks[number].arguments) for number in missing}
    for together in engine.run(jobs, costs, progress.begun):
        if store is not None:
            store.keep_all(
                (key(task, finished.place), task.encode(finished.result), finished.seconds)
                for number, finished in together
                if not isinstance(finished.result, Lost) and (task := tasks[number]).kept(finished.result)
            )
        for number, finished in together:
            progress.finished(number, None if finished.first else finished.seconds)
            yield number, finished.result


class _Progress:
    """Tells how far the tasks are."""

    def __init__(
        self, tasks: Sequence[Task], costs: Costs, processes: int, told: Callable[[Progressed], None] | None
    ) -> None:
        self._tasks, self._costs, self._processes, self._told = tasks, costs, processes, told
        self._done, self._began = 0, time.monotonic()
        self._running: dict[int, None] = {}

    def begun(self, numbers: Sequence[int]) -> None:
        self._running.update(dict.fromkeys(numbers))
        self._tell()

    def finished(self, number: int, seconds: float | None) -> None:
        self._costs.finished(number, seconds)
        self._running.pop(number, None)
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        if self._told is None:
            return
        first = next(iter(self._running), None)
        left = self._costs.left()
        self._told(
            Progressed(
                done=self._done,
                total=len(self._tasks),
                running="" if first is None else self._tasks[first].title,
                left=None if left is None else left / self._processes,
                spent=time.monotonic() - self._began,
            )
        )
