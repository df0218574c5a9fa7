"""How do two certificates differ, entry by entry? Numbers within their stated errors, exact ones and formulas as they stand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.evidence.differences.model import Held
from sgverify.evidence.differences.numbers import (
    NumberComparison,
    compare_enclosures,
    compare_exact,
    compare_floats,
    gravest,
)

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


__all__ = ["EntryComparison", "compare_certificates", "held", "masked"]
