"""How is the progress of a long check reported, and which evidence survives an interrupt or an exception?"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TypeVar

from sgverify.checks.question import Question
from sgverify.errors import UserError
from sgverify.evidence import Evidence
from sgverify.evidence.crash import RAISE, Crash, out_of_memory
from sgverify.keeping.stopping import late
from sgverify.user_code import own_code

_LISTENER: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a list of checks; `evidence` holds the evidence found before."""

    def __init__(self, evidence: list[Evidence]) -> None:
        super().__init__()
        self.evidence = evidence


def keep_evidence(error: BaseException, found: Sequence[Evidence]) -> None:
    """Attach to an error the evidence found before it; `evidence_until` reads that evidence back."""
    error.evidence = list(found)  # type: ignore[attr-defined]


def evidence_until(error: BaseException) -> list[Evidence]:
    """The evidence found before an error ended a list of checks; empty if the error carries none."""
    return list(getattr(error, "evidence", ()))


@contextmanager
def listening(listener: Callable[[float], None] | None) -> Iterator[None]:
    """A context in which `tell` passes the finished share of the running check, 0 to 1, to `listener`."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(share: float) -> None:
    """Report the finished share, from 0 to 1, of the running check."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(share)


Answer = TypeVar("Answer")


def in_time(question: Question, ask: Callable[[], list[Evidence]]) -> list[Evidence]:
    """The evidence that `ask` finds; an inconclusive one where the time of the command has ended, before or meanwhile."""
    try:
        if not late():
            return ask()
    except KeyboardInterrupt:
        if not late():
            raise
    return [question.unanswered(str(late()))]


def isolated(question: Question, ask: Callable[[], Answer]) -> Answer | Evidence:
    """The result of `ask()`; if `ask` raises, one inconclusive piece of evidence that names the exception.

    A user's mistake (`UserError`) and Ctrl-C are raised. Every exception is raised if the environment variable
    `SGVERIFY_RAISE` is set.
    """
    try:
        with own_code():
            return ask()
    except UserError as error:
        if not out_of_memory(error):
            raise
        crash = Crash.of(error)
    except (Exception, SystemExit) as error:
        if raised_on():
            raise
        crash = Crash.of(error)
    # The frames of the exception may hold most of the memory in reference cycles.
    gc.collect()
    return replace(question.unanswered(crash.reason), certificate=crash.certificate)


def raised_on() -> bool:
    """Is `SGVERIFY_RAISE` set, so that exceptions in checks are raised and do not become evidence?"""
    return bool(os.environ.get(RAISE))
