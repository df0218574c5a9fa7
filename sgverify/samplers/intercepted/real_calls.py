"""Which random numbers does a black box draw when it runs unchanged, and on what do they depend?"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from sgverify.samplers.intercepted.interception import OperationMode, check_count, is_recorded
from sgverify.samplers.intercepted.kept_state import changed, kept_shapes, surroundings

SEEDS = (20_101, 48_271)
"""Two arbitrary seeds of torch's generator."""

SHOWN = 3
"""The most places that a sentence names."""

CONTINUOUS = ("randn", "randn_like", "normal", "normal_", "rand", "rand_like", "uniform_", "exponential_")
"""The operations with continuous laws: two single float32 numbers coincide with probability at most 2^-23."""

State = tuple[Tensor, ...]

SEED = 65_537
"""The arbitrary seed of the draws of both calls."""

PATIENCE, SLOWER = 2.0, 10.0
"""The time limit of the copied process: this many seconds, plus this many times the duration of the call here."""

ALIKE = 1e-9
"""The relative tolerance between results: the first call may sum in another order than later calls."""


class DrawLog(OperationMode):
    """A context that records torch's draws: `draws` counts all, `values` holds those of continuous laws."""

    def __init__(self) -> None:
        super().__init__()
        self.draws, self.numbers, self.shared = 0, 0, 0
        self.values: list[Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if torch.Tag.nondeterministic_seeded in func.tags and isinstance(result, Tensor):
            self.draws += 1
            check_count(self.draws)
            self.numbers += result.numel()
            self.shared += not any(isinstance(v, torch.Generator) for v in (*args, *kwargs.values()))
            if func._schema.name.partition("::")[2] in CONTINUOUS and result.numel():
                self.values.append(result.detach().clone().reshape(-1))
        return result


@dataclass(frozen=True)
class RealCall:
    """The record of one call: its draws, their numbers, those of continuous laws, and torch's generator afterwards.

    `draws` is the number of random operations, `numbers` that of random numbers, and `shared` the number of operations on
    torch's global generator.
    """

    draws: int
    numbers: int
    shared: int
    values: tuple[Tensor, ...]
    generator: Tensor

    def same_noise(self, other: RealCall) -> bool:
        """Did both calls draw equal numbers, with at least one from a continuous law?"""
        pairs = zip(self.values, other.values, strict=False)
        alike = len(self.values) == len(other.values) and all(torch.equal(a, b) for a, b in pairs)
        return bool(self.values) and alike


class Steady(OperationMode):
    """A context in which torch's k-th draw comes from a generator with a seed that depends on k alone."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if not is_recorded(func):
            return func(*args, **kwargs)
        self._number += 1
        check_count(self._number)
        if kwargs.get("generator") is not None:
            kwargs["generator"] = torch.Generator().manual_seed(SEED + self._number)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED + self._number)
            return func(*args, **kwargs)


def real_call(call: Callable[[], Any]) -> RealCall:
    """Run `call` unchanged and record its draws, which come from torch's global generator in its present state."""
    with DrawLog() as log:
        call()
    return RealCall(log.draws, log.numbers, log.shared, tuple(log.values), torch.get_rng_state())


def stale_noise(call: Callable[[], Any]) -> str:
    """A sentence if all steps have equal noise; "" if the noise differs, or if nothing is drawn.

    The test makes two calls in succession, and a third from another seed. The caller's generator is restored.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEEDS[0])
        before = torch.get_rng_state()
        first, second = real_call(call), real_call(call)
        torch.manual_seed(SEEDS[1])
        third = real_call(call)
    if first.same_noise(second):
        why = "two calls in succession draw the same numbers"
        if first.shared and torch.equal(first.generator, third.generator):
            why += ", for it seeds torch's generator anew"
        elif first.shared and torch.equal(first.generator, before):
            why += ", for it puts torch's generator back to where it was"
        return f"every step has the same noise: {why}"
    if first.same_noise(third):
        return "its noise does not depend on torch's generator: from two seeds it draws the same numbers"
    if first.shared and torch.equal(first.generator, third.generator):
        return "every step seeds torch's generator anew: from two seeds it leaves the generator in the same state"
    return ""


@dataclass(frozen=True)
class Debut:
    """The record of a function's first call in this process.

    `again` repeats the call, `numbers` is the number of random numbers it drew, and `shapes` are those of the tensors that the
    function kept before it. `left` is a sentence about an effect of the first call on later calls, "" if there is none, and
    `unasked` the reason why no such effect was looked for, "" if it was.
    """

    again: Callable[[Any], Any]
    numbers: int
    shapes: Mapping[str, tuple[int, ...]]
    left: str = ""
    unasked: str = ""


_DEBUTS: WeakKeyDictionary[Any, dict[CodeType | None, Debut]] = WeakKeyDictionary()


def keep_debut(function: Any, again: Callable[[Any], Any], other: Callable[[Any], Any]) -> None:
    """Make and record the first call of `function`, by `again(function)`: no cache is filled before it.

    Recorded are the number of draws, and whether a call `other(function)` before it would have changed its result. A call that
    raises is not recorded; the run proper will report the error.
    """
    try:
        known = _DEBUTS.setdefault(function, {})
    except TypeError:
        # The function cannot be hashed or weakly referenced.
        return
    shapes = kept_shapes(function)
    told: list[FirstCall] = []

    def both() -> None:
        told.append(first_call(lambda: again(function), lambda: other(function)))

    before = surroundings(function)
    numbers = _numbers(both)
    if numbers is None:
        return
    places = changed(before, surroundings(function))
    left = told[0].left
    if left and places:
        left += f"; what it leaves is in {', '.join(places[:SHOWN])}"
    known[_code(function)] = Debut(again, numbers, shapes, left, told[0].unasked)


def debut_made(function: Any) -> bool:
    """Was the first call of the function made?"""
    return _debut(function) is not None


def left_behind(function: Any) -> str:
    """A sentence about an effect of the function's first call on later calls; "" if there is none."""
    debut = _debut(function)
    return "" if debut is None else debut.left


def debut_unasked(function: Any) -> str:
    """The reason why it is not known whether the function's first call has an effect on later calls; "" if it is known."""
    debut = _debut(function)
    return "" if debut is None else debut.unasked


def shapes_before(function: Any) -> Mapping[str, tuple[int, ...]] | None:
    """The shapes of the tensors that the function could reach before its first call, by place; None if unknown."""
    debut = _debut(function)
    return None if debut is None else debut.shapes


def kept_noise(function: Any) -> str:
    """A sentence if noise is kept between calls; "" if the first call draws as many numbers as later calls.

    All calls have equal inputs and equal draws, so that a step with rejection draws equally often in each.
    """
    debut = _debut(function)
    if debut is None:
        return ""
    later = [_numbers(lambda: steady(lambda: debut.again(function))) for _ in range(2)]
    if all(count in (None, debut.numbers) for count in later):
        return ""
    counts = ", ".join("none" if count is None else str(count) for count in later)
    return (
        f"it keeps noise from call to call: its first call drew {debut.numbers} random numbers, later ones from the same "
        f"state and the same generator {counts}"
    )


@dataclass(frozen=True)
class FirstCall:
    """The result of a first call, a sentence `left` if another call before it changes this result, and why it is not known."""

    result: State
    left: str = ""
    unasked: str = ""


def first_call(call: Callable[[], State], other: Callable[[], Any]) -> FirstCall:
    """Make the first call, and see whether another call before it changes its result.

    A forked copy of this process makes the other call first. Processes are forked only if this is safe: on Linux, without a
    device in use and without the threads of JAX.
    """
    unsafe = _why_not_forked()
    if unsafe:
        return FirstCall(steady(call), unasked=unsafe)
    here, there = os.pipe()
    with warnings.catch_warnings():
        # The warning that threads are not copied by a fork; the copy needs none.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if not process:
        _answer(call, other, there)
    os.close(there)
    started = time.monotonic()
    try:
        result = steady(call)
        after = _read(here, PATIENCE + SLOWER * (time.monotonic() - started))
    finally:
        os.close(here)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    if after is None:
        return FirstCall(
            result, unasked="a copy of this process, in which another call came first, gave no answer"
        )
    return FirstCall(result, _compared(result, after))


def _why_not_forked() -> str:
    """The reason why this process is not copied; "" where that is safe."""
    if not sys.platform.startswith("linux"):
        return "processes are copied on Linux alone"
    if torch.cuda.is_initialized():
        return "a process that uses a device is not copied"
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is not None and bool(bridge.backends_are_initialized()):
        return "a process in which JAX runs is not copied"
    return ""


def steady(call: Callable[[], Any]) -> Any:
    """The result of `call` with draws that are equal at every call (`Steady`)."""
    with Steady():
        return call()


def _debut(function: Any) -> Debut | None:
    try:
        return _DEBUTS.get(function, {}).get(_code(function))
    except TypeError:
        return None


def _numbers(call: Callable[[], Any]) -> int | None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEEDS[0])
        try:
            return real_call(call).numbers
        except (Exception, SystemExit):
            return None


