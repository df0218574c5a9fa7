"""Which numbers does code take from elsewhere than its arguments and torch's draws: clocks, generators, iterators, files?"""

from __future__ import annotations

import builtins
import datetime
import dis
import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

_LIBRARIES = ("torch", "numpy", "jax", "jaxlib", "sgverify")

_COUNTING = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
CLOCKS = tuple(getattr(time, f"{name}{unit}") for name in _COUNTING for unit in ("", "_ns"))
CALENDARS = (time.localtime, time.gmtime)

JUMPS = (
    *(0.0, 0.370000001, 1.0, 7.3, 30.7, 61.0),
    *(1_801.9, 3_607.0, 43_201.0, 86_400.0, 604_800.0, 1.7e7, 3.2e8),
)
"""The seconds by which the clock is advanced: fractions of a second, a minute, an hour, a day and a year, and ten years."""

GENERATORS = (np.random.RandomState, np.random.Generator, random.Random)
"""The generators of numbers besides torch's."""

TICKS = (0.0, 1e-6, 1.0, 1e4)
"""The seconds between two readings of the clock."""

State = tuple[Tensor, ...]


def clock_fault(take: Callable[[], State]) -> tuple[str, str]:
    """Two sentences: the dependence of a step on the clock, and the reason why it is unknown; each "" if there is none.

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


def other_sources(take: Callable[[], Any]) -> list[str]:
    """The lines of the code at which it uses what its state and torch's draws do not decide, each with what is used in its stead.

    Lines that write to what outlives a call come last.
    """
    run: dict[int, tuple[Any, dict[str, Any]]] = {}

    def seen(frame: Any, event: str, what: Any) -> None:
        if event == "call" and not _elsewhere(frame):
            run.setdefault(
                id(frame.f_code), (frame.f_code, {**vars(builtins), **frame.f_globals, **frame.f_locals})
            )

    _profiled(take, seen)
    found: dict[str, None] = {}
    kept: dict[str, None] = {}
    for code, names in run.values():
        value, line, outer = None, code.co_firstlineno, ""
        for step in dis.get_instructions(code):
            if step.positions and step.positions.lineno and step.positions.lineno != line:
                line, outer = step.positions.lineno, ""
            place = f"{Path(code.co_filename).name}:{line}"
            if step.opname in _OUTER and not _is_code(names.get(step.argval)):
                outer = outer or step.argval
            if step.opname in _WRITES and (outer or step.opname in _OUTER):
                kept[f"{place} writes to {outer or step.argval}, which outlives the call"] = None
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                value = _attribute(value, step.argval)
            elif step.opname.startswith("LOAD_") and isinstance(step.argval, str):
                value = names.get(step.argval)
            else:
                continue
            way = _way_on(value)
            if way:
                found[f"{place} {way}"] = None
    return [*found, *kept]


_OUTER = ("LOAD_GLOBAL", "LOAD_DEREF", "STORE_GLOBAL", "STORE_DEREF")
_WRITES = ("STORE_SUBSCR", "STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF")


def _is_code(value: Any) -> bool:
    return callable(value) or isinstance(value, ModuleType)


def _way_on(value: Any) -> str:
    owner = value if isinstance(value, GENERATORS) else getattr(value, "__self__", None)
    if isinstance(owner, GENERATORS) and owner is not value:
        source = "Python" if isinstance(owner, random.Random) else "numpy"
        return f"draws by {source}'s {value.__name__} (draw by torch.randn_like or torch.randint)"
    if value is next:
        return "goes on with an iterator (make it anew in the step, or draw by torch.randint)"
    return "opens a file (read it before the step)" if value is open else ""


def _attribute(value: Any, name: str) -> Any:
    """An attribute that is held by a module, an object or a generator, without running code of its own."""
    held = getattr(value, "__dict__", {})
    return (
        held[name] if name in held else getattr(value, name, None) if isinstance(value, GENERATORS) else None
    )


def _profiled(take: Callable[[], Any], seen: Callable[[Any, str, Any], None]) -> None:
    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        take()
    finally:
        sys.setprofile(before)


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

    _profiled(take, seen)
    return read, list(spaces.values())


def _elsewhere(frame: Any) -> bool:
    name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return name in _LIBRARIES or name in sys.stdlib_module_names


@contextmanager
def _put(
    spaces: Sequence[dict[str, Any]], now: Mapping[Any, Any], jump: float, tick: float
) -> Iterator[None]:
    """A context in which every clock shows `now` + `jump` seconds, and advances by `tick` at each reading."""
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
