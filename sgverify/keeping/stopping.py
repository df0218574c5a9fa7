"""Work that Ctrl-C, the system's signals or the end of its time end in order, so that it can go on later."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

INCONCLUSIVE = 3
"""The exit code of an answer that is not whole."""

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, the request of a system or a batch queue to end, and the end of the terminal."""


class Stopped(KeyboardInterrupt):
    """This process was asked to end, by which signal, with the exit code of a program which that ended, or its time has passed."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.code = 128 + number
        self.said = "interrupted" if number == signal.SIGINT else f"stopped by {signal.Signals(number).name}"
        if (ended := deadline()) is not None and ended.passed and number == signal.SIGINT:
            self.code, self.said = INCONCLUSIVE, f"{ended.doing or 'the command'}: {ended}"


_STOPPED: list[Stopped] = []
"""What asked this process to end, if anything did: it may be met as another exception, by code that was being loaded."""


def stopped() -> Stopped | None:
    """What asked this process to end, within `raising`; None where nothing did."""
    return _STOPPED[-1] if _STOPPED else None


@contextmanager
def raising(*, even_ignored: bool = False) -> Iterator[None]:
    """A context in which `SIGNALS` raise `Stopped`, so that what was begun is put in order; a second one ends the process."""

    def stop(number: int, frame: Any) -> None:
        if (ended := deadline()) is not None and ended.passed and not ended.told:
            ended.told = True
            raise Stopped
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


@dataclass
class Deadline:
    """The time that a command has, in seconds, whether it has passed and was told of, and the text of what runs."""

    seconds: float
    passed: bool = False
    doing: str = ""
    told: bool = False
    over: threading.Event = field(default_factory=threading.Event, repr=False)
    sending: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __str__(self) -> str:
        return f"not answered within {self.seconds:g} s (--within)"


_DEADLINE: list[Deadline] = []
"""The deadline of the command that runs, or ran last; empty without one."""


def deadline() -> Deadline | None:
    """The deadline of the command that runs, or ran last."""
    return _DEADLINE[0] if _DEADLINE else None


def late() -> Deadline | None:
    """The deadline that has passed; None before, and without one. Asked just then it ends in `KeyboardInterrupt`, once."""
    found = deadline()
    if found is None or not found.passed:
        return None
    # The interrupt is on its way: it comes here, and nowhere later.
    found.over.wait()
    return found


@contextmanager
def limited() -> Iterator[None]:
    """A context for one command, which begins without a deadline and leaves none that may still pass."""
    _DEADLINE.clear()
    try:
        yield
    finally:
        for found in _DEADLINE:
            # An interrupt that is being sent arrives here, within the command.
            with found.sending:
                found.over.set()


def set_deadline(seconds: float) -> None:
    """Have the command that runs be interrupted once, after so many seconds, as by Ctrl-C: what was answered by then is kept."""
    found = Deadline(seconds)
    _DEADLINE[:] = [found]
    main = threading.main_thread().ident or 0

    def end() -> None:
        if found.over.wait(min(seconds, threading.TIMEOUT_MAX)):
            return
        with found.sending:
            if found.over.is_set():
                return
            found.passed = True
            if hasattr(signal, "pthread_kill"):
                # The main thread itself is woken, whatever it waits for.
                signal.pthread_kill(main, signal.SIGINT)
            else:
                _thread.interrupt_main()
            found.over.set()

    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # A program in the background ignores Ctrl-C, not the end of its time.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=end, daemon=True).start()
