"""What differs between two answers to one question, and is the new one worse?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sgverify.evidence.baseline import slower
from sgverify.evidence.differences.certificates import compare_certificates, held, masked
from sgverify.evidence.differences.model import Direction, FieldChange, Held, What
from sgverify.evidence.differences.numbers import (
    NumberComparison,
    SampledNumbers,
    compare_exponents,
    compare_points,
)
from sgverify.evidence.differences.places import StoredValue
from sgverify.evidence.erratum import WEIGHT, Erratum
from sgverify.evidence.model import METHODS, Evidence, Point
from sgverify.evidence.whole_answer import WholeAnswer

SAMPLED = "monte-carlo"
ORDER = ("pass", "undecided", "fail")
"""From the best outcome to the worst; the others speak neither for a scheme nor against it."""

TIMES = ("seconds", "milliseconds")

STRENGTH = "the methods are not of one strength"

CLAUSE = "; "
"""The first clause of a reason, up to here, stands alone."""


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


def compare_evidence(old: Evidence, new: Evidence, sampled: SampledNumbers) -> Differing:
    """Compare two pieces of evidence on one question, `seconds` and the command that replays them aside."""
    found = Differing()
    found.text("outcome", "outcome", old.outcome, new.outcome, "the outcomes are not the same")
    found.turn(better_outcome(old.outcome, new.outcome))
    _compare_rates(found, old, new)
    found.text("method", "method", old.method, new.method, STRENGTH)
    if old.outcome == new.outcome and old.method != new.method:
        found.turn(METHODS.index(new.method) < METHODS.index(old.method))
    found.text(
        "sharpness",
        "sharp",
        held(old.sharp),
        held(new.sharp),
        "equality with the prediction is shown on one side alone",
    )
    if old.outcome == new.outcome and old.sharp != new.sharp:
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
        for entry in compare_certificates(old.certificate, new.certificate, old.method == SAMPLED):
            found.number("constant", entry.where, entry.old, entry.new, entry.number)
    if masked(clause(old.reason)) != masked(clause(new.reason)):
        found.text(
            "reason", "reason", clause(old.reason), clause(new.reason), "not the same sentence, numbers aside"
        )
    return found


def compare_errata(old: Erratum, new: Erratum) -> Differing:
    """Compare what was found about one printed statement: whether it falls, what holds in its place, and what that weighs."""
    found = Differing()
    found.text(
        "outcome",
        "errata",
        outcome_of_erratum(old),
        outcome_of_erratum(new),
        "the statement falls on one side alone",
    )
    if old.fails != new.fails:
        found.turn(old.fails)
    found.text("method", "method", old.method, new.method, STRENGTH)
    if old.method != new.method:
        found.turn(METHODS.index(new.method) < METHODS.index(old.method))
    if old.fails and new.fails:
        found.text("constant", "holds", old.holds, new.holds, "what holds in its place is not the same")
        for name in WEIGHT:
            found.text(
                "severity", name, getattr(old, name), getattr(new, name), "the judgement is not the same"
            )
    for entry in compare_certificates(old.certificate, new.certificate, False):
        found.number("constant", entry.where, entry.old, entry.new, entry.number)
    return found


def compare_whole(old: WholeAnswer, new: WholeAnswer) -> Differing:
    """Compare what `verify` says of a whole scheme; a mend is searched for a limited time, and not compared."""
    found = Differing()
    found.text("outcome", "answer/outcome", old.outcome, new.outcome, "the outcomes are not the same")
    found.turn(better_outcome(old.outcome, new.outcome))
    found.text("cause", "answer/cause_name", old.cause_name, new.cause_name, "the causes are not the same")
    for text in sorted({*old.not_tested} ^ {*new.not_tested}):
        one, other = (text if text in side.not_tested else None for side in (old, new))
        found.text("not tested", "answer/not_tested", one, other, "named as not tested on one side alone")
    was, now = {"how_large": list(old.how_large)}, {"how_large": list(new.how_large)}
    for entry in compare_certificates(was, now, False):
        found.number(
            "constant", entry.where.replace("certificate", "answer"), entry.old, entry.new, entry.number
        )
    return found


def compare_values(old: StoredValue, new: StoredValue) -> Differing:
    """Compare two values of a store, entry by entry."""
    found = Differing()
    for entry in compare_certificates({"value": old.value}, {"value": new.value}, False):
        where = entry.where.removeprefix("certificate/")
        if where.rpartition("/")[2] not in TIMES:
            found.number("constant", where, entry.old, entry.new, entry.number)
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


def sampled_points(old: Evidence, new: Evidence) -> int:
    """The number of points of two pieces of evidence that are compared by standard errors."""
    pairs = [(one, other) for _, one, other in _pairs(old.points, new.points) if one and other]
    return sum(bool(one.standard_error or other.standard_error) for one, other in pairs)


def chains_of(old: Evidence, new: Evidence) -> int | None:
    """The smaller number of chains, from which the standard errors come; None where it is not said."""
    numbers = [item.configuration.get("chains") for item in (old, new)]
    return min(numbers) if all(isinstance(number, int) for number in numbers) else None  # type: ignore[type-var]


def clause(reason: str) -> str:
    """The first clause of a reason."""
    return reason.partition(CLAUSE)[0]


def outcome_of_erratum(item: Erratum) -> str:
    """Does a printed statement fall or stand?"""
    return "falls" if item.fails else "stands"


def _compare_rates(found: Differing, old: Evidence, new: Evidence) -> None:
    """The exponents as found, within their intervals, and as predicted."""
    was, now = (None if item.found.exponent is None else float(item.found.exponent) for item in (old, new))
    if old.found != new.found and (was, old.found.low, old.found.high) != (
        now,
        new.found.low,
        new.found.high,
    ):
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
