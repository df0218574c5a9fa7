"""The differences between two sets of answers, as data and as a published document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
