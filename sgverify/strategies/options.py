"""Which values may an option of a strategy have? A list where several may be drawn, and whole numbers from a least one on."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, TypeVar

from sgverify.errors import ConfigurationError

Entry = TypeVar("Entry")


def listed(key: str, given: Iterable[Entry], known: Iterable[Entry] = ()) -> tuple[Entry, ...]:
    """The values of an option, of `known` ones where there are such.

    Raises `ConfigurationError` for one value that stands alone, for none and for an unknown one.

    >>> listed("dims", [1, 2])
    (1, 2)
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigurationError(f"{key}={given!r}: expected a list; write [{given!r}]")
    found, known = tuple(given), tuple(known)
    if not found:
        raise ConfigurationError(f"{key}=[]: expected at least one value{_of(known)}")
    unknown = [value for value in found if known and value not in known]
    if unknown:
        raise ConfigurationError(f"{key}={list(found)!r}: {unknown[0]!r} is none of its values{_of(known)}")
    return found


def whole(key: str, given: Iterable[Any], least: int, why: str = "") -> tuple[int, ...]:
    """The whole numbers of an option, sorted; raises `ConfigurationError` as `listed` does, and for one below `least`."""
    found = listed(key, given)
    for number in found:
        if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
            raise ConfigurationError(
                f"{key}={list(found)!r}: expected whole numbers of at least {least}{why}; change {number!r}"
            )
    return tuple(sorted(map(int, found)))


def _of(known: tuple[Any, ...]) -> str:
    return f"; expected some of {', '.join(map(str, known))}" if known else ""


__all__ = ["listed", "whole"]
