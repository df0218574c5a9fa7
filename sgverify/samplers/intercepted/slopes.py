"""The gradient that an injected step is given: of all data, or of minibatches that were chosen beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.biased import felt_potential
from sgverify.samplers.differentiation import Potential
from sgverify.samplers.gradients import Estimator
from sgverify.targets import Target


class Slope:
    """(theta, k) -> the gradient estimate on the k-th minibatch; with no minibatches, on all data.

    Shapes (dim,) or (*chains, dim), and the same back. `choice` holds `scale` and `clip` as the configuration does.
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
        self.potential: Any = potential if choice is None else felt_potential(potential, choice)
        self.dtype = dtype
        self._centre: Tensor | None = None
        if choice is not None and choice.estimator.centred:
            self._centre = torch.tensor(target.location_float64(1.0), dtype=dtype)[None]
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


class SlopeEstimator(Estimator):
    """The same as an estimator of the sampler, so that a definition can ask it for `grad`."""

    def __init__(self, slope: Slope) -> None:
        super().__init__(slope.potential)
        self._slope = slope

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        return self._slope(theta, minibatch)
