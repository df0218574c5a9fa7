"""How is a run ended by Ctrl-C and by the system's signals, so that it can go on later?"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, the request of a system or a batch queue to end, and the end of the terminal."""


class Stop:
    """Has a signal asked the run to stop? Its number, None before."""

    signal: int | None = None

    def __call__(self) -> bool:
        """Has one asked?"""
        return self.signal is not None


@contextmanager
def stoppable(*signals: int) -> Iterator[Stop]:
    """A context in which the first of these signals only asks to stop; Ctrl-C again raises `KeyboardInterrupt` at once.

    Signals that are ignored (as by `nohup`) stay so. Threads other than the main one have no signals.
    """
    stop = Stop()
    before: dict[int, Any] = {}

    def ask(number: int, frame: Any) -> None:
        if stop() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.signal = number

    if threading.current_thread() is threading.main_thread():
        for number in signals:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, ask)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


__all__ = ["SIGNALS", "Stop", "stoppable"]
