"""A black box that is run as it is, its draws its own: what it draws, and what that depends on."""

from __future__ import annotations

import contextlib
import inspect
import io
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
from torch.utils._python_dispatch import TorchDispatchMode

from sgverify.samplers.intercepted.interception import is_recorded
from sgverify.samplers.intercepted.kept_state import changed, kept_shapes, surroundings

SEEDS = (20_101, 48_271)
"""Two seeds of torch's generator; any will do."""

SHOWN = 3
"""Places that a sentence names."""

CONTINUOUS = ("randn", "randn_like", "normal", "normal_", "rand", "rand_like", "uniform_", "exponential_")
"""Draws whose coincidence, in float32 of a single number, has a probability of 2^-23 at most."""

State = tuple[Tensor, ...]

SEED = 65_537
"""Where the draws of the two calls start; any number will do."""

PATIENCE, SLOWER = 2.0, 10.0
"""The copy is waited for this many seconds, and this many times as long as the call took here."""

ALIKE = 1e-9
"""The first call may choose another order of sums than later ones."""


class DrawLog(TorchDispatchMode):
    """While it is entered, keeps what torch draws: all `draws` count, `values` are those of continuous laws."""

    def __init__(self) -> None:
        super().__init__()
        self.draws, self.numbers, self.shared = 0, 0, 0
        self.values: list[Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if torch.Tag.nondeterministic_seeded in func.tags and isinstance(result, Tensor):
            self.draws += 1
            self.numbers += result.numel()
            self.shared += not any(isinstance(v, torch.Generator) for v in (*args, *kwargs.values()))
            if func._schema.name.partition("::")[2] in CONTINUOUS and result.numel():
                self.values.append(result.detach().clone().reshape(-1))
        return result


@dataclass(frozen=True)
class RealCall:
    """One call: how often and how many numbers it drew, those of continuous laws, and torch's generator thereafter.

    `shared`: how many draws were from torch's global generator.
    """

    draws: int
    numbers: int
    shared: int
    values: tuple[Tensor, ...]
    generator: Tensor

    def same_noise(self, other: RealCall) -> bool:
        """Whether both drew the same numbers, and some of a continuous law among them."""
        pairs = zip(self.values, other.values, strict=False)
        alike = len(self.values) == len(other.values) and all(torch.equal(a, b) for a, b in pairs)
        return bool(self.values) and alike


class Steady(TorchDispatchMode):
    """While it is entered, the k-th draw of torch comes from a generator of its own, the same whenever it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if not is_recorded(func):
            return func(*args, **kwargs)
        self._number += 1
        if kwargs.get("generator") is not None:
            kwargs["generator"] = torch.Generator().manual_seed(SEED + self._number)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED + self._number)
            return func(*args, **kwargs)


def real_call(call: Callable[[], Any]) -> RealCall:
    """Run it as it is, from torch's generator as that is found."""
    with DrawLog() as log:
        call()
    return RealCall(log.draws, log.numbers, log.shared, tuple(log.values), torch.get_rng_state())


def stale_noise(call: Callable[[], Any]) -> str:
    """Why all steps have the same noise, as a sentence; empty where they have not, or where nothing is drawn.

    Two calls in succession, and a third from another seed. The caller's generator is left as it was.
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
    """The first call that a function ever had here: what repeats it, how many numbers it drew, and the shapes kept before it.

    `left`: what it leaves behind for later calls, as a sentence.
    """

    again: Callable[[Any], Any]
    numbers: int
    shapes: Mapping[str, tuple[int, ...]]
    left: str = ""


_DEBUTS: WeakKeyDictionary[Any, dict[CodeType | None, Debut]] = WeakKeyDictionary()


def keep_debut(function: Any, again: Callable[[Any], Any], other: Callable[[Any], Any]) -> None:
    """Make the first call of `function`, by `again(function)`, unless it has been made: nothing is warm yet.

    Kept is the number of its draws, and whether `other(function)`, from elsewhere, would have left it another result; a call that
    fails is left to the run proper.
    """
    try:
        known = _DEBUTS.setdefault(function, {})
    except TypeError:
        # Neither hashed nor referred to weakly.
        return
    code = _code(function)
    if code in known:
        return
    shapes = kept_shapes(function)
    told: list[str] = []

    def both() -> None:
        told.append(first_call(lambda: again(function), lambda: other(function))[1])

    before = surroundings(function)
    numbers = _numbers(both)
    if numbers is None:
        return
    places = changed(before, surroundings(function))
    left = "".join(told)
    if left and places:
        left += f"; what it leaves is in {', '.join(places[:SHOWN])}"
    known[code] = Debut(again, numbers, shapes, left)


def left_behind(function: Any) -> str:
    """What the first call of the function here left behind for later ones, as a sentence; empty for nothing."""
    debut = _debut(function)
    return "" if debut is None else debut.left


def shapes_before(function: Any) -> Mapping[str, tuple[int, ...]] | None:
    """The tensors that the function could reach before its first call here, by place; None where that is not known."""
    debut = _debut(function)
    return None if debut is None else debut.shapes


def kept_noise(function: Any) -> str:
    """Why noise is kept from call to call, as a sentence; empty where the first call draws what later ones do.

    All calls are alike, their draws too: a step that draws until it is content draws as often again.
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


def first_call(call: Callable[[], State], other: Callable[[], Any]) -> tuple[State, str]:
    """Make the first call, and say what it gives otherwise after another call; "" where that is the same or is not known.

    A copy of this process makes the other call before it. There is one where processes can be copied safely: on Linux, without
    a device in use.
    """
    if not sys.platform.startswith("linux") or torch.cuda.is_initialized():
        return steady(call), ""
    here, there = os.pipe()
    with warnings.catch_warnings():
        # That threads are not copied: none is needed.
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
    return result, _compared(result, after)


def steady(call: Callable[[], Any]) -> Any:
    """What it gives with draws that are the same at every call."""
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
    """New tensors, so that nothing which a step does to its arguments reaches the next."""
    return tuple(value.clone() for value in state)


def _answer(call: Callable[[], State], other: Callable[[], Any], there: int) -> None:
    """In the copy: the other call, then the first; its result goes into the pipe, and nothing else leaves this process."""
    try:
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        torch.set_num_threads(1)
        with contextlib.suppress(Exception):
            steady(other)
        written = io.BytesIO()
        torch.save([value.detach().clone() for value in steady(call)], written)
        with os.fdopen(there, "wb") as pipe:
            pipe.write(written.getvalue())
    finally:
        os._exit(0)


def _read(here: int, seconds: float) -> list[Tensor] | None:
    found, until = b"", time.monotonic() + seconds
    while select.select([here], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(here, 1 << 16)
        if not part:
            return list(torch.load(io.BytesIO(found), weights_only=True)) if found else None
        found += part
    return None


def _compared(result: State, after: list[Tensor] | None) -> str:
    if after is None:
        return ""
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
    "copies",
    "first_call",
    "keep_debut",
    "kept_noise",
    "left_behind",
    "shapes_before",
    "stale_noise",
    "steady",
]
