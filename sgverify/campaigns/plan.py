"""How many tasks has a campaign, which of them does a store have, and what are the others expected to cost?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sgverify.campaigns.combinations import CampaignQuestion
from sgverify.campaigns.costs import Costs, Spent
from sgverify.campaigns.engines import Engine
from sgverify.campaigns.questions import KIND, sort_of, task_of
from sgverify.campaigns.tasks import Task, key_of_task
from sgverify.store import Store


@dataclass(frozen=True)
class CampaignPlan:
    """The combinations of a campaign, and the tasks of those that are asked.

    `numbers` has the place of each task among the combinations; `kept` are the places of tasks that the store has an entry for.
    """

    questions: Sequence[CampaignQuestion]
    tasks: Sequence[Task]
    numbers: Sequence[int]
    kept: frozenset[int]
    costs: Costs

    @cached_property
    def misfits(self) -> Counter[str]:
        """How often combinations do not fit, by the reason."""
        return Counter(item.misfit for item in self.questions if item.misfit)

    @property
    def missing(self) -> int:
        """How many tasks are to be computed."""
        return len(self.tasks) - len(self.kept)

    def seconds(self) -> float | None:
        """The seconds of processor time that the missing tasks are expected to take; None where nothing like them was measured."""
        return self.costs.left()


def planned(
    questions: Sequence[CampaignQuestion], engine: Engine, store: Store | None, *, fresh: bool = False
) -> CampaignPlan:
    """The plan of a campaign on an engine, with the costs that the store has measured."""
    numbers = [number for number, item in enumerate(questions) if not (item.misfit or item.refused)]
    tasks = [task_of(questions[number]) for number in numbers]
    costs = Costs([task.sort for task in tasks], {} if store is None else spent(store))
    kept = set()
    if store is not None and not fresh:
        for place, task in enumerate(tasks):
            if any(store.has(key_of_task(task, where)) for where in engine.places):
                kept.add(place)
    return CampaignPlan(questions, tasks, numbers, frozenset(kept), costs)


def spent(store: Store) -> dict[str, Spent]:
    """What questions of campaigns have cost, by their sort."""
    return _summed((sort_of(**question), seconds) for question, seconds in store.seconds(KIND))


def _summed(measured: Iterable[tuple[str, float]]) -> dict[str, Spent]:
    found: dict[str, Any] = {}
    for sort, seconds in measured:
        found[sort] = found.get(sort, Spent(0, 0.0)) + (1, seconds)
    return found


__all__ = ["CampaignPlan", "planned", "spent"]
