"""The clock that a step reads: whether what it returns depends on the time of day, or on how long things take."""

from __future__ import annotations

import datetime
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.intercepted.surroundings import of_a_library

_COUNTING = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
CLOCKS = tuple(getattr(time, f"{name}{unit}") for name in _COUNTING for unit in ("", "_ns"))
CALENDARS = (time.localtime, time.gmtime)

JUMPS = (0.0, 0.370000001, 1.0, 7.3, 61.0, 3_607.0, 43_201.0, 86_400.0, 604_800.0, 1.7e7, 3.2e8)
"""Seconds that the clock is put forward by: parts of a second, of a minute, of a day, of a year, and ten years."""

TICKS = (0.0, 1e-6, 1.0, 1e4)
"""Seconds that pass between two readings."""

State = tuple[Tensor, ...]


def clock_fault(take: Callable[[], State]) -> tuple[str, str]:
    """What the clock does to a step, as a sentence, and why that is not known; both are empty for nothing.

    `take` runs the step, always with the same state, draws and minibatch.
    """
    read, spaces = _readings(take)
    if not read:
        return "", ""
    told, now = ", ".join(sorted(read)), {clock: clock() for clock in CLOCKS}
    with _put(spaces, now, 0.0, 0.0):
        first = take()
        if _readings(take)[0]:
            return (
                "",
                f"it reads the clock ({told}), and that one cannot be put forward: what it does with it is not known",
            )
    for jump, tick in itertools.product(JUMPS, TICKS):
        with _put(spaces, now, jump, tick):
            again = take()
        for one, other in zip(first, again, strict=True):
            if not torch.equal(one.nan_to_num(), other.nan_to_num()):
                apart = float((one - other).abs().max())
                return (
                    f"its result depends on the clock, which it reads by {told}: {jump:g} s later, with {tick:g} s from reading "
                    f"to reading, the same state, draws and minibatch give another one, apart by {apart:.3g}",
                    "",
                )
    return "", ""


def _readings(take: Callable[[], Any]) -> tuple[set[str], list[dict[str, Any]]]:
    """The clocks that a call reads, by name, and the namespaces of the code that it runs."""
    read: set[str] = set()
    spaces: dict[int, dict[str, Any]] = {}

    def seen(frame: Any, event: str, what: Any) -> None:
        if event == "call":
            spaces[id(frame.f_globals)] = frame.f_globals
        elif event == "c_call" and isinstance(what, BuiltinFunctionType) and not _elsewhere(frame):
            owner = what.__self__
            if what in (*CLOCKS, *CALENDARS):
                read.add(f"time.{what.__name__}")
            elif (
                isinstance(owner, type)
                and issubclass(owner, datetime.date)
                and what.__name__ in ("now", "utcnow", "today")
            ):
                read.add(f"datetime.{owner.__name__}.{what.__name__}")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        take()
    finally:
        sys.setprofile(before)
    return read, list(spaces.values())


def _elsewhere(frame: Any) -> bool:
    return of_a_library(str(frame.f_globals.get("__name__", "")))


@contextmanager
def _put(
    spaces: Sequence[dict[str, Any]], now: Mapping[Any, Any], jump: float, tick: float
) -> Iterator[None]:
    """While it is entered, every clock stands `jump` seconds after `now`, and moves by `tick` at each reading."""
    readings, today = itertools.count(), now[time.time]

    def later() -> float:
        return jump + tick * next(readings)

    def put(clock: Any) -> Callable[..., Any]:
        if clock.__name__.endswith("_ns"):
            return lambda: now[clock] + round(1e9 * later())
        return lambda: now[clock] + later()

    def shown(calendar: Any) -> Callable[..., Any]:
        return lambda seconds=None: calendar(today + later() if seconds is None else seconds)

    class Moment(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return cls.fromtimestamp(today + later(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.now(datetime.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    class Day(datetime.date):
        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(today + later())

    replaced: dict[int, Any] = {
        **{id(clock): put(clock) for clock in CLOCKS},
        **{id(calendar): shown(calendar) for calendar in CALENDARS},
        id(datetime.datetime): Moment,
        id(datetime.date): Day,
    }
    held = [
        (space, name, value)
        for space in {id(space): space for space in (vars(time), vars(datetime), *spaces)}.values()
        if space is not globals()
        for name, value in list(space.items())
        if id(value) in replaced
    ]
    for space, name, value in held:
        space[name] = replaced[id(value)]
    try:
        yield
    finally:
        for space, name, value in held:
            space[name] = value


__all__ = ["clock_fault"]
