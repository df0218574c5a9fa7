"""How is a user's own potential evaluated on torch, and does it take many chains at once or a single theta?

The function gets plain tensors, and its results are checked. A function of one theta is mapped over chains.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import DefinitionError, UserError
from sgverify.samplers.reading.carrier import Chains
from sgverify.schemes.definition.abstract_value import SCALAR
from sgverify.schemes.definition.reverse_mode import Tracked
from sgverify.targets.own.function import OwnFunction, OwnPotential, evaluate
from sgverify.targets.points import Points, not_finite
from sgverify.targets.target import Target

_MOST_DATA = 4096
"""The most data whose likelihood is tested before a run."""


@evaluate.register
def _(theta: Chains, own: OwnFunction, *rows: Chains) -> Chains:
    return Chains(_checked(own, theta.tensor, *(row.tensor for row in rows))[..., None])


@evaluate.register
def _(theta: np.ndarray, own: OwnFunction, *rows: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        value = _checked(own, *(torch.tensor(item, dtype=torch.float64) for item in (theta, *rows)))
    return value.numpy()


@evaluate.register
def _(theta: Tracked, own: OwnFunction, *rows: Points) -> Tracked:
    """The value with its derivative by autograd: to the reverse mode the function is an elementary one."""
    tensors = [torch.tensor(item.array.astype(np.float64)) for item in (theta.value, *rows)]
    lead = torch.broadcast_shapes(*(item.shape[:-1] for item in tensors))
    at = tensors[0].expand(*lead, tensors[0].shape[-1]).clone().requires_grad_()
    with torch.enable_grad():
        value = _checked(own, at, *tensors[1:])
        (slope,) = torch.autograd.grad(value.sum(), at)
    return Tracked(
        Points(value.detach().numpy()[..., None]), SCALAR, [(theta, lambda a: a * Points(slope.numpy()))]
    )


def check_gradient(target: Target, temperature: float) -> None:
    """Raise `DefinitionError` if the value or gradient of a potential is not finite one spread away from its location.

    The location itself is not tested, since the potential may have a kink at a mode. In a user's own likelihood each datum is
    tested separately.
    """
    places = target.at_deviations_float64(np.array([[1.0], [-1.0]]), temperature)
    at = torch.tensor(places[None], dtype=torch.float64)
    _check_finite(target, target.prior(Chains(at.requires_grad_())).tensor, at, None)
    likelihood: Any = target.likelihood
    if isinstance(likelihood, OwnPotential) and target.data is not None:
        rows = torch.tensor(target.data[:_MOST_DATA])
        at = at.detach().expand(len(rows), *at.shape[1:]).clone().requires_grad_()
        _check_finite(target, likelihood(Chains(at), Chains(rows[:, None])).tensor, at, likelihood.own)


def gradients_by_datum(target: Target, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """grad prior, shape (d,), and the gradient of each datum's likelihood, shape (N, d), by autograd at theta, shape (d,)."""
    prior = _gradients_at(target.prior, theta[None])[0]
    if target.data is None:
        return prior, np.zeros((0, len(theta)))
    rows = Chains(torch.tensor(target.data))
    return prior, _gradients_at(target.likelihood, np.tile(theta, (len(target.data), 1)), rows)


def _gradients_at(potential: Any, thetas: np.ndarray, *rows: Chains) -> np.ndarray:
    at = torch.tensor(np.asarray(thetas, dtype=np.float64)).requires_grad_()
    with torch.enable_grad():
        (found,) = torch.autograd.grad(potential(Chains(at), *rows).tensor.sum(), at)
    return found.numpy()


def _check_finite(target: Target, value: Tensor, at: Tensor, own: OwnFunction | None) -> None:
    (gradient,) = torch.autograd.grad(value.sum(), at)
    for what, found in (("value", value), ("gradient", gradient)):
        bad = (~torch.isfinite(found.detach()).all(-1)).nonzero()
        if len(bad):
            place = at.detach()[tuple(bad[0])].numpy()
            which = "the log density" if own is None else f"{own} at datum {int(bad[0][0])} (from 0)"
            raise not_finite(target, what, which, place)


def _checked(own: OwnFunction, theta: Tensor, *rows: Tensor) -> Tensor:
    call = call_together if is_batched(own, theta, *rows) else called
    value = call(own, theta, *rows)
    if theta.requires_grad and torch.is_grad_enabled() and not value.requires_grad:
        raise DefinitionError(
            f"{own} has no gradient in theta; expected torch functions throughout; leave out detach, "
            "item, numpy and torch.no_grad"
        )
    return value


_SIZES = (5, 7, 11, 13)
"""The candidate numbers of chains and data on which a function is tried: two that equal no dimension of its arguments."""
_SHIFT = 1e-3
"""The distance of the trial points from a given one, relative to 1 + |theta|: distinct points, but hardly outside a support."""
_CLOSE = {torch.float64: 1e-9, torch.float32: 1e-3}
"""The relative tolerance by dtype: above the rounding of a function, and far below the effect of coupled chains."""
_FOUND: WeakKeyDictionary[OwnFunction, bool] = WeakKeyDictionary()


def is_batched(own: OwnFunction, theta: Tensor, *rows: Tensor) -> bool:
    """Does the function take leading axes of chains? If it is not stated, the function is tried once, near the first theta.

    Raises `DefinitionError` for a function that is random, or whose value for one chain depends on other chains.
    """
    if own.batched is not None:
        return own.batched
    if own not in _FOUND:
        _FOUND[own] = _try(own, theta.detach(), *(row.detach() for row in rows))
    return _FOUND[own]


def call_together(own: OwnFunction, theta: Tensor, *rows: Tensor) -> Tensor:
    """The values of all chains and data in one call; shapes (*batch, d), (*batch, w) give (*batch). Raises `DefinitionError`."""
    lead = _lead(theta, rows)
    theta, *data = (item.expand(*lead, item.shape[-1]) for item in (theta, *rows))
    return _one_number(own, own(theta, *_arguments(own, data)), theta, lead)


def called(own: OwnFunction, theta: Tensor, *rows: Tensor) -> Tensor:
    """The function of one theta and one datum, mapped over chains and data; (*batch, d), (*batch, w) give (*batch)."""
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
    """The trial points near the first theta, shape (n, m, d), and the first data, shape (n, 1, w)."""
    dim = theta.shape[-1]
    taken = {dim, *itertools.chain.from_iterable(own.layout.shapes if own.layout else ())}
    n, m = [size for size in (*_SIZES, *range(17, 1000, 2)) if size not in taken][:2]
    first = theta.reshape(-1, dim)[0]
    grid = torch.sin(torch.arange(1, n * m * dim + 1, dtype=torch.float64)).reshape(n, m, dim).to(theta)
    points = first + _SHIFT * (1 + first.abs()) * grid
    data = [row.reshape(-1, row.shape[-1]) for row in rows]
    return points, [row[torch.arange(n) % len(row)][:, None] for row in data]
