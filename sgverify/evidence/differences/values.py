"""Two values differ where their numbers are further apart than their stated errors, and all else where it is not equal.

- Of two error bounds b, a difference up to b_old + b_new is none, with half a unit in the last place of each stored double.
- Of two standard errors s from c chains each, a difference up to t sqrt(s_old^2 + s_new^2) is none. t is the quantile of Student's
  distribution with min(c) - 1 degrees of freedom, at which the chance that any of the n sampled numbers of the whole comparison
  seems to differ, where none does, is at most `LEVEL` (Bonferroni: `LEVEL`/n each).
- Two intervals or enclosures that share a number do not differ.
- An exact number (integer, fraction) differs from every other one.
- A float of which no error is stated differs beyond `ROUNDING` of its size.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.evidence.differences.model import Held
from sgverify.evidence.model import Evidence, Found, Point

LEVEL = 0.01
"""The chance that a comparison of equal laws finds any sampled number different."""

ROUNDING = 1e-9
"""A convention: what the rounding of doubles leaves of a float after many steps, relative to its size, on another platform."""


@dataclass(frozen=True)
class NumberComparison:
    """Do two numbers differ? `share` is their distance in units of what is allowed (None where nothing is); `rule` says by what."""

    differs: bool
    share: float | None
    rule: str


def within(distance: float, allowed: float, rule: str) -> NumberComparison:
    """The comparison of two numbers at a distance, of which so much is allowed."""
    return NumberComparison(
        distance > allowed,
        distance / allowed if allowed > 0 else None,
        f"{distance:.3g} apart; {allowed:.3g} allowed by {rule}",
    )


@dataclass(frozen=True)
class SampledNumbers:
    """How many sampled numbers does a whole comparison have? Of it follows the quantile of each."""

    count: int

    def quantile(self, chains: int | None) -> float:
        """The two-sided quantile at `LEVEL`/count, of Student's distribution with chains - 1 degrees of freedom; None: normal."""
        from scipy.special import ndtri, stdtrit

        tail = 1 - LEVEL / max(self.count, 1) / 2
        return float(ndtri(tail) if chains is None or chains < 2 else stdtrit(chains - 1, tail))


def compare_points(old: Point, new: Point, sampled: SampledNumbers, chains: int | None) -> NumberComparison:
    """Compare the values of two points at one step and length; a value that is missing differs from one that is there."""
    if old.value is None or new.value is None:
        return NumberComparison(old.value is not new.value, None, "no value on one side")
    one, other = float(old.value), float(new.value)
    bounds = float(old.error_bound or 0) + float(new.error_bound or 0) + (math.ulp(one) + math.ulp(other)) / 2
    spread = math.hypot(float(old.standard_error or 0), float(new.standard_error or 0))
    if not spread:
        return within(abs(other - one), bounds, "the error bounds")
    t = sampled.quantile(chains)
    return within(abs(other - one), bounds + t * spread, f"{t:.3g} standard errors and the error bounds")


def compare_exponents(old: Found, new: Found) -> NumberComparison:
    """Compare two exponents by their intervals; an exponent without one, as of a quantity that vanishes, differs from a number."""
    if old.exponent is None or new.exponent is None:
        return NumberComparison(old.exponent is not new.exponent, None, "no exponent on one side")
    first, second = interval(old), interval(new)
    if first is None or second is None:
        return compare_floats(float(old.exponent), float(new.exponent))
    apart = max(first[0], second[0]) - min(first[1], second[1])
    allowed = max(math.ulp(float(old.exponent)), math.ulp(float(new.exponent)))
    names = " and ".join(f"[{low:.6g}, {high:.6g}]" for low, high in (first, second))
    if apart > allowed:
        return NumberComparison(True, None, f"the intervals {names} share no number")
    half = sum((high - low) / 2 for low, high in (first, second))
    middles = abs(sum(first) - sum(second)) / 2
    share = middles / half if half > 0 and math.isfinite(half) else None
    return NumberComparison(False, share, f"the intervals {names} share a number")


def slower(evidence: Evidence, recorded: Found) -> bool:
    """Is the rate of the evidence lower than the recorded one, beyond the intervals of both?

    Exponents are positive in h and negative in L, so that of two in L the larger is the lower rate. Where one of the two has no
    exponent, as where a test of a sample failed, nothing is said.
    """
    if evidence.found.exponent is None or recorded.exponent is None:
        return False
    sign = -1 if (evidence.predicted.exponent or 0) < 0 else 1
    now, then = (
        sorted(sign * end for end in interval(found) or (float(found.exponent or 0),))
        for found in (evidence.found, recorded)
    )
    return now[-1] < then[0]


def interval(found: Found) -> tuple[float, float] | None:
    """The interval of an exponent, an open end infinite; None where neither end is stored."""
    if found.low is None and found.high is None:
        return None
    low = -math.inf if found.low is None else float(found.low)
    return low, math.inf if found.high is None else float(found.high)


def compare_enclosures(old: tuple[Fraction, Fraction], new: tuple[Fraction, Fraction]) -> NumberComparison:
    """Compare two balls, each a middle and a radius."""
    distance, allowed = abs(old[0] - new[0]), old[1] + new[1]
    return within(float(distance), float(allowed), "the radii of the enclosures")


def compare_floats(old: float, new: float, bound: float | None = None) -> NumberComparison:
    """Compare two floats within the sum of their bounds, or where none is stated within `ROUNDING` of their size."""
    if bound is not None:
        return within(abs(new - old), bound + (math.ulp(old) + math.ulp(new)) / 2, "the error bounds")
    return within(
        abs(new - old),
        ROUNDING * max(abs(old), abs(new)),
        f"rounding ({ROUNDING:g} of the size; no bound is stated)",
    )


