"""One step of a definition on tensors, its draws and its gradient put in: what the sampler runs at its first step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.carrier import Chains
from sgverify.samplers.constants import Clock, Constant
from sgverify.samplers.intercepted.slopes import Slope, SlopeEstimator
from sgverify.samplers.metric import make_metric
from sgverify.schemes import Scheme
from sgverify.schemes.noise import Noise
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
        clock = Clock()
        given: dict[str, Any] = {
            name: Constant(np.array([[value]], dtype=np.float64), clock)
            for name, value in {**self.parameters, "h": h}.items()
        }
        parts = iter(draws.to(state[0].dtype).split(self.dim, dim=-1)) if self.numbers else iter(())
        with torch.no_grad():
            values = self.scheme.step(
                tuple(Chains(value) for value in state),
                grad=SlopeEstimator(self.gradient).of_step(0),
                noise=Noise(lambda law: Chains(next(parts))),
                dim=self.dim,
                metric=make_metric(self.metric, self.dim),
                **given,
            )
        return tuple(value.tensor for value in values)
