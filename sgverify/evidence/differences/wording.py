"""The differences between two sets of answers, one line for each question, the worst first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import shorten
from typing import Any

from sgverify.evidence.differences.model import (
    AnswerChange,
    AnswersDifference,
    AskedQuestion,
    FieldChange,
    WithinErrors,
)

LONGEST = 60
"""Of a value on a line, in columns; JSON has the whole of it."""


def told(found: AnswersDifference, every: bool = False) -> list[tuple[str, str]]:
    """Lines with the outcome in whose colour each is printed. `every`: also what differs within its errors.

    The last lines count, and say how it was decided.
    """
    lines = [(change.new_outcome or "", _line(change)) for change in found.changes]
    if every:
        lines += [("", _within(item)) for item in found.within]
    return [*lines, *(("", line) for line in _closing(found))]


def _line(change: AnswerChange) -> str:
    outcomes = " -> ".join(dict.fromkeys(text for text in (change.old_outcome, change.new_outcome) if text))
    differing = [item for item in change.changes if item.what != "outcome"]
    parts = [_told(item) for item in differing[:1]]
    if differing[1:]:
        parts.append(f"{len(differing) - 1} more {'difference' if len(differing) == 2 else 'differences'}")
    cause = f" ({change.cause})" if change.cause else ""
    outcomes = f"{outcomes}, " if outcomes else ""
    told_of = f": {', '.join(parts)}" if parts else ""
    return f"{change.direction}: {outcomes}{asked_text(change.asked)}{told_of}{cause}"


def asked_text(asked: AskedQuestion) -> str:
    """Scheme, claim, check and settings in a few words."""
    named = " ".join(part for part in (asked.scheme, asked.claim) if part)
    check = f" ({asked.check})" if asked.check else " (the whole answer)" if asked.kind == "answer" else ""
    settings = " ".join(f"{key}={value}" for key, value in _flat(asked.configuration))
    return f"{named}{check}{' ' if settings else ''}{shorten(settings, LONGEST, placeholder=' ...')}"


def _told(change: FieldChange) -> str:
    return f"{change.what} at {change.where} {_short(change.old)} -> {_short(change.new)} [{change.decided}]"


def _within(item: WithinErrors) -> str:
    parts = []
    if item.numbers:
        numbers = "number differs" if item.numbers == 1 else "numbers differ"
        parts.append(
            f"{item.numbers} {numbers} within the stated errors, most at {item.where} [{item.decided}]"
        )
    if item.unjudged:
        numbers = "number differs" if item.unjudged == 1 else "numbers differ"
        parts.append(f"{item.unjudged} sampled {numbers} and without a stated error: nothing is said of them")
    return f"the same: {asked_text(item.asked)}: {'; '.join(parts)}"


def _closing(found: AnswersDifference) -> Iterator[str]:
    counts = [f"{found.count(word)} {word}" for word in ("worse", "changed", "better", "removed", "added")]
    within = sum(bool(item.numbers) for item in found.within)
    unjudged = sum(item.unjudged for item in found.within)
    word = "SAME" if found.same else "DIFFERENT"
    asked = "question is" if found.matched == 1 else "questions are"
    said = f"{word}: {found.matched} {asked} answered on both sides; {', '.join(counts)}"
    yield said if not found.same else f"{word}: {found.matched} {asked} answered on both sides, alike"
    if within:
        yield f"{within} of them with numbers that differ within their stated errors"
    if unjudged:
        yield f"{unjudged} sampled numbers differ and have no stated error: nothing is said of them"
    if found.sampled:
        yield (
            f"{found.sampled} sampled numbers were compared by their standard errors: where none differs, any is found to with a "
            f"chance of at most {found.level:g}"
        )
    if found.not_compared:
        yield f"not compared: {'; '.join(found.not_compared)}"


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "none" if value is None else shorten(str(value), LONGEST, placeholder=" ...")


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
