"""U/T and its gradient at many points on torch, whatever the target: a definition of the catalogue or a user's log density."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from sgverify.samplers.reading.carrier import Chains
from sgverify.targets.target import Target

_PIECE = 500_000
"""Data times points that are evaluated at once."""


@dataclass(frozen=True, eq=False)
class TorchPotential:
    """U/T of a target, in float64."""

    target: Target
    temperature: float

    @property
    def data(self) -> int:
        """The number of data, or of their weighted nodes, that one evaluation sums over; at least 1."""
        return 1 if self.target.data is None else len(self.target.weighted[0])

    def values(self, points: np.ndarray) -> np.ndarray:
        """U/T, infinite where the density is 0 or not finite. Shape (n, d) -> (n,)."""
        with torch.no_grad():
            return self._by_pieces(points, lambda at: [self._energy(at)])[0]

    def with_gradients(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """U/T and grad U/T by autograd; rows of the gradient are 0 where the energy is infinite. Shapes (n,), (n, d)."""

        def both(at: torch.Tensor) -> list[torch.Tensor]:
            energies = self._energy(at.requires_grad_())
            (gradients,) = torch.autograd.grad(energies.sum(), at)
            return [energies.detach(), gradients]

        with torch.enable_grad():
            values, gradients = self._by_pieces(points, both)
        gradients[~np.isfinite(values)] = 0.0
        return values, gradients

    def _energy(self, at: torch.Tensor) -> torch.Tensor:
        """U/T at points of shape (n, d), shape (n,)."""
        total = self.target.prior(Chains(at)).tensor[..., 0]
        if self.target.data is not None:
            assert self.target.likelihood is not None
            data, weights = self.target.weighted
            rows = Chains(torch.tensor(data)[None])
            each = self.target.likelihood(Chains(at[:, None]), rows).tensor[..., 0]
            total = total + (each if weights is None else each * torch.tensor(weights)).sum(-1)
        return total / self.temperature

    def _by_pieces(
        self, points: np.ndarray, function: Callable[[torch.Tensor], list[torch.Tensor]]
    ) -> list[np.ndarray]:
        size = max(1, _PIECE // self.data)
        pieces = [
            function(torch.tensor(points[start : start + size], dtype=torch.float64))
            for start in range(0, len(points), size)
        ]
        energies, *others = (torch.cat(parts).numpy() for parts in zip(*pieces, strict=True))
        return [np.where(np.isfinite(energies), energies, np.inf), *others]
