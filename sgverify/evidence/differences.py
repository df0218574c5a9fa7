"""The differences between the answers of two places: which belong together, what differs, which is the worse, the worst first.

Answers are matched by what was asked (`answers`), and compared part by part: words where they are not equal, numbers beyond their
stated errors (`numbers`). The result is a published document, and lines, one for each question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from textwrap import shorten
from typing import Annotated, Any, Literal, get_args

from sgverify.errors import UserError
from sgverify.evidence.answers import AnswersAt, AskedAnswer, AskedQuestion, What
from sgverify.evidence.model import METHODS, Found, Point, plain
from sgverify.evidence.numbers import (
    LEVEL,
    EntryComparison,
    Held,
    compare_exponents,
    compare_points,
    compare_trees,
    masked,
    other,
    slower,
)
from sgverify.evidence.published import Count, Name, Number, Published, Says, Size
from sgverify.keeping.identity import flat

Direction = Literal["worse", "removed", "changed", "better", "added"]

DIRECTIONS: tuple[str, ...] = get_args(Direction)
"""From the worst: in this order differences are listed."""

SAMPLED = "monte-carlo"

RANK = {"pass": 0, "stands": 0, "undecided": 1, "fail": 2, "falls": 2}
"""From the best outcome to the worst; the others speak neither for a scheme nor against it."""

OUTCOMES = ("fail", "falls", "undecided", "refuted", "not-applicable", "stands", "pass")
"""From the worst: of changes of one direction, those with the worst new outcome come first."""

TIMES = ("seconds", "milliseconds")

LONGEST = 60
"""The most columns of a value on a line; JSON has the whole of it."""


@dataclass(frozen=True)
class FieldChange:
    """One thing that differs between two answers to one question: where it stands, both sides, and how that was decided."""

    what: What
    where: Annotated[str, Says("a path in the answer")]
    old: Held
    new: Held
    decided: Name

    def __str__(self) -> str:
        return f"{self.what} at {self.where} {_short(self.old)} -> {_short(self.new)} [{self.decided}]"


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

    def __str__(self) -> str:
        outcomes = " -> ".join(dict.fromkeys(text for text in (self.old_outcome, self.new_outcome) if text))
        differing = [item for item in self.changes if item.what != "outcome"]
        parts = [str(item) for item in differing[:1]]
        if differing[1:]:
            parts.append(
                f"{len(differing) - 1} more {'difference' if len(differing) == 2 else 'differences'}"
            )
        named = f"{f'{outcomes}, ' if outcomes else ''}{_asked(self.asked)}{': ' if parts else ''}{', '.join(parts)}"
        return f"{self.direction}: {named}{f' ({self.cause})' if self.cause else ''}"


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

    def __str__(self) -> str:
        parts = []
        if self.numbers:
            differ = f"{self.numbers} {'number differs' if self.numbers == 1 else 'numbers differ'}"
            parts.append(f"{differ} within the stated errors, most at {self.where} [{self.decided}]")
        if self.unjudged:
            differ = f"{self.unjudged} sampled {'number differs' if self.unjudged == 1 else 'numbers differ'}"
            parts.append(f"{differ} and without a stated error: nothing is said of them")
        return f"the same: {_asked(self.asked)}: {'; '.join(parts)}"


@dataclass(frozen=True)
class PlaceRead:
    """One side: where the answers were read, how many there are, and the versions that wrote them."""

    place: Name
    answers: Count
    version: str
    platform: str

    @classmethod
    def of(cls, side: AnswersAt) -> PlaceRead:
        """The side as the document names it."""
        made = side.provenance
        return cls(side.place, len(side.answers), made.version if made else "", made.platform if made else "")


@dataclass(frozen=True)
class AnswersDifference:
    """The differences between two sets of answers, the worst first.

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

    def document(self) -> Mapping[str, Any]:
        """The form of the published schema."""
        document: dict[str, Any] = plain({"schema": DIFFERENCE.name, **asdict(self)})[0]
        DIFFERENCE.check(document, "the differences to be written")
        return document

    def told(self, every: bool = False) -> Iterator[tuple[str, str]]:
        """Lines with the outcome in whose colour each is printed. `every`: also what differs within its errors.

        The last lines count, and say how it was decided.
        """
        yield from ((change.new_outcome or "", str(change)) for change in self.changes)
        if every:
            yield from (("", str(item)) for item in self.within)
        count = Counter(change.direction for change in self.changes)
        words: tuple[Direction, ...] = ("worse", "changed", "better", "removed", "added")
        counts = ", ".join(f"{count[word]} {word}" for word in words)
        matched = (
            f"{self.matched} {'question is' if self.matched == 1 else 'questions are'} answered on both sides"
        )
        yield "", f"SAME: {matched}, alike" if self.same else f"DIFFERENT: {matched}; {counts}"
        if within := sum(bool(item.numbers) for item in self.within):
            yield "", f"{within} of them with numbers that differ within their stated errors"
        if unjudged := sum(item.unjudged for item in self.within):
            yield "", f"{unjudged} sampled numbers differ and have no stated error: nothing is said of them"
        if self.sampled:
            yield (
                "",
                f"{self.sampled} sampled numbers were compared by their standard errors: where none differs, any is found to with "
                f"a chance of at most {self.level:g}",
            )
        if self.not_compared:
            yield "", f"not compared: {'; '.join(self.not_compared)}"


