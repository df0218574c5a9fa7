"""The differences between the answers of two places: which belong together, what differs, which is the worse, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sgverify.errors import UserError
from sgverify.evidence.differences.model import (
    DIRECTIONS,
    AnswerChange,
    AnswersDifference,
    Direction,
    FieldChange,
    Held,
    What,
    WithinErrors,
)
from sgverify.evidence.differences.places import CLAUSE, AnswersAt, AskedAnswer, StoredValue
from sgverify.evidence.differences.values import (
    LEVEL,
    NumberComparison,
    SampledNumbers,
    compare_certificates,
    compare_exponents,
    compare_points,
    held,
    masked,
    slower,
)
from sgverify.evidence.erratum import WEIGHT, Erratum
from sgverify.evidence.model import METHODS, Evidence, Point
from sgverify.evidence.storage import WholeAnswer

SAMPLED = "monte-carlo"
ORDER = ("pass", "undecided", "fail")
"""From the best outcome to the worst; the others speak neither for a scheme nor against it."""

OUTCOMES = ("fail", "falls", "undecided", "refuted", "not-applicable", "stands", "pass")
"""From the worst: of changes of one direction, those with the worst new outcome come first."""

TIMES = ("seconds", "milliseconds")


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
    first, second = old.by_question(keys), new.by_question(keys)
    both = [(first[key].value, second[key].value) for key in first if key in second]
    sampled = SampledNumbers(sum(sampled_points(one, other) for one, other in both))
    changes, within = [], []
    for key in dict.fromkeys((*first, *second)):
        was, now = first.get(key), second.get(key)
        if was is None or now is None:
            changes.append(_change(was, now, (), "added" if was is None else "removed"))
            continue
        found = compare(was, now, sampled)
        if found.changes:
            changes.append(_change(was, now, tuple(found.changes), found.direction))
        elif found.numbers or found.unjudged:
            share, where, decided = found.largest or (None, "", "")
            within.append(WithinErrors(now.asked, found.numbers, share, where, decided, found.unjudged))
    return AnswersDifference(
        old=old.read,
        new=new.read,
        matched=len(both),
        sampled=sampled.count,
        level=LEVEL,
        changes=tuple(sorted(changes, key=_weight)),
        within=tuple(sorted(within, key=lambda item: -(item.largest or 0.0))),
        not_compared=tuple(dict.fromkeys((*old.not_compared, *new.not_compared))),
    )


def _change(
    old: AskedAnswer | None, new: AskedAnswer | None, changes: tuple[FieldChange, ...], direction: Direction
) -> AnswerChange:
    shown = new or old
    assert shown is not None
    return AnswerChange(
        asked=(old or shown).asked,
        direction=direction,
        old_outcome=None if old is None else old.outcome,
        new_outcome=None if new is None else new.outcome,
        changes=changes,
        cause=shown.cause,
    )


def _weight(change: AnswerChange) -> tuple[int, int, str, str, str]:
    """An answer that fails and has no old one is as grave as one that fails now."""
    direction = "worse" if (change.direction, change.new_outcome) == ("added", "fail") else change.direction
    outcome = change.new_outcome or change.old_outcome or ""
    worst = OUTCOMES.index(outcome) if outcome in OUTCOMES else len(OUTCOMES)
    return DIRECTIONS.index(direction), worst, change.asked.scheme, change.asked.claim, change.asked.check


@dataclass
class Differing:
    """What differs between two answers: `changes`, and of numbers within their errors how many, and the one nearest to a change.

    `unjudged`: sampled numbers that differ and have no stated error. `direction` is that of the first thing that tells the better
    answer: the outcome, else the exponent, the method, the sharpness.
    """

    changes: list[FieldChange] = field(default_factory=list)
    numbers: int = 0
    largest: tuple[float, str, str] | None = None
    unjudged: int = 0
    direction: Direction = "changed"

    def text(self, what: What, where: str, old: Held, new: Held, decided: str) -> None:
        """Two words or sentences; equal ones are no change."""
        if old != new:
            self.changes.append(FieldChange(what, where, old, new, decided))

    def turn(self, better: bool | None) -> None:
        """The new answer is better (or worse) in this; what was told before it weighs more. None says nothing."""
        if better is not None and self.direction == "changed":
            self.direction = "better" if better else "worse"

    def number(
        self, what: What, where: str, old: Held, new: Held, comparison: NumberComparison | None
    ) -> None:
        """Two numbers that are not equal, and how they compare; None: of a sample, without a stated error."""
        if comparison is None:
            self.unjudged += 1
        elif comparison.differs:
            self.changes.append(FieldChange(what, where, old, new, comparison.rule))
        else:
            self.numbers += 1
            if self.largest is None or (comparison.share or 0.0) > self.largest[0]:
                self.largest = (comparison.share or 0.0, where, comparison.rule)

    def entries(
        self, root: str, old: Mapping[str, Any], new: Mapping[str, Any], sampled: bool = False
    ) -> None:
        """The entries of two tables, below `root`; times are not compared."""
        for entry in compare_certificates(old, new, sampled):
            where = f"{root}{entry.where.removeprefix('certificate')}".removeprefix("/")
            if where.rpartition("/")[2] not in TIMES:
                self.number("constant", where, entry.old, entry.new, entry.number)

    def method(self, old: Evidence | Erratum, new: Evidence | Erratum, decides: bool = True) -> None:
        """The methods; a stronger one is the better answer, where the outcomes do not tell already (`decides`)."""
        self.text("method", "method", old.method, new.method, "the methods are not of one strength")
        if decides and old.method != new.method:
            self.turn(METHODS.index(new.method) < METHODS.index(old.method))


def compare(old: AskedAnswer, new: AskedAnswer, sampled: SampledNumbers) -> Differing:
    """What differs between two answers to one question."""
    match old.value, new.value:
        case Evidence() as one, Evidence() as other:
            return _compare_evidence(one, other, sampled)
        case Erratum() as one, Erratum() as other:
            return _compare_errata(one, other, old.outcome, new.outcome)
        case WholeAnswer() as one, WholeAnswer() as other:
            return _compare_whole(one, other)
        case StoredValue() as one, StoredValue() as other:
            found = Differing()
            found.entries("", {"value": one.value}, {"value": other.value})
            return found
    raise TypeError(f"{old.asked} is answered by {type(old.value)} and by {type(new.value)}")


def _compare_evidence(old: Evidence, new: Evidence, sampled: SampledNumbers) -> Differing:
    """`seconds` and the command that replays them aside."""
    found = Differing()
    alike = old.outcome == new.outcome
    found.text("outcome", "outcome", old.outcome, new.outcome, "the outcomes are not the same")
    found.turn(better_outcome(old.outcome, new.outcome))
    _compare_rates(found, old, new)
    found.method(old, new, alike)
    rule = "equality with the prediction is shown on one side alone"
    found.text("sharpness", "sharp", held(old.sharp), held(new.sharp), rule)
    if alike and old.sharp != new.sharp:
        found.turn(new.sharp)
    for where, one, other in _pairs(old.points, new.points):
        if one is None or other is None:
            found.text("point", where, _told(one), _told(other), "a point of one side alone")
        elif one.diverged is not other.diverged:
            found.text("point", where, _told(one), _told(other), "one diverged")
        elif one.value != other.value:
            comparison = compare_points(one, other, sampled, chains_of(old, new))
            found.number("point", where, one.value, other.value, comparison)
    if old.method == new.method:
        found.entries("certificate", old.certificate, new.certificate, old.method == SAMPLED)
    was, now = (item.reason.partition(CLAUSE)[0] for item in (old, new))
    if masked(was) != masked(now):
        found.text("reason", "reason", was, now, "not the same sentence, numbers aside")
    return found


def _compare_rates(found: Differing, old: Evidence, new: Evidence) -> None:
    """The exponents as found, within their intervals, and as predicted."""
    was, now = (None if item.found.exponent is None else float(item.found.exponent) for item in (old, new))
    if (was, old.found.low, old.found.high) != (now, new.found.low, new.found.high):
        comparison = compare_exponents(old.found, new.found)
        found.number("exponent", "found/exponent", was, now, comparison)
        if comparison.differs and old.outcome == new.outcome:
            found.turn(False if slower(new, old.found) else True if slower(old, new.found) else None)
    one, other = (
        None if item.predicted.exponent is None else float(item.predicted.exponent) for item in (old, new)
    )
    rule = "the claim predicts another rate"
    found.text("prediction", "predicted/exponent", one, other, rule)
    found.text("prediction", "predicted/kind", old.predicted.kind, new.predicted.kind, rule)


def _compare_errata(old: Erratum, new: Erratum, was: str | None, now: str | None) -> Differing:
    """Whether a printed statement falls, what holds in its place, and what that weighs."""
    found = Differing()
    found.text("outcome", "errata", was, now, "the statement falls on one side alone")
    if old.fails != new.fails:
        found.turn(old.fails)
    found.method(old, new)
    if old.fails and new.fails:
        found.text("constant", "holds", old.holds, new.holds, "what holds in its place is not the same")
        for name in WEIGHT:
            one, other = getattr(old, name), getattr(new, name)
            found.text("severity", name, one, other, "the judgement is not the same")
    found.entries("certificate", old.certificate, new.certificate)
    return found


def _compare_whole(old: WholeAnswer, new: WholeAnswer) -> Differing:
    """What `verify` says of a whole scheme; a mend is searched for a limited time, and not compared."""
    found = Differing()
    found.text("outcome", "answer/outcome", old.outcome, new.outcome, "the outcomes are not the same")
    found.turn(better_outcome(old.outcome, new.outcome))
    found.text("cause", "answer/cause_name", old.cause_name, new.cause_name, "the causes are not the same")
    for text in sorted({*old.not_tested} ^ {*new.not_tested}):
        one, other = (text if text in side.not_tested else None for side in (old, new))
        found.text("not tested", "answer/not_tested", one, other, "named as not tested on one side alone")
    found.entries("answer", {"how_large": list(old.how_large)}, {"how_large": list(new.how_large)})
    return found


def better_outcome(old: str, new: str) -> bool | None:
    """Is the new outcome the better one? A pass that is none any more is worse, whatever came of it; None where neither is better.

    >>> better_outcome("pass", "not-applicable"), better_outcome("fail", "undecided"), better_outcome("undecided", "refuted")
    (False, True, None)
    """
    if old == new:
        return None
    if old in ORDER and new in ORDER:
        return ORDER.index(new) < ORDER.index(old)
    if "pass" in (old, new):
        return new == "pass"
    return False if new == "fail" else None


def sampled_points(old: object, new: object) -> int:
    """The number of points of two pieces of evidence that are compared by standard errors; 0 for other answers."""
    if not isinstance(old, Evidence) or not isinstance(new, Evidence):
        return 0
    pairs = [(one, other) for _, one, other in _pairs(old.points, new.points) if one and other]
    return sum(bool(one.standard_error or other.standard_error) for one, other in pairs)


def chains_of(old: Evidence, new: Evidence) -> int | None:
    """The smaller number of chains, from which the standard errors come; None where it is not said."""
    numbers = [item.configuration.get("chains") for item in (old, new)]
    return min(numbers) if all(isinstance(number, int) for number in numbers) else None  # type: ignore[type-var]


def _pairs(old: Iterable[Point], new: Iterable[Point]) -> Iterator[tuple[str, Point | None, Point | None]]:
    """The points at the same step, length and kind, in their order; None where a side has none there."""
    sides: tuple[dict[str, Point], dict[str, Point]] = ({}, {})
    for side, points in zip(sides, (old, new), strict=True):
        seen: Counter[str] = Counter()
        for point in points:
            place = ", ".join(
                f"{name} = {value:.6g}"
                for name, value in (("h", point.step), ("L", point.length))
                if value is not None
            )
            place = f"points/{point.kind} at {place}"
            seen[place] += 1
            side[place if seen[place] == 1 else f"{place}, {seen[place]}"] = point
    for place in dict.fromkeys((*sides[0], *sides[1])):
        yield place, sides[0].get(place), sides[1].get(place)


def _told(point: Point | None) -> Held:
    if point is None:
        return None
    return "diverged" if point.diverged else point.value if point.value is not None else point.note
