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
    prior = prior_gradients_at(target, theta[None])[0]
    if target.data is None:
        return prior, np.zeros((0, len(theta)))
    return prior, gradients_at(target, theta[None], target.data)[0]


def prior_gradients_at(target: Target, thetas: np.ndarray) -> np.ndarray:
    """The gradient of the prior's part of U at many points. Shape (k, d) -> (k, d)."""
    return _gradients_at(target.prior, thetas)


def gradients_at(target: Target, thetas: np.ndarray, data: np.ndarray) -> np.ndarray:
    """The gradient of the likelihood's part of U of each datum, at many points. Shapes (k, d), (n, w) -> (k, n, d)."""
    (points, dim), size = thetas.shape, len(data)
    rows = torch.tensor(np.tile(data, (points, 1)))
    return _gradients_at(target.likelihood, np.repeat(thetas, size, axis=0), Chains(rows)).reshape(
        points, size, dim
    )


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