DIFFERENCE = Published(
    "sgverify/diff/1",
    AnswersDifference,
    "differences",
    "Write it again with `sgverify diff OLD NEW --json FILE`.",
)


def difference(old: AnswersAt, new: AnswersAt, apart: Iterable[str] = ()) -> AnswersDifference:
    """The differences between the answers of two places.

    Questions are matched by scheme, claim, check and configuration, of which the dotted keys `apart` are left out. Keys at their
    defaults do not count, so that a key that one version lacks matches its default.

    Raises `UserError` where a place answers one question twice, or where neither has an answer.
    """
    if not old.answers and not new.answers:
        raise UserError(
            f"neither {old.place!r} nor {new.place!r} has an answer; expected at least one to compare"
        )
    first, second = old.by_question(tuple(apart)), new.by_question(tuple(apart))
    pairs = [(first.get(key), second.get(key)) for key in dict.fromkeys((*first, *second))]
    sampled = sum(_sampled(was, now) for was, now in pairs if was and now)
    changes, within = [], []
    for was, now in pairs:
        if was is None or now is None:
            changes.append(_change(was, now, (), "added" if was is None else "removed"))
            continue
        entries = [
            (
                FieldChange(what, item.where, item.old, item.new, item.number.rule if item.number else ""),
                item.number,
            )
            for what, item in compare(was, now, sampled)
        ]
        differing = tuple(change for change, number in entries if number and number.differs)
        if differing:
            changes.append(_change(was, now, differing, _direction(was, now, differing)))
        elif entries:
            numbers = [(number.share or 0.0, change) for change, number in entries if number]
            share, most = max(numbers, key=lambda pair: pair[0], default=(None, None))
            told = (most.where, most.decided) if most else ("", "")
            within.append(WithinErrors(now.asked, len(numbers), share, *told, len(entries) - len(numbers)))
    return AnswersDifference(
        old=PlaceRead.of(old),
        new=PlaceRead.of(new),
        matched=len(first.keys() & second.keys()),
        sampled=sampled,
        level=LEVEL,
        changes=tuple(sorted(changes, key=_weight)),
        within=tuple(sorted(within, key=lambda item: -(item.largest or 0.0))),
        not_compared=tuple(dict.fromkeys((*old.not_compared, *new.not_compared))),
    )


