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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.evidence.model import Found, Point

LEVEL = 0.01
"""The chance that a comparison of equal laws finds any sampled number different."""

ROUNDING = 1e-9
"""A convention: what the rounding of doubles leaves of a float after many steps, relative to its size, on another platform."""

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

_MISSING: Any = object()

Held = str | int | float | None
Bound = float | list[float] | None


@dataclass(frozen=True)
class NumberComparison:
    """Do two numbers differ? `share` is their distance in units of what is allowed (None where nothing is); `rule` says by what."""

    differs: bool
    share: float | None
    rule: str


@dataclass(frozen=True)
class EntryComparison:
    """An entry that is not the same on both sides; `number` is None where it holds a sampled number without a stated error."""

    where: str
    old: Held
    new: Held
    number: NumberComparison | None


def within(distance: float, allowed: float, rule: str) -> NumberComparison:
    """The comparison of two numbers at a distance, of which so much is allowed."""
    share = distance / allowed if allowed > 0 else None
    return NumberComparison(
        distance > allowed, share, f"{distance:.3g} apart; {allowed:.3g} allowed by {rule}"
    )


def other(rule: str, differs: bool = True) -> NumberComparison:
    """The comparison of two values of which nothing is allowed."""
    return NumberComparison(differs, None, rule)


def quantile(count: int, chains: int | None) -> float:
    """The two-sided quantile at `LEVEL`/count of Student's distribution with chains - 1 degrees of freedom; chains None: normal."""
    from scipy.special import ndtri, stdtrit

    tail = 1 - LEVEL / max(count, 1) / 2
    return float(ndtri(tail) if chains is None or chains < 2 else stdtrit(chains - 1, tail))


def compare_points(old: Point, new: Point, sampled: int, chains: int | None) -> NumberComparison:
    """Compare the values of two points, of `sampled` numbers in all; a value that is missing differs from one that is there."""
    if old.value is None or new.value is None:
        return other("no value on one side", old.value is not new.value)
    one, two = float(old.value), float(new.value)
    bounds = float(old.error_bound or 0) + float(new.error_bound or 0) + (math.ulp(one) + math.ulp(two)) / 2
    spread = math.hypot(float(old.standard_error or 0), float(new.standard_error or 0))
    if not spread:
        return within(abs(two - one), bounds, "the error bounds")
    t = quantile(sampled, chains)
    return within(abs(two - one), bounds + t * spread, f"{t:.3g} standard errors and the error bounds")


def compare_exponents(old: Found, new: Found) -> NumberComparison:
    """Compare two exponents by their intervals; an exponent without one, as of a quantity that vanishes, differs from a number."""
    if old.exponent is None or new.exponent is None:
        return other("no exponent on one side", old.exponent is not new.exponent)
    first, second = _interval(old), _interval(new)
    if first is None or second is None:
        return compare_floats(float(old.exponent), float(new.exponent))
    apart = max(first[0], second[0]) - min(first[1], second[1])
    names = " and ".join(f"[{low:.6g}, {high:.6g}]" for low, high in (first, second))
    if apart > max(math.ulp(float(old.exponent)), math.ulp(float(new.exponent))):
        return other(f"the intervals {names} share no number")
    half = sum((high - low) / 2 for low, high in (first, second))
    share = abs(sum(first) - sum(second)) / 2 / half if half > 0 and math.isfinite(half) else None
    return NumberComparison(False, share, f"the intervals {names} share a number")


def slower(found: Found, recorded: Found, predicted: float | Fraction | None) -> bool:
    """Is the rate that was found lower than the recorded one, beyond the intervals of both?

    Exponents are positive in h and negative in L, as the predicted one is, so that of two in L the larger is the lower rate. Where
    one of the two has no exponent, as where a test of a sample failed, nothing is said.
    """
    if found.exponent is None or recorded.exponent is None:
        return False
    sign = -1 if (predicted or 0) < 0 else 1
    now, then = (
        sorted(sign * end for end in _interval(rate) or (float(rate.exponent or 0),))
        for rate in (found, recorded)
    )
    return now[-1] < then[0]


