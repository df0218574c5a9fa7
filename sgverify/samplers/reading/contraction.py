"""How are coordinates of a value chosen, joined, and contracted with those of another, in a fixed order of additions?

These are the operations by which the matrices and views of a torch module become arithmetic coordinate by coordinate. Each is one
operation on a tape. A product of matrices adds its terms one after the other, for every chain by itself: its bits depend neither on
the batch nor on the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function

Places = tuple[int, ...]
"""The coordinates of a value that are read, one for each coordinate of the result."""


def taken(value: Tensor, places: Places) -> Tensor:
    """The coordinates `places` of a value; shape (*batch, w), with an axis or more in front, gives (*batch, m) for m places."""
    found = _as_one(taken, (value,), places)
    return _take(value, places).expand(*value.shape[:-1], len(places)) if found is None else found


def contracted(
    left: Tensor, right: Tensor, left_places: Sequence[Places], right_places: Sequence[Places]
) -> Tensor:
    """sum_k left[left_places[k][j]] right[right_places[k][j]] for each j, in the order of k; shape (*batch, m).

    A product of matrices, for instance, has j = (row, column) and k the axis that is summed over.
    """
    found = _as_one(contracted, (left, right), left_places, right_places)
    if found is not None:
        return found
    pairs = zip(left_places, right_places, strict=True)
    return _added((_take(left, a) * _take(right, b) for a, b in pairs), len(left_places[0]))


def summed(value: Tensor, places: Sequence[Places]) -> Tensor:
    """sum_k value[places[k][j]] for each j, in the order of k; shape (*batch, m)."""
    found = _as_one(summed, (value,), places)
    return _added((_take(value, a) for a in places), len(places[0])) if found is None else found


def joined(*values: Tensor) -> Tensor:
    """The coordinates of all values, one after the other; shapes (*batch, m_i) give (*batch, sum of m_i)."""
    found = _as_one(joined, values)
    if found is not None:
        return found
    lead = torch.broadcast_shapes(*(value.shape[:-1] for value in values))
    return torch.cat([value.expand(*lead, value.shape[-1]).mT for value in values], -2).mT


def progression(places: Sequence[int]) -> tuple[int, int] | None:
    """(first, step) if places[j] = first + step j for each j; None otherwise."""
    first, step = places[0], places[1] - places[0] if len(places) > 1 else 0
    return (first, step) if all(place == first + step * j for j, place in enumerate(places)) else None


def _as_one(function: Callable[..., Tensor], tensors: tuple[Tensor, ...], *options: Any) -> Tensor | None:
    """What the recorder of a tape makes of a call; None outside of a recording."""
    if not has_torch_function(tensors):
        return None
    found: Tensor = handle_torch_function(function, tensors, *tensors, *options)
    return found


def _added(terms: Iterator[Tensor], width: int) -> Tensor:
    total = next(terms)
    for term in terms:
        total = total + term
    return total.expand(*total.shape[:-1], width)


def _take(value: Tensor, places: Places) -> Tensor:
    """The coordinates `places`, of width 1 if all are the same; a view where there is one."""
    found = progression(places)
    if found is None:
        return _chosen(value, places)
    first, step = found
    if step == 0:
        return value[..., first : first + 1]
    if step > 0:
        return value[..., first : places[-1] + 1 : step]
    return _chosen(value, places)


def _chosen(value: Tensor, places: Places) -> Tensor:
    # The chains of a coordinate stay side by side, as they are in the states of a run.
    return value.mT.index_select(-2, _index(places, value.device)).mT


@cache
def _index(places: Places, device: torch.device) -> Tensor:
    return torch.tensor(places, device=device)


__all__ = ["Places", "contracted", "joined", "progression", "summed", "taken"]
