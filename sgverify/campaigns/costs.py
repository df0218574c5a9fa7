"""What will a task cost, by what tasks like it have cost, and how much time is left?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple


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


__all__ = ["Costs", "Spent"]
