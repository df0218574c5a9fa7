"""Columns of data that are asymmetric: symmetric ones hide errors of odd order."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy


def columns(count: int, size: int, entries: SearchStrategy[float]) -> SearchStrategy[list[list[float]]]:
    """`count` lists of `size` numbers, tenths, each with a third central moment that is not 0."""
    column = st.lists(entries, min_size=size, max_size=size).filter(asymmetric)
    return st.tuples(*[column] * count).map(list)


def asymmetric(values: Sequence[float]) -> bool:
    """Whether the third central moment of numbers, all of them tenths, is not 0; exactly."""
    tenths = [round(10 * value) for value in values]
    size, total = len(tenths), sum(tenths)
    return sum((size * k - total) ** 3 for k in tenths) != 0


__all__ = ["asymmetric", "columns"]
