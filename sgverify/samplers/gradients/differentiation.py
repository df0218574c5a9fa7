"""How are gradients, Hessian products and energies of a target computed on torch from the definition of its potential?

`derivatives` differentiates `prior` and `likelihood`. If autograd shows that the gradient is affine in theta, `LinearisedGradient`
replaces a pass over the data by one product. Energies are float64 for every dtype of the state: swaps and weights depend on small
differences of large sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.gradients.derivatives import (
    gradient_by_autograd,
    gradient_by_tracking,
    hessian_product,
    inner,
    is_trackable,
    linearise,
    of_batch,
    of_pair,
    value_of,
)
from sgverify.samplers.reading.arithmetic import RUN, add_up, in_order
from sgverify.samplers.reading.carrier import product
from sgverify.samplers.reading.constants import lasting
from sgverify.targets import Target

# The most entries of a tensor that a pass over the data creates at once.
_PIECE = 1 << 20
# The numbers per datum that a likelihood with its own sum over data is assumed to hold.
_WIDTH = 64


class Potential:
    """The gradients and energies of a target on torch, in one dtype and on one device.

    With `hoist`, an affine gradient is evaluated as one product; without it, every gradient is autograd over the data.
    """

    def __init__(
        self, target: Target, *, dtype: torch.dtype, device: torch.device | str, hoist: bool = True
    ) -> None:
        self.target, self.dtype = target, dtype
        # What was recorded of a user's functions holds as long as they are the same.
        for part in (target.prior, target.likelihood):
            follow = getattr(part, "follow", None)
            if follow is not None:
                follow(target.data)
        self.data = (
            None
            if target.data is None
            else torch.tensor(target.data, dtype=torch.float64).to(dtype).to(device)
        )
        # All data, or a few weighted data with the same sums (`targets.line`).
        self._whole, self._weights = self.data, None
        if target.data is not None and target.weighted[1] is not None:
            self._whole, self._weights = (
                torch.tensor(part, dtype=torch.float64).to(dtype).to(device) for part in target.weighted
            )
        for tensor in (self.data, self._whole, self._weights):
            if tensor is not None:
                lasting(tensor)
        self.tracked_prior = is_trackable(target.prior, target.dim)
        # The arithmetic of a module's gradient, on a processor: other devices have products of matrices of their own.
        arithmetic = getattr(target.likelihood, "operations", None)
        on_cpu = torch.device(device).type == "cpu"
        self.operations: Any = arithmetic(dtype, target.data) if arithmetic is not None and on_cpu else None
        self.tracked_likelihood = self.operations is not None or (
            target.likelihood is not None
            and is_trackable(
                target.likelihood, target.dim, 1 if target.data is None else target.data.shape[1]
            )
        )
        affine = affine_of(target) if hoist else None
        self.affine: LinearisedGradient | None = None if affine is None else affine.to(dtype, device)
        self._exact = None if affine is None else affine.to(torch.float64, device)
        # The gradient of a quadratic potential is often 0 at its mean.
        self._shifted = affine is not None and bool(affine.offset.any())

    def full(self, theta: Tensor) -> Tensor:
        """grad U at theta; both have shape (*batch, d)."""
        if self.affine is not None:
            linear = self.affine.linear(theta)
            return linear + self.affine.offset if self._shifted else linear
        prior = self.prior(theta)
        if self.data is None:
            return prior
        total = self.sum_over_all(theta)
        return prior + total

    @property
    def recordable(self) -> bool:
        """Can a tape record full gradients, since none of them runs torch code of a user?"""
        own = self.data is not None and not self.tracked_likelihood
        return self.affine is not None or (self.tracked_prior and not own)

    @property
    def all_data(self) -> tuple[Tensor, Tensor | None]:
        """The data over which sums over all data run, shape (n, w), and their weights, shape (n,), or None."""
        assert self._whole is not None
        return self._whole, self._weights

    def sum_over_all(self, theta: Tensor) -> Tensor:
        """The sum of grad likelihood(theta, x_i) over all data, in the order of `add_up`; both have shape (*batch, d)."""
        if self._summed is not None and self.operations is None and self._weights is None:
            assert self._whole is not None
            return self.sum_over(theta, self._whole.reshape(len(self._whole), *(1,) * (theta.ndim - 1), -1))
        total = torch.zeros_like(theta)
        for data, weights in self._pieces(theta, None):
            gradients = self.likelihoods(theta, data)
            total = add_up(total, gradients if weights is None else gradients * weights[..., None])
        return total

    def prior(self, theta: Tensor) -> Tensor:
        """grad prior at theta; both have shape (*batch, d)."""
        if self.tracked_prior:
            return gradient_by_tracking(self.target.prior, theta)
        own: Callable[[Tensor], Tensor] | None = getattr(self.target.prior, "gradient", None)
        return gradient_by_autograd(self.target.prior, theta) if own is None else own(theta)

    def likelihoods(self, theta: Tensor, data: Tensor) -> Tensor:
        """grad likelihood(theta, x_i) for each of n data; theta (*batch, d) and data (n, *, d) give (n, *batch, d)."""
        if self.operations is not None:
            # The chains of a coordinate side by side, as in a state: operations on tensors of two layouts take ten times as long.
            data = data.mT.contiguous().mT
        if self.tracked_likelihood:
            return self.of_one_datum(theta, data)
        return self._clipped(
            gradient_by_autograd(of_pair(self.target, data), theta.expand(len(data), *theta.shape))
        )

    def of_one_datum(self, theta: Tensor, datum: Tensor) -> Tensor:
        """grad likelihood(theta, x), one datum for each theta: shapes (*batch, d) and (*batch, w), or with further leading axes.

        Raises `DefinitionError` for a likelihood in torch code of a user.
        """
        if self.operations is not None:
            return self._clipped(self.operations.gradient(theta, datum))
        assert self.target.likelihood is not None
        return self._clipped(gradient_by_tracking(self.target.likelihood, theta, datum))

    def sum_over(self, theta: Tensor, data: Tensor) -> Tensor:
        """sum_i grad likelihood(theta, x_i), in the order of `add_up`; theta (*batch, d), data (n, *, d) give (*batch, d).

        The data are visited in pieces, so that memory does not grow with their number. The gradient of each datum is computed
        separately, since the order in which autograd would sum them depends on the batch.
        """
        total = torch.zeros_like(theta)
        size = self._at_once(theta)
        for start in range(0, len(data), size):
            if self._summed is not None and self.operations is None:
                likelihood: Any = self.target.likelihood
                total = total + likelihood.gradient_of_batch(theta, data[start : start + size])
                continue
            total = add_up(total, self.likelihoods(theta, data[start : start + size]))
        return total

    def energy(self, theta: Tensor) -> Tensor:
        """U(theta) over all data, float64; theta of shape (*batch, d) gives shape (*batch)."""
        return self._energy(theta, None)

    def energy_over(self, theta: Tensor, chosen: Tensor) -> Tensor:
        """prior(theta) + N/n sum_i likelihood(theta, x_i) over a minibatch, float64; (*batch, d) gives shape (*batch).

        `chosen` are the indices of the minibatch's n data, of shape (n, *batch) or one that broadcasts to it: (n, 1, C) is one
        minibatch for all rows of a chain. Raises `ConfigurationError` for a target without data.
        """
        self.target.check_data()
        return self._energy(theta, chosen)

    def hessian(self, theta: Tensor, vector: Tensor, chosen: Tensor | None = None) -> Tensor:
        """The Hessian of U, or of its estimate on a minibatch, at theta times a vector; all have shape (*batch, d).

        The estimate is prior'' v + N/n sum_i likelihood''(x_i) v, with `chosen` as in `energy_over`. Raises `ConfigurationError`
        for clipped gradients, which are not the gradients of a potential.
        """
        if type(self)._clipped is not Potential._clipped:
            raise ConfigurationError(
                "gradient.clip with a step that asks for grad.hessian: a clipped gradient has no Hessian of a potential; leave "
                "gradient.clip out"
            )
        if self.affine is not None and (chosen is None or self.affine.deviations is not None):
            return self.affine.times(vector)
        total = hessian_product(self.target.prior, theta, vector)
        if self.data is None:
            return total
        added = torch.zeros_like(total)
        for data, weights in self._pieces(theta, chosen):
            wide = (len(data), *theta.shape)
            each = hessian_product(of_pair(self.target, data), theta.expand(wide), vector.expand(wide))
            added = add_up(added, each if weights is None else each * weights[..., None])
        return total + added if chosen is None else total + (len(self.data) / len(chosen)) * added

    def _clipped(self, gradients: Tensor) -> Tensor:
        """The gradients of the data, shape (n, *batch, d), as they enter the sum; unchanged without clipping."""
        return gradients

    def _energy(self, theta: Tensor, chosen: Tensor | None) -> Tensor:
        affine = self._exact
        if affine is not None and (chosen is None or affine.heights is not None):
            delta = theta.double() - affine.centre
            energy = affine.height + inner(delta, affine.linear(theta.double()) / 2 + affine.offset)
            if chosen is None or affine.heights is None:
                return energy
            return energy + (inner(delta, self._deviation(chosen)) + self._height(chosen))
        energy = value_of(self.target.prior, theta)
        if self.data is None:
            return energy
        total = self._sum_of_values(theta, chosen)
        return energy + total if chosen is None else energy + (len(self.data) / len(chosen)) * total

    def _sum_of_values(self, theta: Tensor, chosen: Tensor | None) -> Tensor:
        """The sum of likelihood(theta, x_i) over all or the chosen data, float64, in the order of `add_up`; shape (*batch)."""
        total = torch.zeros(theta.shape[:-1], dtype=torch.float64, device=theta.device)
        for data, weights in self._pieces(theta, chosen):
            if self._summed is not None:
                total = total + value_of(of_batch(self._summed, data), theta)
                continue
            each = value_of(of_pair(self.target, data), theta.expand(len(data), *theta.shape))
            total = add_up(total, each if weights is None else each * weights)
        return total

    def _pieces(self, theta: Tensor, chosen: Tensor | None) -> Iterator[tuple[Tensor, Tensor | None]]:
        """All or the chosen data in pieces that broadcast with (n, *batch, d), each with its weights, (n, *batch), or None."""
        assert self.data is not None
        whole, weights = (self._whole, self._weights) if chosen is None else (chosen, None)
        assert whole is not None
        lead, size = (1,) * (theta.ndim - 1), self._at_once(theta)
        for start in range(0, len(whole), size):
            part = slice(start, start + size)
            if chosen is not None:
                yield self.data[chosen[part]], None
            else:
                counts = None if weights is None else weights[part].reshape(-1, *lead)
                yield whole[part].reshape(-1, *lead, whole.shape[1]), counts

    def _height(self, chosen: Tensor) -> Tensor:
        """What a minibatch adds to the energy of an affine gradient at its centre; (n, *batch) gives (*batch), float64."""
        assert self._exact is not None and self._exact.heights is not None
        return in_order(self._exact.heights[chosen]) / len(chosen)

    @property
    def _summed(self) -> Callable[[Tensor, Tensor], Tensor] | None:
        """The likelihood's own sum over data in one pass; None if it has none, or if each datum's gradient is needed."""
        alone = type(self)._clipped is not Potential._clipped
        return None if alone else getattr(self.target.likelihood, "of_batch", None)

    def _at_once(self, theta: Tensor) -> int:
        """The number of data that a pass visits at once, a multiple of the length of a run in `add_up`."""
        numbers = (
            theta.numel()
            if self._summed is None or self.operations is not None
            else theta.numel() // theta.shape[-1] * _WIDTH
        )
        return RUN * max(1, _PIECE // (RUN * numbers))

    def _deviation(self, chosen: Tensor) -> Tensor:
        """The deviation of an affine gradient on a minibatch from the full one; (n, *batch) gives (*batch, d), float64."""
        assert self._exact is not None and self._exact.deviations is not None
        return in_order(self._exact.deviations[chosen]) / len(chosen)


@dataclass(frozen=True)
class LinearisedGradient:
    """An affine gradient grad U(theta) = H (theta - centre) + offset, and the deviation of each datum from it.

    `transposed` is H^T, shape (d, d), or the diagonal of H, shape (d,), if H is diagonal; centre and offset have shape (d,).
    `deviations`, shape (N, d), holds N grad likelihood(theta, x_i) - sum_j grad likelihood(theta, x_j) if this does not depend
    on theta; otherwise it is None.
    """

    transposed: Tensor
    centre: Tensor
    offset: Tensor
    deviations: Tensor | None
    height: Tensor
    heights: Tensor | None

    def linear(self, theta: Tensor) -> Tensor:
        """H (theta - centre); theta and the result have shape (*batch, d)."""
        return self.times(theta - self.centre)

    def times(self, vector: Tensor) -> Tensor:
        """H v; v and the result have shape (*batch, d)."""
        return vector * self.transposed if self.transposed.ndim == 1 else product(vector, self.transposed)

    def to(self, dtype: torch.dtype, device: torch.device | str) -> LinearisedGradient:
        """The gradient in a dtype and on a device; deviations and heights stay in float64, in which they are summed."""
        transposed, centre, offset = (
            x.to(dtype).to(device) for x in (self.transposed, self.centre, self.offset)
        )
        for tensor in (transposed, centre, offset):
            lasting(tensor)
        deviations, heights = (None if x is None else x.to(device) for x in (self.deviations, self.heights))
        height = lasting(self.height.to(device))
        return LinearisedGradient(transposed, centre, offset, deviations, height, heights)


_READ: WeakKeyDictionary[Target, LinearisedGradient | None] = WeakKeyDictionary()


def affine_of(target: Target) -> LinearisedGradient | None:
    """The affine gradient of a target (`read_affine`), which takes passes over all data and is read once."""
    if target not in _READ:
        _READ[target] = read_affine(target)
    return _READ[target]


def read_affine(target: Target) -> LinearisedGradient | None:
    """The gradient of `target` as an affine map; None unless autograd shows that it is affine.

    The gradient is affine if the autograd graph of the Hessian does not contain theta. A potential cannot branch on theta
    (`Chains` cannot be compared), so that one graph holds for every theta. None also for a potential that is not quadratic.
    """
    if not target.quadratic:
        return None
    centre = torch.tensor(target.mean_float64(), dtype=torch.float64)
    prior = linearise(target.prior, centre[None, :])
    if prior is None:
        return None
    offset, hessian = prior[0][0], prior[1][0]
    height = value_of(target.prior, centre[None, :])[0]
    deviations, heights = None, None
    if target.data is not None:
        data = torch.tensor(target.data, dtype=torch.float64)
        each = linearise(of_pair(target, data), centre.expand(len(data), -1))
        if each is None:
            return None
        gradients, hessians = each
        total, curvature = in_order(gradients), in_order(hessians)
        values = value_of(of_pair(target, data), centre.expand(len(data), -1))
        height = height + values.sum()
        if torch.equal(hessians, hessians[:1].expand_as(hessians)):
            curvature = len(data) * hessians[0]
            deviations = len(data) * gradients - total
            heights = len(data) * values - values.sum()
        offset, hessian = offset + total, hessian + curvature
    diagonal = hessian.diagonal()
    alone = torch.equal(hessian, torch.diag(diagonal))
    transposed = diagonal.clone() if alone else hessian.T.contiguous()
    return LinearisedGradient(transposed, centre, offset, deviations, height, heights)


class ArrayGradients:
    """grad prior and grad likelihood(., x_i), for the given data or those of the target; see `Potential`."""

    def __init__(self, target: Target, data: np.ndarray | None = None) -> None:
        self._potential = Potential(target, dtype=torch.float64, device="cpu", hoist=False)
        chosen = target.data if data is None else data
        self._data = None if chosen is None else torch.tensor(chosen)[:, None]

    def of_prior(self, points: np.ndarray) -> np.ndarray:
        """The gradient of the prior's part of U. Shape (k, d) -> (k, d)."""
        return np.array(self._potential.prior(torch.tensor(points)).numpy())

    def of_each_datum(self, points: np.ndarray) -> np.ndarray:
        """The gradient of the likelihood of each of n data. Shape (k, d) -> (n, k, d). Raises `ConfigurationError` without data."""
        self._potential.target.check_data()
        assert self._data is not None
        return np.array(self._potential.likelihoods(torch.tensor(points), self._data).numpy())
