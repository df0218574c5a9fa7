"""One check, kept apart from the others: an exception that nobody foresaw in it is an answer, and the others stand."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from sgverify.checks.question import Question
from sgverify.errors import UserError
from sgverify.evidence import Evidence
from sgverify.evidence.crash import RAISE, Crash, out_of_memory
from sgverify.schemes.own_code import own_code

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
