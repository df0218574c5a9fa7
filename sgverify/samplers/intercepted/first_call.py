"""What the first call of a function leaves behind for all later ones: it is made twice, in this process and in a copy of it."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from sgverify.samplers.intercepted.replay import is_random

State = tuple[Tensor, ...]

SEED = 65_537
"""Where the draws of the two calls start; any number will do."""

PATIENCE, SLOWER = 2.0, 10.0
"""The copy is waited for this many seconds, and this many times as long as the call took here."""

ALIKE = 1e-9
"""The first call may choose another order of sums than later ones."""


class Steady(TorchDispatchMode):
    """While it is entered, the k-th draw of torch comes from a generator of its own, the same whenever it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if not is_random(func):
            return func(*args, **kwargs)
        self._number += 1
        if kwargs.get("generator") is not None:
            kwargs["generator"] = torch.Generator().manual_seed(SEED + self._number)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED + self._number)
            return func(*args, **kwargs)


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


__all__ = ["first_call", "steady"]
