"""What a benchmark measures: the wall time of a piece of work and of its peer, taken in turns."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Disagreement(Exception):
    """The work and its peer gave different answers, so that comparing their times means nothing."""


@dataclass(frozen=True)
class Setting:
    """How much is measured: `repeats` timed runs of each piece of work, on full sizes or on `tiny` ones.

    `figures`: the folder that figures are written to, None for none.
    """

    repeats: int = 5
    tiny: bool = False
    figures: Path | None = None


@dataclass(frozen=True)
class Timing:
    """Wall times of the same work in seconds, in the order in which they were taken."""

    seconds: tuple[float, ...]

    @property
    def first(self) -> float:
        """The first call, which meets empty caches."""
        return self.seconds[0]

    @property
    def median(self) -> float:
        """The median of all calls."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> tuple[float, float]:
        """The shortest and the longest call."""
        return min(self.seconds), max(self.seconds)


@dataclass(frozen=True)
class Row:
    """One line of the table.

    `bar`: the most seconds that the project allows itself, `least`: the least ratio, where it names a number. `peer`:
    who does the same work, or what bounds it from below. `scale`: by how much the peer's time is multiplied to reach
    the same amount of work (1 where it does all of it). `work`: how many units (`unit`) one call does.
    """

    name: str
    timing: Timing
    bar: float | None = None
    peer: str | None = None
    peer_timing: Timing | None = None
    scale: float = 1.0
    work: float | None = None
    unit: str = ""
    note: str = ""
    least: float | None = None

    @property
    def peer_median(self) -> float | None:
        """The peer's median for the whole work, in seconds."""
        return None if self.peer_timing is None else self.peer_timing.median * self.scale

    @property
    def ratio(self) -> float | None:
        """The peer's median over ours: how many times as fast as the peer."""
        return None if self.peer_median is None else self.peer_median / self.timing.median

    @property
    def met(self) -> bool | None:
        """Whether the median stays below the bar and the ratio reaches the least one; None without either."""
        if self.least is not None and self.ratio is not None:
            return self.ratio >= self.least and (self.bar is None or self.timing.median < self.bar)
        return None if self.bar is None else self.timing.median < self.bar


def measure(work: Callable[[], Any], setting: Setting) -> Timing:
    """Time `work` as often as the setting says."""
    return Timing(tuple(_timed(work)[0] for _ in range(setting.repeats)))


def compare(
    work: Callable[[], Any], peer: Callable[[], Any], setting: Setting, *, same: Callable[[Any, Any], bool]
) -> tuple[Timing, Timing]:
    """Time `work` and `peer` in turns, so that a machine that slows down slows both.

    Raises `Disagreement` unless `same(answer, peer's answer)`.
    """
    ours, theirs = [], []
    for _ in range(setting.repeats):
        seconds, answer = _timed(work)
        peer_seconds, peer_answer = _timed(peer)
        if not same(answer, peer_answer):
            raise Disagreement(f"the peer says {peer_answer!r:.300}, sgverify says {answer!r:.300}")
        ours.append(seconds)
        theirs.append(peer_seconds)
    return Timing(tuple(ours)), Timing(tuple(theirs))


def close(left: float, right: float, tolerance: float) -> bool:
    """|left - right| <= tolerance * |left|."""
    return abs(left - right) <= tolerance * abs(left)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    started = time.perf_counter()
    answer = work()
    return time.perf_counter() - started, answer
