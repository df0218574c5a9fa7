"""Which of its two forms a user's function has: for many chains at once, or for one theta, and then mapped over chains."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from sgverify.errors import DefinitionError, UserError
from sgverify.targets.own_function import OwnFunction

_SIZES = (5, 7, 11, 13)
"""Chains and data of the points on which a function is tried: two of these that are no dimension of its arguments."""
_SHIFT = 1e-3
"""How far these points are from a given one, relative to 1 + |theta|: distinct, and no farther outside of a support."""
_CLOSE = {torch.float64: 1e-9, torch.float32: 1e-3}
"""Above the rounding of a function, and far below what chains do to one another that are coupled."""
_FOUND: WeakKeyDictionary[OwnFunction, bool] = WeakKeyDictionary()


def is_batched(own: OwnFunction, theta: Tensor, *rows: Tensor) -> bool:
    """Whether the function takes leading axes; where that is not stated it is tried, once, on points near the first of theta.

    Raises `DefinitionError` for a function that is random, or whose value for one chain depends on the others.
    """
    if own.batched is not None:
        return own.batched
    if own not in _FOUND:
        _FOUND[own] = _try(own, theta.detach(), *(row.detach() for row in rows))
    return _FOUND[own]


def call_together(own: OwnFunction, theta: Tensor, *rows: Tensor) -> Tensor:
    """All chains and data in one call. Shapes (*batch, d), (*batch, w) -> (*batch). Raises `DefinitionError`."""
    lead = _lead(theta, rows)
    theta, *data = (item.expand(*lead, item.shape[-1]) for item in (theta, *rows))
    return _one_number(own, own(theta, *_arguments(own, data)), theta, lead)


def called(own: OwnFunction, theta: Tensor, *rows: Tensor) -> Tensor:
    """The function of one theta, and one datum, mapped over all of them. Shapes (*batch, d), (*batch, w) -> (*batch)."""
    lead = _lead(theta, rows)
    flat, *each = (item.expand(*lead, item.shape[-1]).reshape(-1, item.shape[-1]) for item in (theta, *rows))

    def one(at: Tensor, *row: Tensor) -> Tensor:
        return _one_number(own, own(at, *_arguments(own, row)), at, ())

    return torch.func.vmap(one)(flat, *each).reshape(lead)


def _lead(theta: Tensor, rows: tuple[Tensor, ...]) -> tuple[int, ...]:
    return tuple(torch.broadcast_shapes(*(item.shape[:-1] for item in (theta, *rows))))


def _arguments(own: OwnFunction, rows: Sequence[Tensor]) -> list[Any]:
    if own.layout is None or not rows:
        return []
    split = own.layout.split(rows[0])
    return [item.long() if whole else item for item, whole in zip(split, own.layout.whole, strict=True)]


def _one_number(own: OwnFunction, value: Any, theta: Tensor, expected: tuple[int, ...]) -> Tensor:
    if not isinstance(value, Tensor) or tuple(value.shape) != expected or value.dtype != theta.dtype:
        tensor = isinstance(value, Tensor)
        found = f"{value.dtype} of shape {tuple(value.shape)}" if tensor else type(value).__name__
        mend = "sum over the last axis alone, .sum(-1)"
        if tensor and value.dtype != theta.dtype:
            mend = "move its constants to theta's dtype, constant.to(theta)"
        raise DefinitionError(
            f"{own} returned {found} for theta of shape {tuple(theta.shape)}; expected a tensor of {theta.dtype} and shape "
            f"{expected}, one number for each chain; {mend}"
        )
    return value


def _try(own: OwnFunction, theta: Tensor, *rows: Tensor) -> bool:
    points, data = _points(own, theta, rows)
    with torch.no_grad():
        try:
            together = call_together(own, points, *data)
        except UserError as error:
            return _try_alone(own, points, data, error)
        _refuse_random(own, together, call_together(own, points, *data))
        try:
            alone = torch.stack(
                [
                    call_together(own, points[i : i + 1, j : j + 1], *(row[i : i + 1] for row in data))[0, 0]
                    for i, j in ((0, 1), (2, 3), (4, 0))
                ]
            )
        except UserError:
            return True
        several = torch.stack([together[0, 1], together[2, 3], together[4, 0]])
    if not torch.allclose(several, alone, rtol=_CLOSE.get(theta.dtype, 1e-9), atol=1e-9, equal_nan=True):
        raise DefinitionError(
            f"{own} is {several[0].item():.9g} for a chain among others and {alone[0].item():.9g} for the same chain alone; "
            "expected a function of one chain's theta; sum and average over the last axis alone, or say batched=False where it is "
            "written for one theta"
        )
    return True


def _try_alone(own: OwnFunction, points: Tensor, data: list[Tensor], error: UserError) -> bool:
    try:
        found = called(own, points, *data)
        _refuse_random(own, found, called(own, points, *data))
    except UserError as other:
        if isinstance(error, DefinitionError) or not isinstance(other, DefinitionError):
            raise error from None
        raise other from None
    return False


def _refuse_random(own: OwnFunction, first: Tensor, again: Tensor) -> None:
    if not torch.equal(first.nan_to_num(), again.nan_to_num()):
        raise DefinitionError(
            f"{own}: two calls at the same theta gave {first.flatten()[0].item():.9g} and {again.flatten()[0].item():.9g}; "
            "expected a function that draws no random numbers; leave them out, or draw them once above it"
        )


def _points(own: OwnFunction, theta: Tensor, rows: tuple[Tensor, ...]) -> tuple[Tensor, list[Tensor]]:
    """Points near the first of theta, shape (n, m, d), and the first data, shape (n, 1, w)."""
    dim = theta.shape[-1]
    taken = {dim, *itertools.chain.from_iterable(own.layout.shapes if own.layout else ())}
    n, m = [size for size in (*_SIZES, *range(17, 1000, 2)) if size not in taken][:2]
    first = theta.reshape(-1, dim)[0]
    grid = torch.sin(torch.arange(1, n * m * dim + 1, dtype=torch.float64)).reshape(n, m, dim).to(theta)
    points = first + _SHIFT * (1 + first.abs()) * grid
    data = [row.reshape(-1, row.shape[-1]) for row in rows]
    return points, [row[torch.arange(n) % len(row)][:, None] for row in data]
