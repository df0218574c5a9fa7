"""One run of SGLD or of replica exchange on the mixture: the coldest trace, swaps and variances along it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.papers.vr_resgld.experiments.settings import START, configured, mixture
from sgverify.samplers import Settings, fixed, one_thread
from sgverify.samplers.composites.exchange import Exchange
from sgverify.samplers.run.leg import RunObserver
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes import Scheme
from sgverify.schemes.composites import Composite
from sgverify.schemes.loading import load_step

POINTS = 400
"""The number of states of a trace that are kept."""


@dataclass
class ExchangeTrail(RunObserver):
    """A watch that keeps every n-th state and counts every swap.

    `theta` of every replica, shape (K, R, C); `variance` of the energies' difference between the two coldest, shape (K, C);
    `tried` and `accepted` swaps of each pair, shape (R - 1,); `changes`: how often the coldest changed the mode, shape (C,);
    `crossings`: how often a state went over the middle by its own motion, which swaps leave alone, shape (C,).
    """

    ensemble: Ensemble
    every: int
    middle: float
    numbers: list[int] = field(default_factory=list)
    theta: list[np.ndarray] = field(default_factory=list)
    variance: list[np.ndarray] = field(default_factory=list)
    tried: np.ndarray | int = 0
    accepted: np.ndarray | int = 0
    changes: np.ndarray | int = 0
    crossings: np.ndarray | int = 0
    _above: np.ndarray | None = None

    def show(self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> None:
        """See `RunObserver.show`."""
        theta = state[0][..., 0]
        above = (theta > self.middle).numpy().copy()
        if self._above is not None:
            self.changes = self.changes + (above[0] != self._above[0])
            self.crossings = self.crossings + abs(above.sum(axis=0) - self._above.sum(axis=0))
        self._above = above
        hooks = self.ensemble.hooks
        if isinstance(hooks, Exchange):
            recorded = hooks.recorded()
            if "swapped" in recorded:
                chance = recorded["swap_probability"][:-1]
                self.tried = self.tried + chance.isfinite().sum(1).numpy()
                self.accepted = self.accepted + (recorded["swapped"][:-1] > 0).sum(1).numpy()
        if number % self.every == 0:
            self.numbers.append(number)
            self.theta.append(theta.clone().numpy())
            if isinstance(hooks, Exchange):
                self.variance.append(hooks.variance[0].clone().numpy())


def run(
    name: str,
    *,
    temperature: float,
    step: float,
    length: int,
    batch: int,
    chains: int,
    middle: float,
    exchange: dict[str, Any] | None = None,
    every: int | None = None,
    places: tuple[float, ...] = (START,),
) -> ExchangeTrail:
    """Move a scheme or composite of the catalogue from where it is told, and keep what `ExchangeTrail` keeps."""
    c = configured(
        temperature=temperature, step=step, batch=batch, chains=chains, exchange=exchange, places=places
    )
    scheme = load_step(name)
    assert isinstance(scheme, (Scheme, Composite))
    ensemble = Ensemble(scheme, mixture(), fixed([step], [length]), Settings.of(c))
    trail = ExchangeTrail(ensemble, every or max(1, length // POINTS), middle)
    with one_thread(), torch.no_grad():
        for block in ensemble.blocks(trail):
            if block.diverged:
                raise ArithmeticError(str(next(iter(block.diverged.values()))))
    return trail
