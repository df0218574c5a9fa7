"""The question of one combination as a task that any process answers; what is kept of many, and what the others will cost."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sgverify.campaigns.cluster import SentCode
from sgverify.campaigns.combinations import CampaignQuestion
from sgverify.campaigns.engines import Costs, Engine, Spent
from sgverify.campaigns.tasks import Task, key_of_task
from sgverify.configuration import load_configuration
from sgverify.errors import InstabilityError
from sgverify.evidence.storage import decode_evidence, encode_evidence
from sgverify.keeping.store import Store
from sgverify.named_code import named_in
from sgverify.verdict.asking import enquire

KIND = "campaign-combination"
"""The kind of these questions in a store."""


def task_of(asked: CampaignQuestion) -> Task:
    """The task that answers a combination with `judged`."""
    given = (asked.scheme, asked.settings, asked.selected)
    return Task(
        kind=KIND,
        question=dict(zip(("scheme", "settings", "selected"), given, strict=True)),
        title=asked.title,
        function=judged,
        arguments=given,
        references=(asked.scheme,),
        sort=sort_of(*given),
        decode=_read,
        kept=_complete,
    )


def code_of(questions: Iterable[CampaignQuestion]) -> SentCode:
    """The user's code that questions name, and their files of data."""
    references: dict[str, None] = {}
    data: dict[str, None] = {}
    for item in questions:
        references |= dict.fromkeys([item.scheme, *named_in(item.settings).values()])
        if "file" in item.settings.get("target", {}):
            data[item.settings["target"]["file"]] = None
    return SentCode.of(references, data)


def sort_of(scheme: str, settings: dict[str, Any], selected: Any) -> str:
    """The sort of a combination: those of one sort, the same questions to a scheme under like settings, cost about the same."""
    kinds = [
        settings.get(table, {}).get(key, "") for table, key in (("target", "name"), ("gradient", "kind"))
    ]
    dim = settings.get("target", {}).get("dim", "")
    return " ".join(map(str, (scheme, *kinds, dim, settings.get("schedule", {}).get("kind", ""), *selected)))


def judged(scheme: str, settings: dict[str, Any], selected: tuple[str, ...]) -> dict[str, Any]:
    """The answer of `sgverify verify` as JSON: its evidence, and why minibatches were not judged, if so.

    That a step is unstable is an answer too: `refused` says so, and there is no evidence. Raises `UserError` where scheme and
    settings do not go together otherwise.
    """
    with _unwarned():
        try:
            enquiry = enquire(scheme, load_configuration(settings), selected)
            evidence = [encode_evidence(item) for item in enquiry.ask()]
        except InstabilityError as error:
            return {"evidence": [], "without_minibatches": None, "refused": str(error)}
    return {"evidence": evidence, "without_minibatches": enquiry.without_minibatches, "refused": ""}


def _read(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer of a store, in which everything is evidence that is said to be."""
    for item in answer["evidence"]:
        decode_evidence(item)
    if not isinstance(answer["refused"], str):
        raise TypeError("no reason of a refusal")
    return answer


def _complete(answer: dict[str, Any]) -> bool:
    """Did no exception end a check? Memory that ran out once need not run out again."""
    return not any("exception" in item["certificate"] for item in answer["evidence"])


@contextmanager
def _unwarned() -> Iterator[None]:
    """A context without warnings that a setting has no effect: a grid is for several schemes, which do not all read each key."""
    log = logging.getLogger("sgverify")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


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
