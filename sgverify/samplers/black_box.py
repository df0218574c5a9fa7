"""A user's own functions on torch: tensors reach them raw, and what they return is checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import DefinitionError
from sgverify.samplers.carrier import Chains
from sgverify.samplers.own_calls import call_together, called, is_batched
from sgverify.targets.own_function import OwnFunction, OwnPotential, evaluate
from sgverify.targets.target import Target

_MOST_DATA = 4096
"""Data whose likelihood is looked at before a run."""


@evaluate.register
def _(theta: Chains, own: OwnFunction, *rows: Chains) -> Chains:
    return Chains(_checked(own, theta.tensor, *(row.tensor for row in rows))[..., None])


@evaluate.register
def _(theta: np.ndarray, own: OwnFunction, *rows: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        value = _checked(own, *(torch.tensor(item, dtype=torch.float64) for item in (theta, *rows)))
    return value.numpy()


def check_gradient(target: Target, location: np.ndarray, spread: np.ndarray) -> None:
    """Refuse a potential whose value or gradient is not finite a spread away from its location. Shapes (d,), (d,).

    Not at the location itself, where a mode may have a kink. Of a likelihood of one's own, every datum by itself.
    Raises `DefinitionError`.
    """
    at = torch.tensor((location + np.stack([spread, -spread]))[None], dtype=torch.float64)
    _check_finite(target, target.prior(Chains(at.requires_grad_())).tensor, at, None)
    likelihood: Any = target.likelihood
    if isinstance(likelihood, OwnPotential) and target.data is not None:
        rows = torch.tensor(target.data[:_MOST_DATA])
        at = at.detach().expand(len(rows), *at.shape[1:]).clone().requires_grad_()
        _check_finite(target, likelihood(Chains(at), Chains(rows[:, None])).tensor, at, likelihood.own)


def gradients_by_datum(target: Target, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """grad prior, and the gradient of each datum's likelihood, by autograd. Shapes (d,), (N, d)."""
    likelihood: Any = target.likelihood
    prior = _slopes(target.prior, theta)[0]
    if target.data is None:
        return prior, np.zeros((0, len(theta)))
    return prior, _slopes(likelihood, theta, Chains(torch.tensor(target.data)))


def _slopes(potential: Any, theta: np.ndarray, *rows: Chains) -> np.ndarray:
    count = len(rows[0].tensor) if rows else 1
    at = torch.tensor(np.asarray(theta, dtype=np.float64)).expand(count, -1).clone().requires_grad_()
    with torch.enable_grad():
        (found,) = torch.autograd.grad(potential(Chains(at), *rows).tensor.sum(), at)
    return found.numpy()


def gradients_of_data(target: Target, theta: np.ndarray, most: int) -> np.ndarray:
    """The gradients of the likelihood of `most` data, evenly chosen, all at once. Shape (d,) -> (n, d), n <= most."""
    likelihood: Any = target.likelihood
    assert target.data is not None
    rows = torch.tensor(target.data[:: -(-len(target.data) // most)])
    at = torch.tensor(theta, dtype=torch.float64).expand(len(rows), 1, -1).clone().requires_grad_()
    with torch.enable_grad():
        value = likelihood(Chains(at), Chains(rows[:, None])).tensor
        (found,) = torch.autograd.grad(value.sum(), at)
    return found[:, 0].numpy()


def _check_finite(target: Target, value: Tensor, at: Tensor, own: OwnFunction | None) -> None:
    (slope,) = torch.autograd.grad(value.sum(), at)
    for what, found in (("value", value), ("gradient", slope)):
        bad = (~torch.isfinite(found.detach()).all(-1)).nonzero()
        if len(bad):
            place = at.detach()[tuple(bad[0])].tolist()
            which = "the log density" if own is None else f"{own} at datum {int(bad[0][0])} (from 0)"
            raise DefinitionError(
                f"target.name={target.name!r}: the {what} of {which} is not finite at theta={place}; expected a finite "
                "one within a standard deviation of its location; mend the density, or state its location and spread"
            )


def _checked(own: OwnFunction, theta: Tensor, *rows: Tensor) -> Tensor:
    call = call_together if is_batched(own, theta, *rows) else called
    value = call(own, theta, *rows)
    if theta.requires_grad and torch.is_grad_enabled() and not value.requires_grad:
        raise DefinitionError(
            f"{own} has no gradient in theta; expected torch functions throughout; leave out detach, "
            "item, numpy and torch.no_grad"
        )
    return value
