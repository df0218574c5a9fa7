"""A definition's step with its draws and its gradient put in: of all data, or of minibatches that were chosen beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.biased import effective_potential
from sgverify.samplers.binding import bind_numbers
from sgverify.samplers.constants import Clock
from sgverify.samplers.differentiation import Potential
from sgverify.samplers.gradients import Estimator
from sgverify.schemes import Scheme
from sgverify.schemes.binding import in_order
from sgverify.targets import Target
from sgverify.targets.metric import MetricText


class ChosenGradient:
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
        self.potential: Any = potential if choice is None else effective_potential(potential, choice)
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


class ChosenGradientEstimator(Estimator):
    """The same as an estimator of the sampler, so that a definition can ask it for `grad`."""

    def __init__(self, gradient: ChosenGradient) -> None:
        super().__init__(gradient.potential)
        self._gradient = gradient

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        return self._gradient(theta, minibatch)


@dataclass(frozen=True)
class PlainStep:
    """`scheme` with this gradient, dimension and parameters (T, D by name)."""

    scheme: Scheme
    gradient: ChosenGradient = field(repr=False)
    dim: int
    parameters: Mapping[str, float]
    metric: MetricText | None = None

    @property
    def numbers(self) -> int:
        """How many numbers a step draws."""
        return self.scheme.draws * self.dim

    def run(self, state: Sequence[Tensor], draws: Tensor, h: float) -> tuple[Tensor, ...]:
        """X_1 from a state, shapes (*chains, dim) and (*chains, 1), and the draws, shape (*chains, draws * dim)."""
        bound = bind_numbers(self.scheme, self.parameters, self.dim, Clock(), self.metric)
        parts = draws.to(state[0].dtype).split(self.dim, dim=-1) if self.numbers else ()
        with torch.no_grad():
            return bound.step(
                state, h=h, grad=ChosenGradientEstimator(self.gradient).of_step(0), draw=in_order(parts)
            )
