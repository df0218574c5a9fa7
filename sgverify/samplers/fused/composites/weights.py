"""How are adapted weights recorded for a kernel: the multiplier of gradients, the update, and the log weights of states?

All formulas are those of `AdaptedWeights`, recorded as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.samplers.composites.adapting import AdaptedEstimator, AdaptedWeights, Adapting
from sgverify.samplers.fused.composites.energies import EnergyMinibatch, RecordedEnergies
from sgverify.samplers.fused.composites.rule import Action, EnergyStream, Rule
from sgverify.samplers.fused.gradients import TRACED
from sgverify.samplers.fused.loops import taped
from sgverify.samplers.fused.translation import NUMBER
from sgverify.samplers.gradients.estimators import Estimator, MinibatchEstimator
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.constants import Constant
from sgverify.samplers.run.leg import Leg, Statistics
from sgverify.schemes.composites.adaptation import Adaptation


@dataclass(frozen=True)
class _AtEveryStep(Adaptation):
    """An adaptation that takes omega_k from a tensor, so that a recording holds for every k."""

    given: Any = None

    def omega(self, k: Any) -> Any:
        """See `Adaptation.omega`; a number k is that of the check of the settings."""
        return Adaptation.omega(self, k) if self.given is None else Chains(self.given)


class Weights(Rule):
    """The adapted weights of a leg, as a kernel takes them.

    Raises `Unreached` where gradients and weights have energies of different likelihoods.
    """

    numbers, kept = 1, ("L0", "E0")
    energies: RecordedEnergies

    def __init__(self, leg: Leg, hooks: Adapting, patience: float = math.inf) -> None:
        own, other = leg.estimator.potential, hooks.energies._potential
        if own is not other and own.data is not None:
            raise Unreached("adapted weights by energies of another likelihood than that of the gradients")
        super().__init__(leg, hooks)
        scheme = leg.bound.definition
        self.energies = RecordedEnergies(other)
        rows, batch, source = len(leg.places), leg.settings.gradient.batch, hooks.energies._source
        if source is not None:
            # Step l adapts by minibatch l - 1 of the stream.
            self.streams = (EnergyStream(source, 1, rows=rows, every=1, before=1, patience=patience),)
        # The minibatches of gradients, unless they cancel: the energy that bends a gradient is that of its minibatch.
        drawn = isinstance(leg.estimator, MinibatchEstimator) and not leg.estimator.cancels
        count = max(1, scheme.minibatches) if drawn else 0
        self.taken = {f"taken{m}": self.energies.minibatch(batch, rows) for m in range(count)}
        self._weights = hooks.weighting
        bins = self._weights.adaptation.partition.bins
        self.held = [("M0", 0, torch.float64, bins), ("L0", 0, torch.float64, 1), ("E0", 0, torch.float64, 1)]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """See `Rule.tensors`: the weights, and the log weight and the energy of the latest state.

        Before the first step of a leg these are of no state, or of one with other rows.
        """
        hooks, theta = self.hooks, self.hooks.weighting.theta
        latest = [
            value[..., None] if value.shape == theta.shape[:2] else theta.new_zeros((*theta.shape[:2], 1))
            for value in (hooks._log, hooks._energy)
        ]
        return theta, latest[0], latest[1]

    def take(self, tensors: Sequence[Tensor]) -> None:
        """See `Rule.take`."""
        self.hooks.weighting.theta, self.hooks._log, self.hooks._energy = (
            tensors[0],
            tensors[1][..., 0],
            tensors[2][..., 0],
        )

    def step_numbers(self, first: int, steps: np.ndarray) -> np.ndarray:
        """See `Rule.step_numbers`: omega_k."""
        numbers = np.arange(first + 1, first + len(steps) + 1, dtype=np.float64)
        omega = self.hooks.weighting.adaptation.omega(Constant(numbers[:, None], self._leg.clock))
        shape = (len(steps), len(self._leg.places), 1)
        return np.ascontiguousarray(np.broadcast_to(omega.value[..., None], shape))

    def statistics(
        self, first: int, marked: np.ndarray, kept: Sequence[np.ndarray], before: Sequence[Tensor]
    ) -> Statistics:
        """See `Rule.statistics`, and `Adapting.recorded`."""
        log, energy = kept
        regions = self.hooks.weighting.regions(torch.from_numpy(energy)).numpy()
        return Statistics({"region": (regions, np.ones(len(log), dtype=bool))}, log_weights=log)

    @property
    def minibatches(self) -> dict[str, EnergyMinibatch]:
        """See `Rule.minibatches`."""
        batch = self._leg.settings.gradient.batch
        taken = "take_indices(&chosen, ((first + k) * MINIBATCHES + {}) * BATCH + ({{}}), from, to)"
        found = {name: EnergyMinibatch(batch, 1, taken.format(m)) for m, name in enumerate(self.taken)}
        if self.streams:
            found[_ADAPTING] = self.streams[0].minibatch(_ADAPTING, batch)
        return found

    def bend(self, estimator: Estimator, held: dict[str, Tensor]) -> Estimator:
        """See `Rule.bend`."""
        energies = copy(estimator)
        energies.potential = self.energies
        if self.taken:
            energies._indices = _Minibatches(self.taken.values())  # type: ignore[attr-defined]
        inner: Any = copy(estimator)
        # Its gradients, with energies that are recorded.
        inner.energy = energies.energy
        return AdaptedEstimator(inner, self._recorded(held["M0"], None))

    def actions(self) -> list[Action]:
        """See `Rule.actions`: the weights after every step."""
        rows, leg = len(self._leg.places), self._leg
        theta = torch.ones((rows, TRACED, leg.target.dim), dtype=leg.start[0].dtype)
        held = torch.full((rows, TRACED, self.held[0][3]), 0.5, dtype=torch.float64)
        omega = torch.ones((rows, 1, 1), dtype=torch.float64)
        source = copy(self.hooks.energies)
        source._potential = self.energies
        inputs = [("X0_0", theta), ("M0", held), (f"{NUMBER}number[0]", omega)]
        if self.streams:
            minibatch = self.energies.minibatch(self.streams[0].batch, rows)
            inputs.append((_ADAPTING, minibatch))
            source._drawn = [minibatch]

        def act() -> list[Tensor]:
            self.energies.begin()
            weights = self._recorded(held, omega)
            energy = source.at(0, theta)
            weights.adapt(1, energy)
            return [weights.theta, weights.log_importance(energy)[..., None], energy[..., None]]

        return [Action("1", taped(act, inputs), ["M0", "L0", "E0"])]

    def shown(self) -> Adapting:
        """See `Rule.shown`: weights that differ from region to region and from row to row."""
        found, weights = copy(self.hooks), copy(self.hooks.weighting)
        rows = torch.arange(len(weights.theta), dtype=torch.float64)[:, None, None]
        places = torch.arange(weights.theta.shape[-1], dtype=torch.float64)
        weights.theta = weights.theta * (1 + (places % 3 + rows % 5) / 8)
        found._weights = weights
        return found

    def _recorded(self, theta: Tensor, omega: Tensor | None) -> AdaptedWeights:
        weights, held = copy(self._weights), self._weights.adaptation
        weights.theta = theta
        weights.adaptation = _AtEveryStep(
            **{item.name: getattr(held, item.name) for item in fields(Adaptation)}
        )
        object.__setattr__(weights.adaptation, "given", omega)
        return weights


class _Minibatches(tuple[Tensor, ...]):
    """The minibatches of a step by number, in place of one tensor of them."""

    def numel(self) -> int:
        """How many numbers they hold."""
        return sum(minibatch.numel() for minibatch in self)


_ADAPTING = "apart[0]"
"""The stream in C of the minibatches by which weights adapt."""
