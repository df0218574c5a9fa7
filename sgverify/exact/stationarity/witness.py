"""A point at which an element of the field is not zero: derivatives of U and state may be chosen freely there."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import arb, fmpq, fmpq_mpoly

from sgverify.exact.stationarity.field import Element, Field

TRIES = 24
PLAIN = (1, 2, 3, -1, 5, -2, 7, -3, 11)


def find_witness(value: Element) -> dict[str, str]:
    """Values of the symbols that occur at which `value` is not zero, and the value there; empty where none is found.

    A smooth U may have any derivatives at a point, so that such a point refutes that `value` vanishes for all U. With
    roots, exponentials or logarithms the value is enclosed in a ball that excludes 0.
    """
    if not value:
        return {}
    field = value.field
    places = _occurring(value)
    for attempt in range(TRIES):
        chosen = {
            place: Fraction(
                PLAIN[(attempt * (k + 1)) % len(PLAIN)] if _free(field, place) else 1 + attempt % 3
            )
            for k, place in enumerate(places)
        }
        if _at(value, chosen) is None:
            continue
        for place in places:
            # A witness that is mostly zeros is read at a glance.
            fewer = {**chosen, place: Fraction(0)}
            if _free(field, place) and _at(value, fewer) is not None:
                chosen = fewer
        found = {field.label(place)[0]: str(number) for place, number in chosen.items()}
        return {**found, "residual": str(_at(value, chosen))}
    return {}


def _free(field: Field, place: int) -> bool:
    """Whether a symbol may take any sign, and zero: not so parameters, nor the diagonal of B, which is invertible."""
    key = field.keys[place]
    if key[0] == "B":
        return key[1] != key[2] or any(key[3])
    return key[0] != "parameter"


def _occurring(value: Element) -> list[int]:
    """The places of the symbols in `value`, and in the arguments of its roots and exponentials."""
    field = value.field
    found: set[int] = set()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        for polynomial in (item.top, item.below):
            for place, degree in enumerate(polynomial.degrees()):
                if degree <= 0 or place in found:
                    continue
                found.add(place)
                if field.keys[place][0] == "slot":
                    waiting.append(field.slots[field.keys[place][1]][1])
    return sorted(place for place in found if field.keys[place][0] != "slot")


def _at(value: Element, chosen: dict[int, Fraction]) -> Any:
    """The value at a point, exact or as a ball that excludes 0; None where it is 0, undefined or not told from 0."""
    field = value.field
    numbers: dict[int, Any] = {place: fmpq(x.numerator, x.denominator) for place, x in chosen.items()}
    try:
        numbers.update(field.numbers())
        for k, (function, argument) in enumerate(field.slots):
            if field.keys.index(("slot", k)) in numbers:
                continue
            top, below = (_evaluate(part, numbers) for part in (argument.top, argument.below))
            if top is None or below is None:
                continue
            inner = arb(top) / arb(below)
            numbers[field.keys.index(("slot", k))] = getattr(inner, function)()
        top, below = (_evaluate(part, numbers) for part in (value.top, value.below))
        if top is None or below is None or below == 0 or top == 0:
            return None
        found = top / below
    except (ZeroDivisionError, ValueError):
        return None
    if isinstance(found, arb):
        return found if found.is_finite() and not found.contains(0) else None
    return found


def _evaluate(polynomial: fmpq_mpoly, numbers: dict[int, Any]) -> Any:
    """The polynomial at these numbers; None where one is missing."""
    total: Any = fmpq(0)
    for exponents, factor in polynomial.to_dict().items():
        term: Any = factor
        for place, power in enumerate(exponents):
            if power:
                if place not in numbers:
                    return None
                term = term * numbers[place] ** power
        total = total + term
    return total
