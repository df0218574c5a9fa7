"""From which length on one error is smaller than another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

PER_DECADE = 3
"""Lengths at which errors are compared: a stretch shorter than their distance may be missed."""

RATIO = 1.02
"""A crossing is bisected until its ends differ by this factor."""


@dataclass(frozen=True)
class Crossing:
    """The last stretch of lengths on which the first error is the smaller one; None where there is none.

    `until` is None where it is still the smaller one at the longest length looked at.
    """

    since: int | None
    until: int | None


def crossing(
    first: Callable[[int], float | None], second: Callable[[int], float | None], shortest: int, longest: int
) -> Crossing:
    """Compare |first(L)| with |second(L)| on three lengths a decade; ends of the last stretch are bisected.

    A diverged error (None) is larger than every other.
    """

    def below(length: int) -> bool:
        ours, theirs = first(length), second(length)
        return ours is not None and (theirs is None or abs(ours) < abs(theirs))

    lengths, k = [shortest], 1
    while lengths[-1] < longest:
        lengths.append(min(longest, round(shortest * 10 ** (k / PER_DECADE))))
        k += 1
    signs = [below(length) for length in lengths]
    if True not in signs:
        return Crossing(None, None)
    last = len(signs) - 1 - signs[::-1].index(True)
    start = last
    while start and signs[start - 1]:
        start -= 1
    since = lengths[0] if start == 0 else _edge(below, lengths[start - 1], lengths[start])
    until = (
        None if last == len(signs) - 1 else _edge(lambda n: not below(n), lengths[last], lengths[last + 1])
    )
    return Crossing(since, until)


def _edge(true: Callable[[int], bool], low: int, high: int) -> int:
    """The length between `low` (false) and `high` (true) from which it is true, up to a factor of `RATIO`."""
    while high > low + 1 and high > RATIO * low:
        middle = max(low + 1, min(high - 1, round((low * high) ** 0.5)))
        if true(middle):
            high = middle
        else:
            low = middle
    return high
