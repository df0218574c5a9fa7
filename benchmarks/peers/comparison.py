"""How is a cell measured: all contenders in turns, in CPU time, after their answers have been compared?"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.peers.cells import Cell
from benchmarks.peers.contenders import CONTENDERS, FLOOR, OTHER_LAW, OURS
from benchmarks.peers.conversation import Conversation, Failed
from benchmarks.peers.problems import Absent

STANDARD_ERRORS = 6.0
"""Two samples of one law: a gap of 6 standard errors has the probability 2e-9 in each of a few thousand comparisons."""

FIRST_STEPS = 1_000
"""Steps of a first call."""


@dataclass(frozen=True)
class Effort:
    """`turns` runs of every contender, each of at least `seconds` of CPU time."""

    turns: int
    seconds: float


FULL, QUICKLY = Effort(2, 2.0), Effort(2, 0.1)


@dataclass
class Measured:
    """What one contender did in one cell.

    `seconds` of CPU for `steps` steps in each turn; `peak` bytes beyond what the process held before; `gap`: the largest
    difference of its answers from ours in standard errors, None where it was not compared; `reason`: why it was not measured.
    """

    contender: str
    seconds: list[float] = field(default_factory=list)
    steps: int = 0
    peak: float = 0.0
    gap: float | None = None
    reason: str = ""
    note: str = ""

    @property
    def rate(self) -> float:
        """Steps a second of CPU time, of the fastest turn; NaN where nothing was measured."""
        return self.steps / min(self.seconds) if self.seconds else math.nan


class Comparison:
    """The processes of all contenders, and the answers that they have given."""

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._workers = {name: Conversation(name) for name in CONTENDERS}
        self._laws: dict[tuple[Any, ...], dict[str, Any]] = {}

    def measure(self, cell: Cell) -> list[Measured]:
        """All contenders on one cell."""
        found = [Measured(name) for name in CONTENDERS]
        ours = found[0]
        for one in found:
            self._try(one, lambda one=one: self._prepare(cell, one, ours))
        for _ in range(self._effort.turns):
            for one in found:
                if not one.reason:
                    self._try(one, lambda one=one: self._turn(one))
        for one in found:
            if not one.reason:
                self._try(one, lambda one=one: self._peak(one))
        return found

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers.values():
            worker.close()

    def _try(self, one: Measured, action: Callable[[], None]) -> None:
        try:
            action()
        except Absent as reason:
            one.reason = str(reason)
        except Failed as reason:
            one.reason = f"failed: {str(reason).strip().splitlines()[-1]}"
            one.seconds = []

    def _prepare(self, cell: Cell, one: Measured, ours: Measured) -> None:
        """Compare the law with ours, then find how many steps a turn needs."""
        worker = self._workers[one.contender]
        if CONTENDERS[one.contender].role != FLOOR:
            self._compare(cell, one, ours)
        one.note = worker.ask("make", task=cell.task())["note"]
        # Compiled loops take whole chunks, and say how many steps these were.
        steps = worker.ask("time", steps=cell.least)["steps"]
        while (answer := worker.ask("time", steps=steps))["cpu"] < self._effort.seconds / 2:
            grown = self._effort.seconds / max(answer["cpu"], 1e-4)
            steps = math.ceil(answer["steps"] * min(max(grown, 2), 100))
        one.steps = math.ceil(answer["steps"] * max(1.0, self._effort.seconds / answer["cpu"]))

    def _compare(self, cell: Cell, one: Measured, ours: Measured) -> None:
        law = self._law(cell, one.contender)
        if one is ours or (cell.problem, one.contender) in OTHER_LAW:
            return
        if ours.reason:
            raise Failed("there is no answer of ours to compare with")
        expected = self._law(cell, ours.contender)
        if len(law["mean"]) != len(expected["mean"]):
            raise Failed(f"{len(law['mean'])} numbers of each chain beside {len(expected['mean'])} of ours")
        one.gap = largest_gap(law, expected)
        # A NaN is no agreement.
        if not one.gap <= STANDARD_ERRORS:
            raise Failed(f"its answers are {one.gap:.3g} standard errors from ours: times are not compared")

    def _law(self, cell: Cell, name: str) -> dict[str, Any]:
        task = cell.task(comparing=True)
        key = (name, *task.values())
        if key not in self._laws:
            self._workers[name].ask("make", task=task)
            self._laws[key] = self._workers[name].ask("check", steps=cell.compared)
        return self._laws[key]

    def _turn(self, one: Measured) -> None:
        answer = self._workers[one.contender].ask("time", steps=one.steps)
        one.seconds.append(answer["cpu"])
        one.steps = answer["steps"]

    def _peak(self, one: Measured) -> None:
        one.peak = self._workers[one.contender].ask("peak")["bytes"]


def largest_gap(left: dict[str, Any], right: dict[str, Any]) -> float:
    """The largest difference of two means in standard errors, over all numbers of a chain."""
    gaps = []
    for a, b, u, v in zip(left["mean"], right["mean"], left["variance"], right["variance"], strict=True):
        error = math.sqrt(u / left["count"] + v / right["count"])
        gaps.append(abs(a - b) / error if error else math.inf * (a != b))
    return math.nan if any(math.isnan(gap) for gap in gaps) else max(gaps)


def first_call(cell: Cell, name: str) -> dict[str, Any]:
    """CPU seconds of a fresh process without caches: the imports, and then the first call of FIRST_STEPS steps."""
    with tempfile.TemporaryDirectory() as folder:
        places = dict.fromkeys(
            ("HOME", "XDG_CACHE_HOME", "TMPDIR", "SGVERIFY_CACHE", "NUMBA_CACHE_DIR"), folder
        )
        worker = Conversation(name, places)
        try:
            return worker.ask("first", task=cell.task(), steps=FIRST_STEPS)
        except Absent as reason:
            return {"reason": str(reason)}
        except Failed as reason:
            return {"reason": f"failed: {str(reason).strip().splitlines()[-1]}"}
        finally:
            worker.close()


FIRST_CALLERS = tuple(
    name for name, one in CONTENDERS.items() if name in ("blackjax", "numba loop") or one.role == OURS
)
"""Whose first calls are measured: those that compile."""