def _code(function: Any) -> CodeType | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code if isinstance(code, CodeType) else None


def copies(state: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Copies of the tensors, so that a step that writes to its arguments does not affect the next step."""
    return tuple(value.clone() for value in state)


def _answer(call: Callable[[], State], other: Callable[[], Any], there: int) -> None:
    """In the forked process: make the other call, then the first one, write its result to the pipe, and exit."""
    try:
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        torch.set_num_threads(1)
        with contextlib.suppress(Exception):
            steady(other)
        written = _written([value.detach() for value in steady(call)])
        with os.fdopen(there, "wb") as pipe:
            pipe.write(written)
    finally:
        os._exit(0)


def _read(here: int, seconds: float) -> list[Tensor] | None:
    found, until = b"", time.monotonic() + seconds
    while select.select([here], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(here, 1 << 16)
        if not part:
            return _tensors(found) if found else None
        found += part
    return None


def _written(tensors: Sequence[Tensor]) -> bytes:
    """Tensors as bytes: a line of JSON with their types and shapes, then their content."""
    whole = [value.cpu().contiguous() for value in tensors]
    head = json.dumps([[str(value.dtype).removeprefix("torch."), list(value.shape)] for value in whole])
    content = [bytes(value.flatten().view(torch.uint8).numpy()) if value.numel() else b"" for value in whole]
    return b"".join([head.encode(), b"\n", *content])


def _tensors(found: bytes) -> list[Tensor]:
    """The inverse of `_written`."""
    head, _, content = found.partition(b"\n")
    tensors, place = [], 0
    for name, shape in json.loads(head):
        empty = torch.empty(shape, dtype=getattr(torch, name))
        size = empty.numel() * empty.element_size()
        if size:
            part = bytearray(content[place : place + size])
            empty = torch.frombuffer(part, dtype=empty.dtype).reshape(shape).clone()
        tensors.append(empty)
        place += size
    return tensors


def _compared(result: State, after: list[Tensor]) -> str:
    for one, other in zip(result, after, strict=False):
        if one.shape != other.shape or one.dtype != other.dtype:
            return "what it gives depends on the call that came first: the same arguments give a tensor of another shape or dtype"
        apart = (one.detach() - other).abs()
        if (apart > ALIKE * (1 + one.detach().abs())).any():
            return (
                "what it gives depends on the call that came first, which leaves something behind for all later ones: the same "
                f"state, draws and minibatch give another state, apart by {float(apart.max()):.3g}, after a call from elsewhere"
            )
    return ""


__all__ = [
    "FirstCall",
    "copies",
    "debut_made",
    "debut_unasked",
    "first_call",
    "keep_debut",
    "kept_noise",
    "left_behind",
    "shapes_before",
    "stale_noise",
    "steady",
]