def _interval(found: Found) -> tuple[float, float] | None:
    """The interval of an exponent, an open end infinite; None where neither end is stored."""
    if found.low is None and found.high is None:
        return None
    low = -math.inf if found.low is None else float(found.low)
    return low, math.inf if found.high is None else float(found.high)


def compare_floats(old: float, new: float, bound: float | None = None) -> NumberComparison:
    """Compare two floats within the sum of their bounds, or where none is stated within `ROUNDING` of their size."""
    if bound is not None:
        return within(abs(new - old), bound + (math.ulp(old) + math.ulp(new)) / 2, "the error bounds")
    rule = f"rounding ({ROUNDING:g} of the size; no bound is stated)"
    return within(abs(new - old), ROUNDING * max(abs(old), abs(new)), rule)


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


def compare_trees(
    old: Any, new: Any, where: str = "", sampled: bool = False, bound: Bound = None
) -> Iterator[EntryComparison]:
    """The entries in which two trees of JSON, at `where`, are not the same. `sampled`: their numbers come from samples."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys((*old, *new)):
            if key not in ERRORS or key not in old or key not in new:
                one, two = old.get(key, _MISSING), new.get(key, _MISSING)
                yield from compare_trees(one, two, f"{where}/{key}", sampled, _bound(old, new, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, two) in enumerate(zip(old, new, strict=True)):
            own = bound[place] if isinstance(bound, list) else bound
            yield from compare_trees(one, two, f"{where}/{place}", sampled, own)
    elif isinstance(old, str) and isinstance(new, str):
        if old != new:
            yield EntryComparison(where, old, new, _texts(old, new, sampled))
    elif _numeric(old) and _numeric(new):
        if old != new:
            whole = isinstance(old, int) and isinstance(new, int)
            allowed = None if isinstance(bound, list) else bound
            number = other("exact numbers") if whole else compare_floats(old, new, allowed)
            yield EntryComparison(where, old, new, None if sampled and allowed is None else number)
    elif old is not new and old != new:
        one_side = old is _MISSING or new is _MISSING
        rule = "an entry of one side alone" if one_side else "another entry"
        yield EntryComparison(where, held(old), held(new), other(rule))


def _texts(old: str, new: str, sampled: bool) -> NumberComparison | None:
    """Formulas and sentences are the same or not beyond their numbers, and these are exact, or doubles as printed, or balls."""
    if _TOKEN.split(old)[:: _TOKEN.groups + 1] != _TOKEN.split(new)[:: _TOKEN.groups + 1]:
        return other("another formula or sentence")
    if sampled:
        return None
    tokens = zip(_TOKEN.finditer(old), _TOKEN.finditer(new), strict=True)
    found = [_tokens(one, two) for one, two in tokens if one[0] != two[0]]
    # The one that differs, or else the one that takes the largest share of what is allowed.
    return max(found, key=lambda item: (item.differs, item.share or 0.0))


def _tokens(old: re.Match[str], new: re.Match[str]) -> NumberComparison:
    """Compare two numbers of texts; of a ball and a number, the number is a ball without radius."""
    one, two = (Fraction(match["number"] or match["middle"] or 0) for match in (old, new))
    if old["radius"] or new["radius"]:
        allowed = Fraction(old["radius"] or 0) + Fraction(new["radius"] or 0)
        return within(float(abs(one - two)), float(allowed), "the radii of the enclosures")
    if any(mark in match["number"] for match in (old, new) for mark in ".eE"):
        return compare_floats(float(one), float(two))
    return other("exact numbers", one != two)


def _bound(old: Mapping[str, Any], new: Mapping[str, Any], key: str) -> Bound:
    """The sum of the bounds that both tables state of this entry, for a list one by one; None where one states none."""
    lists = [table.get(name) for table in (old, new) for name in (key, BOUNDS)]
    if all(isinstance(part, list) and len(part) == len(lists[0] or ()) for part in lists):
        return [float(one) + float(two) for one, two in zip(old[BOUNDS], new[BOUNDS], strict=True)]
    if key in BOUNDED and all(_numeric(table.get(BOUND)) for table in (old, new)):
        return float(old[BOUND]) + float(new[BOUND])
    return None


def _numeric(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
