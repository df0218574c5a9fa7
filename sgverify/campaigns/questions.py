"""The question of one combination: is the scheme right under these settings? It is asked in any process, and answered as JSON."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sgverify.campaigns.combinations import CampaignQuestion
from sgverify.campaigns.sent_code import SentCode
from sgverify.campaigns.tasks import Task
from sgverify.configuration import load_configuration
from sgverify.errors import InstabilityError
from sgverify.evidence.codec import encode_evidence
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


__all__ = ["KIND", "code_of", "judged", "sort_of", "task_of"]
