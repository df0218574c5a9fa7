"""The differences between two sets of answers: as data, as a published document, and as lines, one for each question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from textwrap import shorten
from typing import Annotated, Any, Literal, get_args

from sgverify.evidence.model import plain
from sgverify.evidence.published import Count, Name, Number, Published, Says, Size

Side = Literal["old", "new"]
Direction = Literal["worse", "removed", "changed", "better", "added"]
What = Literal[
    "outcome",
    "verdict",
    "method",
    "exponent",
    "prediction",
    "sharpness",
    "constant",
    "point",
    "reason",
    "certificate",
    "cause",
    "not tested",
    "severity",
]
AskedOf = Literal["evidence", "erratum", "answer", "stored"]

DIRECTIONS: tuple[str, ...] = get_args(Direction)
"""From the worst: in this order differences are listed."""

Held = str | int | float | None


@dataclass(frozen=True)
class AskedQuestion:
    """What was asked: by it two answers are matched.

    `kind` is "evidence" for a claim held against a scheme, "erratum" for a printed statement (`claim` is its id), "answer" for what
    `verify` says of the whole scheme, "stored" for another value of a store (`claim` is its kind, `configuration` its question).
    `configuration` has the keys that differ from the defaults.
    """

    kind: AskedOf
    scheme: str
    claim: str
    check: str
    configuration: dict[str, Any]


@dataclass(frozen=True)
class FieldChange:
    """One thing that differs between two answers to one question: where it stands, both sides, and how that was decided."""

    what: What
    where: Annotated[str, Says("a path in the answer")]
    old: Held
    new: Held
    decided: Name


@dataclass(frozen=True)
class AnswerChange:
    """One question whose answer changed, or that is asked on one side alone.

    worse: it fails now, or passes no more, or a rate is lower, or it is decided by a weaker method. better: the reverse. changed:
    neither. `cause` is the first clause of the new reason (of the old one where the answer was removed).
    """

    asked: AskedQuestion
    direction: Direction
    old_outcome: str | None
    new_outcome: str | None
    changes: tuple[FieldChange, ...]
    cause: str


@dataclass(frozen=True)
class WithinErrors:
    """One question with numbers that differ, and all within what is stated of their errors.

    `largest` is the largest distance in units of what is allowed (null where intervals without width agree), `where` its place and
    `decided` how. `unjudged` counts numbers of samples that differ and have no stated error: nothing is said of them.
    """

    asked: AskedQuestion
    numbers: Count
    largest: Size | None
    where: str
    decided: str
    unjudged: Count


@dataclass(frozen=True)
class PlaceRead:
    """One side: where the answers were read, how many there are, and the versions that wrote them."""

    place: Name
    answers: Count
    version: str
    platform: str


@dataclass(frozen=True)
class AnswersDifference:
    """What differs between two sets of answers, the worst first.

    `matched` questions are answered on both sides. `level` is the chance that any of the `sampled` numbers seems to differ where
    none does. `not_compared` names what the places hold beside that.
    """

    old: PlaceRead
    new: PlaceRead
    matched: Count
    sampled: Count
    level: Number
    changes: tuple[AnswerChange, ...]
    within: tuple[WithinErrors, ...]
    not_compared: tuple[Name, ...]

    @property
    def same(self) -> bool:
        """Has nothing changed, and is nothing asked on one side alone?"""
        return not self.changes

    def count(self, direction: str) -> int:
        """The number of changes of one direction."""
        return sum(change.direction == direction for change in self.changes)

    def document(self) -> Mapping[str, Any]:
        """The form of the published schema."""
        document: dict[str, Any] = plain({"schema": DIFFERENCE.name, **asdict(self)})[0]
        DIFFERENCE.check(document, "the differences to be written")
        return document


DIFFERENCE = Published(
    "sgverify/diff/1",
    AnswersDifference,
    "differences",
    "Write it again with `sgverify diff OLD NEW --json FILE`.",
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