def compare_exact(old: Fraction, new: Fraction) -> NumberComparison:
    """Compare two exact numbers."""
    return NumberComparison(old != new, None, "exact numbers")


def gravest(found: Sequence[NumberComparison]) -> NumberComparison:
    """The one that differs, or else the one that takes the largest share of what is allowed."""
    return max(found, key=lambda item: (item.differs, item.share or 0.0))


BOUND, BOUNDS = "error_bound", "error_bounds"
ERRORS = (BOUND, BOUNDS, "standard_error")
"""Errors are what is compared by, and not compared themselves."""

BOUNDED = ("value", "coefficient", "change")
"""The numbers of a table that its entry `error_bound` speaks of."""

_DECIMAL = r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_TOKEN = re.compile(
    rf"\[?(?:(?P<middle>-?{_DECIMAL}) )?\+/- (?P<radius>{_DECIMAL})\]?|(?P<number>(?<![\w.-])-?{_DECIMAL}(?:/\d+)?)"
)
"""A ball, as "[0.125 +/- 3e-17]", or a number."""

_GROUPS = _TOKEN.groups

_MISSING: Any = object()

Bound = float | list[float] | None


@dataclass(frozen=True)
class EntryComparison:
    """An entry that is not the same on both sides; `number` is None where it holds a sampled number without a stated error."""

    where: str
    old: Held
    new: Held
    number: NumberComparison | None


def compare_certificates(
    old: Mapping[str, Any], new: Mapping[str, Any], sampled: bool
) -> Iterator[EntryComparison]:
    """The entries in which two certificates are not the same. `sampled`: their numbers come from samples."""
    yield from _compare(old, new, "certificate", sampled, None)


def masked(text: str) -> str:
    """The text with # for every number, by which sentences of one form are recognised.

    >>> masked("found h^1.5, required h^2: 96 chains of sgld-2")
    'found h^#, required h^#: # chains of sgld-2'
    """
    return _TOKEN.sub("#", text)


def held(value: Any) -> Held:
    """A value for a document: a number or a text as it stands, all else as JSON."""
    if value is _MISSING:
        return None
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _compare(old: Any, new: Any, where: str, sampled: bool, bound: Bound) -> Iterator[EntryComparison]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys((*old, *new)):
            if key not in ERRORS or key not in old or key not in new:
                yield from _compare(
                    old.get(key, _MISSING),
                    new.get(key, _MISSING),
                    f"{where}/{key}",
                    sampled,
                    _bound(old, new, key),
                )
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            own = bound[place] if isinstance(bound, list) else bound
            yield from _compare(one, other, f"{where}/{place}", sampled, own)
    elif isinstance(old, str) and isinstance(new, str):
        if old != new:
            yield EntryComparison(where, old, new, _texts(old, new, sampled))
    elif _numeric(old) and _numeric(new):
        if old != new:
            whole = isinstance(old, int) and isinstance(new, int)
            allowed = None if isinstance(bound, list) else bound
            number = (
                compare_exact(Fraction(old), Fraction(new)) if whole else compare_floats(old, new, allowed)
            )
            yield EntryComparison(where, old, new, None if sampled and allowed is None else number)
    elif old is not new and old != new:
        one_side = old is _MISSING or new is _MISSING
        rule = "an entry of one side alone" if one_side else "another entry"
        yield EntryComparison(where, held(old), held(new), NumberComparison(True, None, rule))


def _texts(old: str, new: str, sampled: bool) -> NumberComparison | None:
    """Formulas and sentences are the same or not beyond their numbers, and these are exact, or doubles as printed, or balls."""
    if _TOKEN.split(old)[:: _GROUPS + 1] != _TOKEN.split(new)[:: _GROUPS + 1]:
        return NumberComparison(True, None, "another formula or sentence")
    if sampled:
        return None
    tokens = zip(_TOKEN.finditer(old), _TOKEN.finditer(new), strict=True)
    return gravest([_tokens(one, other) for one, other in tokens if one[0] != other[0]])


def _tokens(old: re.Match[str], new: re.Match[str]) -> NumberComparison:
    if old["radius"] or new["radius"]:
        return compare_enclosures(_ball(old), _ball(new))
    one, other = Fraction(old["number"]), Fraction(new["number"])
    if any(mark in match["number"] for match in (old, new) for mark in ".eE"):
        return compare_floats(float(one), float(other))
    return compare_exact(one, other)


def _ball(match: re.Match[str]) -> tuple[Fraction, Fraction]:
    """Middle and radius; a plain number is a ball without radius."""
    return Fraction(match["number"] or match["middle"] or 0), Fraction(match["radius"] or 0)


def _bound(old: Mapping[str, Any], new: Mapping[str, Any], key: str) -> Bound:
    """The sum of the bounds that both tables state of this entry, for a list one by one; None where one states none."""
    lists = [table.get(name) for table in (old, new) for name in (key, BOUNDS)]
    if all(isinstance(part, list) and len(part) == len(lists[0] or ()) for part in lists):
        return [float(one) + float(other) for one, other in zip(old[BOUNDS], new[BOUNDS], strict=True)]
    if key in BOUNDED and all(_numeric(table.get(BOUND)) for table in (old, new)):
        return float(old[BOUND]) + float(new[BOUND])
    return None


def _numeric(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