def compare(old: AskedAnswer, new: AskedAnswer, sampled: int) -> Iterator[tuple[What, EntryComparison]]:
    """The parts of two answers to one question that are not the same, in a comparison of so many `sampled` numbers in all."""
    few, many = old.chains, new.chains
    chains = min(few, many) if isinstance(few, int) and isinstance(many, int) else None
    method = [side.parts["method"].value if "method" in side.parts else "" for side in (old, new)]
    for where in (place for place in old.parts if place in new.parts):
        (what, one, rule), two = old.parts[where], new.parts[where].value
        if isinstance(one, Found):
            was, now = (None if side.exponent is None else float(side.exponent) for side in (one, two))
            if (was, one.low, one.high) != (now, two.low, two.high):
                yield what, EntryComparison(where, was, now, compare_exponents(one, two))
        elif isinstance(one, frozenset):
            for text in sorted(one ^ two):
                was, now = (text if text in side else None for side in (one, two))
                yield what, EntryComparison(where, was, now, other(rule))
        elif what == "point":
            for place in dict.fromkeys((*one, *two)):
                first, second = one.get(place), two.get(place)
                if first is None or second is None:
                    number = other(rule)
                elif first.diverged is not second.diverged:
                    number = other("one diverged")
                elif first.value == second.value:
                    continue
                else:
                    number = compare_points(first, second, sampled, chains)
                yield what, EntryComparison(place, _told(first), _told(second), number)
        elif isinstance(one, Mapping):
            # Evidence of another method has another certificate.
            if method[0] == method[1] or old.asked.kind != "evidence":
                for entry in compare_trees(one, two, where, method[0] == SAMPLED):
                    if entry.where.rpartition("/")[2] not in TIMES:
                        yield what, replace(entry, where=entry.where.removeprefix("/"))
        elif (masked(one) != masked(two)) if what == "reason" else one != two:
            yield what, EntryComparison(where, one, two, other(rule))


def _told(point: Point | None) -> Held:
    if not point:
        return None
    return "diverged" if point.diverged else point.note if point.value is None else point.value


def _sampled(old: AskedAnswer, new: AskedAnswer) -> int:
    """The number of points that are compared by standard errors."""
    one, two = (side.parts["points"].value if "points" in side.parts else {} for side in (old, new))
    return sum(bool(one[at].standard_error or two[at].standard_error) for at in one if at in two)


def better_outcome(old: str | None, new: str | None) -> bool | None:
    """Is the new outcome the better one? A pass that is none any more is worse, whatever came of it; None where neither is better.

    >>> better_outcome("pass", "not-applicable"), better_outcome("fail", "undecided"), better_outcome("undecided", "refuted")
    (False, True, None)
    """
    if old == new:
        return None
    if old in RANK and new in RANK:
        return RANK[new] < RANK[old]
    if "pass" in (old, new):
        return new == "pass"
    return False if new == "fail" else None


def _direction(old: AskedAnswer, new: AskedAnswer, changes: Iterable[FieldChange]) -> Direction:
    """By the first thing that tells the better answer: the outcome, else the exponent, the method, the sharpness."""
    better = better_outcome(old.outcome, new.outcome)
    differing = {change.what for change in changes} if old.outcome == new.outcome else set()
    if "exponent" in differing:
        was, now = (side.parts["found/exponent"].value for side in (old, new))
        signs = [side.parts["predicted/exponent"].value for side in (old, new)]
        better = False if slower(now, was, signs[1]) else True if slower(was, now, signs[0]) else None
    if better is None and "method" in differing:
        was, now = (METHODS.index(side.parts["method"].value) for side in (old, new))
        better = now < was
    if better is None and "sharpness" in differing:
        better = new.parts["sharp"].value == "true"
    return "changed" if better is None else "better" if better else "worse"


def _change(
    old: AskedAnswer | None, new: AskedAnswer | None, changes: tuple[FieldChange, ...], direction: Direction
) -> AnswerChange:
    first, last = old or new, new or old
    assert first is not None and last is not None
    was, now = (side.outcome if side else None for side in (old, new))
    return AnswerChange(first.asked, direction, was, now, changes, last.cause)


def _weight(change: AnswerChange) -> tuple[int, int, str, str, str]:
    """An answer that fails and has no old one is as grave as one that fails now."""
    direction = "worse" if (change.direction, change.new_outcome) == ("added", "fail") else change.direction
    outcome = change.new_outcome or change.old_outcome or ""
    worst = OUTCOMES.index(outcome) if outcome in OUTCOMES else len(OUTCOMES)
    return DIRECTIONS.index(direction), worst, change.asked.scheme, change.asked.claim, change.asked.check


def _asked(asked: AskedQuestion) -> str:
    """Scheme, claim, check and settings in a few words."""
    named = " ".join(part for part in (asked.scheme, asked.claim) if part)
    check = f" ({asked.check})" if asked.check else " (the whole answer)" if asked.kind == "answer" else ""
    settings = " ".join(f"{key}={value}" for key, value in flat(asked.configuration).items())
    return f"{named}{check}{' ' if settings else ''}{shorten(settings, LONGEST, placeholder=' ...')}"


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "none" if value is None else shorten(str(value), LONGEST, placeholder=" ...")
