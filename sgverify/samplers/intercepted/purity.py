"""Is a step a function of its state, its draws and its minibatches alone, independent of earlier calls and of the clock?"""

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
from dataclasses import dataclass
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.intercepted.kept_state import changed, of_a_library, surroundings

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
    """The lines of the code at which it asks for what torch's draws do not decide, each with what is used in its stead."""
    run: dict[int, tuple[Any, dict[str, Any]]] = {}

    def seen(frame: Any, event: str, what: Any) -> None:
        if event == "call" and not _elsewhere(frame):
            run.setdefault(
                id(frame.f_code), (frame.f_code, {**vars(builtins), **frame.f_globals, **frame.f_locals})
            )

    _profiled(take, seen)
    found: dict[str, None] = {}
    for code, names in run.values():
        value, line = None, code.co_firstlineno
        for step in dis.get_instructions(code):
            line = step.positions.lineno if step.positions and step.positions.lineno else line
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                value = _attribute(value, step.argval)
            elif step.opname.startswith("LOAD_") and isinstance(step.argval, str):
                value = names.get(step.argval)
            else:
                continue
            way = _way_on(value)
            if way:
                found[f"{Path(code.co_filename).name}:{line} {way}"] = None
    return list(found)


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
    name = str(frame.f_globals.get("__name__", ""))
    return of_a_library(name) or name.partition(".")[0] in sys.stdlib_module_names


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


Take = Callable[[State, Tensor, float], Sequence[Tensor]]
"""One step from a state with these draws and this step size."""


@dataclass(frozen=True)
class StepInput:
    """A state, the draws of a step from it, and its step size."""

    state: State
    draws: Tensor
    h: float


@dataclass(frozen=True)
class Purity:
    """The result of a test of purity: one sentence for each fault, and the numbers of calls and of places.

    `aliased` are the variables whose argument tensor itself was returned. `unrepeated` are sentences about what is no function of
    the inputs, which a run of its own may show to be right: draws of other generators, and what is kept between calls.
    """

    faults: tuple[str, ...]
    calls: int
    places: int
    aliased: tuple[str, ...] = ()
    unrepeated: tuple[str, ...] = ()


def judge_purity(
    take: Take, names: Sequence[str], questions: Sequence[StepInput], functions: Sequence[Any]
) -> Purity:
    """Call the step with the same inputs in several orders: a pure step returns equal bits, and changes nothing else.

    `take` runs the step on one of the inputs `questions`; `names` are those of the state variables; `functions` are the
    functions whose surroundings are compared. The first calls, which may fill a cache, are not compared.
    """
    asked = _Asked(take, names)
    for question in questions:
        asked.ask(question)
    # Values that the first calls stored may be constants; from here on they must not change.
    before = [surroundings(function) for function in functions]
    outside = _changing(lambda: asked.ask(questions[0]), functions)
    first = [asked.ask(question) for question in questions]
    for number in _orders(len(questions)):
        asked.compare(first[number], asked.ask(questions[number]), outside)
    faults = asked.faults
    after = [surroundings(function) for function in functions]
    moved = [place for a, b in zip(before, after, strict=True) for place in changed(a, b)]
    for place in dict.fromkeys(moved):
        if place in outside and "answer" in faults:
            # Reported already, together with its effect on the result.
            continue
        if "random generator" in place:
            faults.setdefault(place, f"{place} moves at a step: it draws from there, not from torch")
        else:
            faults.setdefault(place, f"{place} changes from call to call: state outside the state")
    watched = {place for found in before for place in found}
    written = tuple(text for what, text in faults.items() if what.startswith("argument "))
    others = tuple(text for what, text in faults.items() if not what.startswith("argument "))
    return Purity(written, asked.calls, len(watched), tuple(dict.fromkeys(asked.aliased)), others)


def _changing(call: Callable[[], Any], functions: Sequence[Any]) -> list[str]:
    """The places in the surroundings of the functions that one call changes."""
    before = [surroundings(function) for function in functions]
    call()
    after = [surroundings(function) for function in functions]
    return [place for a, b in zip(before, after, strict=True) for place in changed(a, b)]


def _orders(count: int) -> list[int]:
    """The indices backwards, then each index twice, so that every kind of neighbouring calls occurs."""
    return [*reversed(range(count)), *(k for k in range(count) for _ in range(2))]


class _Asked:
    def __init__(self, take: Take, names: Sequence[str]) -> None:
        self._take, self._names = take, tuple(names)
        self.faults: dict[str, str] = {}
        self.aliased: list[str] = []
        self.calls = 0

    def ask(self, question: StepInput) -> list[Tensor]:
        """A copy of the step's result; a write to an argument is recorded as a fault."""
        self.calls += 1
        state = tuple(value.clone() for value in question.state)
        result = list(self._take(state, question.draws.clone(), question.h))
        for name, given, kept in zip(self._names, state, question.state, strict=True):
            if not torch.equal(given, kept):
                self.faults.setdefault(
                    f"argument {name}",
                    f"it writes to its argument {name}: the caller's state is no longer what it was",
                )
        for name, value in zip(self._names, result, strict=True):
            if any(_shared(value, given) for given in state):
                self.aliased.append(name)
        return [value.detach().clone() for value in result]

    def compare(self, first: list[Tensor], again: list[Tensor], outside: Sequence[str]) -> None:
        """Record a fault if two calls with equal inputs returned different results."""
        for name, one, other in zip(self._names, first, again, strict=True):
            if one.dtype == other.dtype and torch.allclose(one, other, rtol=0.0, atol=0.0, equal_nan=True):
                continue
            apart = float((one - other).abs().max())
            kept = (
                f"; what changes is {', '.join(outside)}" if outside else "; nothing that can be seen changes"
            )
            self.faults.setdefault(
                "answer",
                f"the same state, draws and minibatch gave another {name}, apart by {apart:.3g}, when they came again{kept}",
            )
            return


def _shared(value: Tensor, given: Tensor) -> bool:
    return value.numel() > 0 and value.untyped_storage().data_ptr() == given.untyped_storage().data_ptr()


__all__ = ["Purity", "StepInput", "Take", "clock_fault", "judge_purity", "other_sources"]
