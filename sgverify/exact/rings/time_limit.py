"""A limit of the processor time of exact computations, which are long where a step has a memory or many draws.

Rings and power series ask `check_time` before each of their longer operations. Outside of `limited` nothing is limited.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class OutOfTimeError(BaseException):
    """The time of a computation has ended.

    Like `KeyboardInterrupt` it is no `Exception`: a check that is interrupted has no answer, and none that is inconclusive.
    """


_END: ContextVar[float | None] = ContextVar("end of a computation in processor time", default=None)

PRODUCTS = 4e6
"""The products of terms that polynomial arithmetic makes in a second, at the least."""


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
    """Raise `OutOfTimeError` where the time has ended, or ends before `products` products of terms are made."""
    end = _END.get()
    if end is not None and time.process_time() + products / PRODUCTS > end:
        raise OutOfTimeError


__all__ = ["OutOfTimeError", "check_time", "limited"]
