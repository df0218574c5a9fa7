"""Sums over data in an order that depends on nothing else, so that they have the same bits whatever is batched."""

from __future__ import annotations

import torch
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


def in_order(values: Tensor) -> Tensor:
    """The terms along the first axis, one after the other. Shape (n, *batch) -> (*batch)."""
    total = torch.zeros_like(values[0])
    for value in values.unbind():
        total = total + value
    return total


__all__ = ["RUN", "add_up", "in_order"]
