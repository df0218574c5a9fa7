"""Work that Ctrl-C and the system's signals end in order, so that it can go on later."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, the request of a system or a batch queue to end, and the end of the terminal."""


class Stopped(KeyboardInterrupt):
    """This process was asked to end, by which signal; its exit code is that of a program which the signal ended."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.code = 128 + number
        self.said = "interrupted" if number == signal.SIGINT else f"stopped by {signal.Signals(number).name}"


_STOPPED: list[Stopped] = []
"""What asked this process to end, if anything did: it may be met as another exception, by code that was being loaded."""


def stopped() -> Stopped | None:
    """What asked this process to end, within `raising`; None where nothing did."""
    return _STOPPED[-1] if _STOPPED else None


@contextmanager
def raising(*, even_ignored: bool = False) -> Iterator[None]:
    """A context in which `SIGNALS` raise `Stopped`, so that what was begun is put in order; a second one ends the process."""

    def stop(number: int, frame: Any) -> None:
        signal.signal(number, signal.SIG_DFL)
        _STOPPED.append(Stopped(number))
        raise _STOPPED[-1]

    try:
        with handling(stop, *SIGNALS, even_ignored=even_ignored):
            yield
    finally:
        _STOPPED.clear()


class Stop:
    """Has a signal asked the run to stop? Its number, None before."""

    signal: int | None = None

    def __call__(self) -> bool:
        """Has one asked?"""
        return self.signal is not None


@contextmanager
def stoppable(*signals: int) -> Iterator[Stop]:
    """A context in which the first of these signals only asks to stop; Ctrl-C again raises `KeyboardInterrupt` at once."""
    stop = Stop()

    def ask(number: int, frame: Any) -> None:
        if stop() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.signal = number

    with handling(ask, *signals):
        yield stop


@contextmanager
def handling(
    handler: Callable[[int, Any], object], *signals: int, even_ignored: bool = False
) -> Iterator[None]:
    """A context in which these signals are handled so. Those that are ignored (as by `nohup`) stay so, unless `even_ignored`.

    Threads other than the main one have no signals.
    """
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in signals:
            if even_ignored or signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
