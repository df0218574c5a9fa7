"""Numbers that stay exact: short decimals, so that a float is the fraction that it prints as."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.errors import ConfigurationError

MOST_DIGITS = 15
"""A decimal of at most so many significant digits survives the way to float64 and back."""

MOST_VALUES = 100_000
"""Decimals of one domain, which are listed in the order in which they shrink."""


def as_decimal(value: Fraction | int) -> float:
    """The float that prints as `value`, which must be a decimal of at most 15 significant digits.

    >>> as_decimal(Fraction(3, 8))
    0.375
    """
    number = float(value)
    if Fraction(repr(number)) != value:
        raise ConfigurationError(f"value={value}: is no short decimal; expected e.g. 3/8; round it first")
    return number


@lru_cache(maxsize=256)
def decimals(
    *, low: float, high: float, places: int = 2, without: frozenset[float] = frozenset()
) -> SearchStrategy[float]:
    """Decimals with `places` places in [low, high], save those in `without`; shrinks to whole numbers, small ones first.

    >>> from hypothesis import find
    >>> find(decimals(low=0.5, high=9.0), lambda x: x > 4.32)
    5.0

    Raises `ConfigurationError` for an empty domain.
    """
    unit = 10**places
    first, last = -(-_written(low) * unit // 1), _written(high) * unit // 1
    taken = {_written(value) * unit for value in without}
    if last - first >= MOST_VALUES:
        raise ConfigurationError(
            f"low={low!r}, high={high!r}, places={places!r}: more than {MOST_VALUES} decimals lie between them; take fewer places"
        )
    kept = [k for k in range(int(first), int(last) + 1) if k not in taken]
    if not kept:
        raise ConfigurationError(
            f"low={low!r}, high={high!r}, places={places!r}: no decimal lies between them; expected low <= high; widen them"
        )
    # Listed and not filtered: what a filter rejects lengthens an example and spoils the shrinking.
    kept.sort(key=lambda k: (_places(k, places), abs(k), k < 0))
    values = [as_decimal(Fraction(k, unit)) for k in kept]
    whole = [value for value in values if value == int(value)]
    return st.one_of(st.sampled_from(whole), st.sampled_from(values)) if whole else st.sampled_from(values)


def temperatures(*, low: float = 0.25, high: float = 4.0, unit: bool = False) -> SearchStrategy[float]:
    """Temperatures T; never 1 unless `unit`, because T = 1 hides every temperature that is missing or misplaced.

    >>> from hypothesis import find
    >>> find(temperatures(), lambda T: True)
    2.0
    """
    return _scale(low, high, unit)


def frictions(*, low: float = 0.25, high: float = 6.0, unit: bool = False) -> SearchStrategy[float]:
    """Frictions D; never 1 unless `unit`, because D = 1 hides a D that should be a sqrt(D).

    >>> from hypothesis import find
    >>> find(frictions(low=2.5), lambda D: True)
    3.0
    """
    return _scale(low, high, unit)


def _scale(low: float, high: float, unit: bool) -> SearchStrategy[float]:
    if low <= 0:
        raise ConfigurationError(f"low={low!r}: expected a number above 0; raise it")
    return decimals(low=low, high=high, without=frozenset() if unit else frozenset({1.0}))


def _written(value: float) -> Fraction:
    return Fraction(repr(float(value)))


def _places(k: int, places: int) -> int:
    """Decimal places that k/10^places needs."""
    while places and k % 10 == 0:
        k, places = k // 10, places - 1
    return places


__all__ = ["as_decimal", "decimals", "frictions", "temperatures"]
