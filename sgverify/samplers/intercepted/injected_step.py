"""The gradient on minibatches that are chosen in advance, for steps that are run one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.kinds import effective_potential
from sgverify.targets import Target


class ChosenGradient:
    """The gradient estimate at theta on the k-th of some chosen minibatches; without minibatches, on all data.

    theta and the estimate have shape (dim,) or (*chains, dim). `choice` holds the configured `scale` and `clip`.
    """

    def __init__(
        self,
        target: Target,
        *,
        dtype: torch.dtype = torch.float64,
        minibatches: Sequence[Sequence[int]] = (),
        choice: Any = None,
    ) -> None:
        potential = Potential(target, dtype=dtype, device="cpu")
        self.potential: Any = potential if choice is None else effective_potential(potential, choice)
        self.dtype = dtype
        self._centre: Tensor | None = None
        centre = None if choice is None else choice.estimator.centre_float64(target)
        if centre is not None:
            self._centre = torch.tensor(centre, dtype=dtype)[None]
        self.minibatches = [torch.tensor(list(batch), dtype=torch.int64) for batch in minibatches]

    def __call__(self, theta: Tensor, minibatch: int) -> Tensor:
        """The estimate, in the dtype of theta."""
        at = theta.detach().to(self.dtype).reshape(-1, theta.shape[-1])
        if not self.minibatches:
            value = self.potential.full(at)
        else:
            data = self.potential.data
            chosen = data[self.minibatches[minibatch % len(self.minibatches)]][:, None, :]
            total = self.potential.sum_over(at, chosen)
            if self._centre is not None:
                total = total - self.potential.sum_over(self._centre.expand_as(at), chosen)
            value = self.potential.prior(at) + (len(data) / len(chosen)) * total
            if self._centre is not None:
                value = value + (self.potential.full(self._centre) - self.potential.prior(self._centre))
        return value.reshape(theta.shape).to(theta.dtype).clone()
