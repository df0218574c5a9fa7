"""How far a long check has come, told to whoever shows it; and what is left of work that was stopped."""

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
from sgverify.user_code import own_code

_LISTENER: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a list of checks; `evidence` holds the evidence found before."""

    def __init__(self, evidence: list[Evidence]) -> None:
        super().__init__()
        self.evidence = evidence


def keep_evidence(error: BaseException, found: Sequence[Evidence]) -> None:
    """Attach the evidence found before an error to the error; `evidence_until` reads it."""
    error.evidence = list(found)  # type: ignore[attr-defined]


def evidence_until(error: BaseException) -> list[Evidence]:
    """The evidence that was found before an error ended a list of checks; empty where the error carries none."""
    return list(getattr(error, "evidence", ()))


@contextmanager
def listening(listener: Callable[[float], None] | None) -> Iterator[None]:
    """Within, `tell` reaches `listener` with the share of one check that is done."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(share: float) -> None:
    """Say what share, from 0 to 1, of the check at work is done."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(share)


Answer = TypeVar("Answer")


def isolated(question: Question, ask: Callable[[], Answer]) -> Answer | Evidence:
    """What `ask` answers; where it raises, one inconclusive piece of evidence that names the exception.

    A user's mistake (`UserError`) and Ctrl-C are raised. So is everything where the environment has `SGVERIFY_RAISE`.
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
    # The frames that were left may have held most of the memory, in cycles.
    gc.collect()
    return replace(question.unanswered(crash.reason), certificate=crash.certificate)


def raised_on() -> bool:
    """Whether exceptions in checks are raised here."""
    return bool(os.environ.get(RAISE))


__all__ = ["isolated", "raised_on"]
