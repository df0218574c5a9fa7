"""One step of a definition on tensors, its draws and its gradient put in: what the sampler runs at its first step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sgverify.samplers.binding import bind_numbers
from sgverify.samplers.constants import Clock
from sgverify.samplers.intercepted.slopes import Slope, SlopeEstimator
from sgverify.schemes import Scheme
from sgverify.schemes.binding import in_order
from sgverify.targets.metric import MetricText


@dataclass(frozen=True)
class PlainStep:
    """`scheme` with this gradient, dimension and parameters (T, D by name)."""

    scheme: Scheme
    gradient: Slope = field(repr=False)
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
            return bound.step(state, h=h, grad=SlopeEstimator(self.gradient).of_step(0), draw=in_order(parts))
