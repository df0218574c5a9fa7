"""Sums over data in an order that depends on nothing else, so that they have the same bits whatever is batched."""

from __future__ import annotations

from torch import Tensor

RUN = 16
"""Data that are summed by halves, all runs at once; the runs are then added one by one."""


def add_up(total: Tensor, terms: Tensor) -> Tensor:
    """`total` plus the terms along the first axis. Shapes (*batch), (n, *batch) -> (*batch).

    Terms may be handed over in pieces: where all but the last have a multiple of RUN terms, the bits are the same.
    """
    whole = len(terms) // RUN * RUN
    if whole:
        runs = terms[:whole].unflatten(0, (-1, RUN))
        while runs.shape[1] > 1:
            runs = runs[:, 0::2] + runs[:, 1::2]
        for run in runs[:, 0].unbind():
            total = total + run
    for term in terms[whole:].unbind():
        total = total + term
    return total


__all__ = ["RUN", "add_up"]
