"""The weights of an adaptively weighted run on torch: one vector theta for every chain of every row, in float64."""

from __future__ import annotations

import torch
from torch import Tensor

from sgverify.samplers.carrier import Chains
from sgverify.schemes.composites.adaptation import Adaptation
from sgverify.schemes.composites.weighting import region_below


class AdaptedWeights:
    """theta(1), ..., theta(m) of every chain. Shape (S, C, m), float64 whatever the dtype of the state.

    No chain sees the weights of another one. The regions are looked up by bisection, which is `region_of`, quicker.
    """

    def __init__(self, adaptation: Adaptation, *, rows: int, chains: int, device: torch.device) -> None:
        self.adaptation = adaptation
        partition = adaptation.partition

        def fixed(values: tuple[float, ...]) -> Tensor:
            return torch.tensor(values, dtype=torch.float64, device=device)

        self._inner, self._widths = fixed(partition.inner), fixed(partition.widths)
        self._lowers, self._top = fixed(partition.edges[:-1]), partition.edges[-1]
        self._numbers = torch.arange(1, partition.bins + 1, device=device)
        self.theta = torch.full(
            (rows, chains, partition.bins), adaptation.start, dtype=torch.float64, device=device
        )

    def regions(self, energy: Tensor) -> Tensor:
        """J, counted from 1. Shape (S, C) -> (S, C)."""
        return 1 + torch.bucketize(energy, self._inner, right=False)

    def multiplier(self, energy: Tensor) -> Tensor:
        """What each chain's gradient is multiplied by at an energy. Shape (S, C) -> (S, C, 1)."""
        region = self.regions(energy)[..., None]
        here, below = self._at(region), self._at(region_below(region))
        widths = torch.where(energy[..., None] > self._top, torch.inf, self._widths[region - 1])
        found: Tensor = self.adaptation.multiplier(here, below, Chains(widths)).tensor
        return found

    def adapt(self, k: int, energy: Tensor) -> None:
        """Take theta_(k-1) to theta_k at the energies after step k. Shape (S, C)."""
        region = self.regions(energy)[..., None]
        indicator = Chains(self.adaptation.indicator(self._numbers, region).to(torch.float64))
        moved = self.adaptation.next_weight(
            Chains(self.theta), k=k, here=self._at(region), indicator=indicator
        )
        self.theta = moved.tensor

    def log_importance(self, energy: Tensor) -> Tensor:
        """log of how much each chain counts at an energy. Shape (S, C) -> (S, C)."""
        region = self.regions(energy)[..., None]
        found = self.adaptation.log_importance(
            Chains(energy[..., None]),
            here=self._at(region),
            below=self._at(region_below(region)),
            lower=Chains(self._lowers[region - 1]),
            width=Chains(self._widths[region - 1]),
            top=Chains(energy.clamp(max=self._top)[..., None]),
        )
        value: Tensor = found.tensor
        return value[..., 0]

    def _at(self, region: Tensor) -> Chains:
        """theta of the regions. Shape (S, C, 1)."""
        return Chains(self.theta.gather(-1, region - 1))
