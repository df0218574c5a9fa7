"""Which answers of two places belong together, and in which order is told what differs?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from sgverify.errors import UserError
from sgverify.evidence.baseline import changed
from sgverify.evidence.differences.fields import (
    Differing,
    clause,
    compare_errata,
    compare_evidence,
    compare_values,
    compare_whole,
    outcome_of_erratum,
    sampled_points,
)
from sgverify.evidence.differences.model import (
    DIRECTIONS,
    AnswerChange,
    AnswersDifference,
    AskedQuestion,
    Direction,
    PlaceRead,
    WithinErrors,
)
from sgverify.evidence.differences.numbers import LEVEL, SampledNumbers
from sgverify.evidence.differences.places import AnswersAt, StoredValue
from sgverify.evidence.erratum import Erratum
from sgverify.evidence.model import Evidence, canonical_numbers
from sgverify.evidence.whole_answer import WholeAnswer

Answer = Evidence | Erratum | WholeAnswer | StoredValue
T = TypeVar("T", Evidence, Erratum, WholeAnswer, StoredValue)

OUTCOMES = ("fail", "falls", "undecided", "refuted", "not-applicable", "stands", "pass")
"""From the worst: of changes of one direction, those with the worst new outcome come first."""


def difference(old: AnswersAt, new: AnswersAt, apart: Iterable[str] = ()) -> AnswersDifference:
    """What differs between the answers of two places.

    Questions are matched by scheme, claim, check and configuration, of which the dotted keys `apart` are left out. Keys at their
    defaults do not count, so that a key that one version lacks matches its default.

    Raises `UserError` where a place answers one question twice, or where neither has an answer.
    """
    if not len(old) and not len(new):
        raise UserError(
            f"neither {old.place!r} nor {new.place!r} has an answer; expected at least one to compare"
        )
    keys = tuple(apart)
    evidence = _matched(old, new, lambda side: ((_asked(item, keys), item) for item in side.evidence))
    errata = _matched(old, new, lambda side: ((_statement(item), item) for item in side.errata))
    whole = _matched(old, new, lambda side: _whole(side, keys))
    values = _matched(old, new, lambda side: ((_stored(item), item) for item in side.values))
    sampled = SampledNumbers(sum(sampled_points(one, other) for _, one, other in evidence if one and other))
    compared: list[tuple[AskedQuestion, Answer | None, Answer | None, Differing | None]] = [
        *(_compared(row, lambda one, other: compare_evidence(one, other, sampled)) for row in evidence),
        *(_compared(row, compare_errata) for row in errata),
        *(_compared(row, compare_whole) for row in whole),
        *(_compared(row, compare_values) for row in values),
    ]
    changes, within = [], []
    for asked, one, other, differing in compared:
        if differing is None or differing.changes:
            changes.append(_change(asked, one, other, differing))
        elif differing.numbers or differing.unjudged:
            share, where, decided = differing.largest or (None, "", "")
            within.append(WithinErrors(asked, differing.numbers, share, where, decided, differing.unjudged))
    return AnswersDifference(
        old=_read(old),
        new=_read(new),
        matched=sum(differing is not None for *_, differing in compared),
        sampled=sampled.count,
        level=LEVEL,
        changes=tuple(sorted(changes, key=_weight)),
        within=tuple(sorted(within, key=lambda item: -(item.largest or 0.0))),
        not_compared=tuple(dict.fromkeys((*old.not_compared, *new.not_compared))),
    )


def _matched(
    old: AnswersAt,
    new: AnswersAt,
    answers: Callable[[AnswersAt], Iterable[tuple[AskedQuestion, T]]],
) -> list[tuple[AskedQuestion, T | None, T | None]]:
    first: dict[str, tuple[AskedQuestion, T]] = _by_key(old.place, answers(old))
    second: dict[str, tuple[AskedQuestion, T]] = _by_key(new.place, answers(new))
    rows = []
    for key in dict.fromkeys((*first, *second)):
        asked, _ = first.get(key) or second[key]
        rows.append(
            (asked, first[key][1] if key in first else None, second[key][1] if key in second else None)
        )
    return rows


def _by_key(place: str, answers: Iterable[tuple[AskedQuestion, T]]) -> dict[str, tuple[AskedQuestion, T]]:
    found: dict[str, tuple[AskedQuestion, T]] = {}
    for asked, answer in answers:
        key = _key(asked)
        if key in found:
            raise UserError(
                f"{place!r} answers one question twice: {asked.scheme} {asked.claim} ({asked.check}); expected one answer "
                "to each. Name fewer keys with --apart, or write the file again"
            )
        found[key] = (asked, answer)
    return found


def _compared(
    row: tuple[AskedQuestion, T | None, T | None], compare: Callable[[T, T], Differing]
) -> tuple[AskedQuestion, Answer | None, Answer | None, Differing | None]:
    asked, old, new = row
    return asked, old, new, None if old is None or new is None else compare(old, new)


def _change(
    asked: AskedQuestion, old: Answer | None, new: Answer | None, differing: Differing | None
) -> AnswerChange:
    direction: Direction = "added" if old is None else "removed"
    shown = new if new is not None else old
    return AnswerChange(
        asked=asked,
        direction=direction if differing is None else differing.direction,
        old_outcome=_outcome(old),
        new_outcome=_outcome(new),
        changes=() if differing is None else tuple(differing.changes),
        cause=_cause(shown),
    )


def _outcome(answer: Answer | None) -> str | None:
    if answer is None or isinstance(answer, StoredValue):
        return None
    return outcome_of_erratum(answer) if isinstance(answer, Erratum) else answer.outcome


def _cause(answer: Answer | None) -> str:
    if isinstance(answer, Evidence):
        return clause(answer.reason)
    if isinstance(answer, Erratum):
        return answer.because if answer.fails else "the statement holds as printed"
    return (answer.cause or "") if isinstance(answer, WholeAnswer) else ""


def _weight(change: AnswerChange) -> tuple[int, int, str, str, str]:
    """An answer that fails and has no old one is as grave as one that fails now."""
    direction = "worse" if (change.direction, change.new_outcome) == ("added", "fail") else change.direction
    outcome = change.new_outcome or change.old_outcome or ""
    worst = OUTCOMES.index(outcome) if outcome in OUTCOMES else len(OUTCOMES)
    return DIRECTIONS.index(direction), worst, change.asked.scheme, change.asked.claim, change.asked.check


def _asked(item: Evidence, apart: tuple[str, ...]) -> AskedQuestion:
    return AskedQuestion(
        "evidence", item.scheme, item.claim, item.check, _settings(item.configuration, apart)
    )


def _statement(item: Erratum) -> AskedQuestion:
    return AskedQuestion("erratum", "", item.id, "", {})


def _stored(item: StoredValue) -> AskedQuestion:
    question = item.question if isinstance(item.question, dict) else {"question": item.question}
    return AskedQuestion("stored", "", item.kind, "", question)


def _whole(side: AnswersAt, apart: tuple[str, ...]) -> Iterator[tuple[AskedQuestion, WholeAnswer]]:
    """The whole answer is about the scheme of the evidence beside it, under the configuration of its first piece."""
    if side.answer is not None and side.evidence:
        first = side.evidence[0]
        yield (
            AskedQuestion("answer", first.scheme, "", "", _settings(first.configuration, apart)),
            side.answer,
        )


def _settings(configuration: Mapping[str, Any], apart: tuple[str, ...]) -> dict[str, Any]:
    settings = _given(changed(configuration), configuration)
    for key in apart:
        *tables, name = key.split(".")
        table: Any = settings
        for part in tables:
            table = table.get(part, {}) if isinstance(table, dict) else {}
        if isinstance(table, dict):
            table.pop(name, None)
    return settings


def _given(settings: Mapping[str, Any], configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without the keys that the configuration lacks, which are at their defaults."""
    return {
        key: _given(value, configuration[key]) if isinstance(value, Mapping) else value
        for key, value in settings.items()
        if key in configuration
    }


def _key(asked: AskedQuestion) -> str:
    return json.dumps(
        [asked.kind, asked.scheme, asked.claim, asked.check, canonical_numbers(asked.configuration)],
        sort_keys=True,
    )


def _read(side: AnswersAt) -> PlaceRead:
    made = side.provenance
    return PlaceRead(side.place, len(side), made.version if made else "", made.platform if made else "")
