"""Limits of exact computations, which are long where a step has a memory or many draws: of their size, and of their processor time.

Rings and power series ask `check_time` before each of their longer operations. The size of one operation is always limited, and so
is its memory; the time is limited within `limited` alone, for an answer must not depend on how fast a machine is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sgverify.errors import TooLargeError


class OutOfTimeError(BaseException):
    """The time of a computation has ended.

    Like `KeyboardInterrupt` it is no `Exception`: a check that is interrupted has no answer, and none that is inconclusive.
    """


_END: ContextVar[float | None] = ContextVar("end of a computation in processor time", default=None)

PRODUCTS = 4e6
"""The products of terms that polynomial arithmetic makes in a second, at the least."""

MOST_PRODUCTS = 2**23
"""The most products of terms in one product of two polynomials: about a gigabyte, in seconds."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """A context in which `check_time` raises `OutOfTimeError` once `seconds` of processor time are used; the first end counts."""
    known, end = _END.get(), time.process_time() + seconds
    token = _END.set(end if known is None else min(known, end))
    try:
        yield
    finally:
        _END.reset(token)


def check_time(products: int = 0) -> None:
    """Raise `OutOfTimeError` where the time has ended, or ends before `products` products of terms are made.

    Raises `TooLargeError` for more of them than memory is to hold.
    """
    if products > MOST_PRODUCTS:
        raise TooLargeError(
            f"a product of {products:,} terms, of at most {MOST_PRODUCTS:,}: the step has too many draws, stages or letters"
        )
    end = _END.get()
    if end is not None and time.process_time() + products / PRODUCTS > end:
        raise OutOfTimeError


__all__ = ["OutOfTimeError", "check_time", "limited"]
