"""Which square root and which sums have bits that do not depend on the machine or on the batch?

torch's square root on a CPU need not be rounded correctly: with MKL, one float32 result in six is off by a unit in the last
place. The bits of a chain would depend on the machine, and possibly on the other chains of the batch. numpy's square root is
correctly rounded, and so are those of accelerators. Sums over data use a fixed order, independent of the batch.

The matrices and views of a torch module become arithmetic coordinate by coordinate: coordinates are chosen, joined, and contracted,
each by one operation on a tape. A product of matrices adds its terms one after the other, for every chain by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function, has_torch_function_unary


def root(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The correctly rounded square root of every entry, written to `out` if it is given.

    A root that autograd must differentiate is torch's own; the bits of gradients through a root are torch's in any case.
    """
    if has_torch_function_unary(x):
        # A tape records this function as one operation; it does not see numpy's operations.
        found: Any = (
            handle_torch_function(root, (x,), x, out=out)
            if out is not None
            else handle_torch_function(root, (x,), x)
        )
        return found
    if x.device.type != "cpu" or x.requires_grad or torch.compiler.is_compiling():
        return torch.sqrt(x, out=out)
    result = torch.empty_like(x) if out is None else out
    with np.errstate(invalid="ignore"):
        np.sqrt(x.numpy(), out=result.numpy())
    return result


RUN = 16
"""The length of a run of data that is summed by halves; all runs at once, then the runs are added one by one."""


def add_up(total: Tensor, terms: Tensor) -> Tensor:
    """`total`, shape (*batch), plus the sum of the terms, shape (n, *batch), along the first axis.

    The terms may be given in several calls: if all pieces but the last have a multiple of RUN terms, the bits are the same.
    """
    whole = len(terms) // RUN * RUN
    if whole:
        runs = terms[:whole].reshape(-1, RUN, *terms.shape[1:])
        while runs.shape[1] > 1:
            runs = runs[:, 0::2] + runs[:, 1::2]
        for place in range(len(runs)):
            total = total + runs[place, 0]
    for place in range(whole, len(terms)):
        total = total + terms[place]
    return total


def in_order(values: Tensor) -> Tensor:
    """The sum, shape (*batch), of the terms along the first axis of shape (n, *batch), one after the other."""
    if len(values) > _MANY and values.device.type == "cpu" and not values.requires_grad:
        # numpy's cumulative sums take the terms in this order too.
        sums = np.zeros((), dtype=values.numpy().dtype)
        for start in range(0, len(values), _MANY):
            part = values[start : start + _MANY].numpy()
            sums = np.add.accumulate(np.concatenate([np.broadcast_to(sums, part.shape[1:])[None], part]))[-1]
        return torch.from_numpy(np.array(sums))
    total = torch.zeros_like(values[0])
    for value in values.unbind():
        total = total + value
    return total


_MANY = 1 << 12
"""The number of terms from which numpy adds them up, in pieces of so many."""


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
