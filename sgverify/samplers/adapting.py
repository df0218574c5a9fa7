"""An adaptively weighted composite around the steps of its scheme: gradients multiplied, weights adapted, draws weighed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import SgverifyError
from sgverify.samplers.adapted import AdaptedWeights
from sgverify.samplers.adapted_gradient import AdaptedEstimator
from sgverify.samplers.around import Stage, StepHooks, hooks_of
from sgverify.samplers.carrier import Chains
from sgverify.samplers.differentiation import Potential
from sgverify.samplers.gradients import Estimator
from sgverify.samplers.minibatches import Iid
from sgverify.samplers.motion import State
from sgverify.samplers.settings import Settings
from sgverify.schemes.composites.adaptation import Adaptation, make_adaptation
from sgverify.schemes.composites.weighted import AdaptivelyWeighted

_STEEP = 3.0
"""A multiplier that is told where chains diverge: a step of three times the size is beyond what many schemes stand."""


class Adapting(StepHooks):
    """theta_k, k = 0, 1, ..., of every chain: step k moves the state with theta_(k-1), and then its energy makes theta_k.

    The energy by which theta adapts is that of all data, or where gradients are of minibatches, of n data drawn afresh with
    replacement: those of the step have moved the state, and are not independent of where it is. A draw counts by its theta_k
    and that same energy.
    """

    weighted = True

    def __init__(self, composite: AdaptivelyWeighted, settings: Settings) -> None:
        self._composite, self._settings = composite, settings
        self._made: Adaptation | None = None
        self._weights: AdaptedWeights | None = None
        self._energies: Energies | None = None
        self._energy, self._log = torch.empty(0), torch.empty(0)

    def adaptation(self, potential: Potential) -> Adaptation:
        """The partition and the numbers of the run. Raises `ConfigurationError` where they do not go together."""
        if self._made is None:
            self._made = make_adaptation(
                self._settings.partition,
                potential.target,
                self._settings.temperature,
                cumulative=not self._composite.contour,
            )
        return self._made

    def enter(self, stage: Stage, state: State, carried: tuple[Tensor, ...]) -> None:
        """See `StepHooks.enter`."""
        self._weights = AdaptedWeights(
            self.adaptation(stage.potential),
            rows=len(stage.rows),
            chains=state[0].shape[1],
            device=state[0].device,
        )
        if carried:
            self._weights.theta = carried[0]
        self._energies = Energies(stage)

    def estimator(self, estimator: Estimator) -> Estimator:
        """See `StepHooks.estimator`."""
        return AdaptedEstimator(estimator, self.weighting)

    def prepare(self, first: int, count: int) -> None:
        """See `StepHooks.prepare`."""
        assert self._energies is not None
        self._energies.prepare(first, count)

    def after(self, place: int, number: int, state: State, steps: np.ndarray) -> State:
        """See `StepHooks.after`."""
        assert self._energies is not None
        self._energy = self._energies.at(place, state[0])
        self.weighting.adapt(number, self._energy)
        self._log = self.weighting.log_importance(self._energy)
        return state

    @property
    def weighting(self) -> AdaptedWeights:
        """The weights of the rows that run."""
        if self._weights is None:
            raise SgverifyError(f"{self._composite.name}: the weights were asked for before the run began")
        return self._weights

    @property
    def carried(self) -> tuple[Tensor, ...]:
        """See `StepHooks.carried`: theta, shape (S, C, m)."""
        return (torch.empty(0) if self._weights is None else self._weights.theta,)

    @property
    def energies(self) -> Energies:
        """Where the energies come from by which the weights adapt."""
        assert self._energies is not None
        return self._energies

    def why_diverged(self, row: int, chains: np.ndarray) -> str:
        """See `StepHooks.why_diverged`: the least multiplier of a region, where the gradient is turned round."""
        theta = self.weighting.theta[row, chains]
        below = torch.cat([theta[:, :1], theta[:, :-1]], dim=-1)
        widths = torch.tensor(
            self.weighting.adaptation.partition.widths, dtype=torch.float64, device=theta.device
        )
        multipliers = self.weighting.adaptation.multiplier(
            Chains(theta), Chains(below), Chains(widths)
        ).tensor
        least, most = float(multipliers.min()), float(multipliers.max())
        region = (
            1 + int(multipliers.min(0).values.argmin())
            if least < 0
            else 1 + int(multipliers.max(0).values.argmax())
        )
        if least >= 0 and most <= _STEEP:
            return ""
        worst, told = (least, "drives energies up") if least < 0 else (most, "is that many steps at once")
        return (
            f"; its gradient is multiplied by {worst:.4g} in region {region}, which {told}: take a smaller partition.zeta, wider "
            "regions (fewer partition.bins), or a smaller schedule.step"
        )

    def log_weights(self) -> Tensor:
        """See `StepHooks.log_weights`."""
        return self._log

    def recorded(self) -> Mapping[str, Tensor]:
        """The energy, its region and the log of the weight after the latest step. Shape (S, C) each."""
        return {
            "energy": self._energy,
            "region": self.weighting.regions(self._energy),
            "log_weight": self._log,
        }


class Energies:
    """U of the states after the steps, or its estimate prior + N/n sum likelihood on minibatches of their own."""

    def __init__(self, stage: Stage) -> None:
        self._potential, choice = stage.potential, stage.settings.gradient
        self._source: Iid | None = None
        if choice.estimator.draws_data:
            self._source = Iid(stage.streams("energy"), len(self._potential.data), choice.batch)  # type: ignore[arg-type]
        self._drawn = torch.empty(0)

    def prepare(self, first: int, count: int) -> None:
        """Draw the minibatches of the steps first, ..., first + count - 1, counted from 0."""
        if self._source is not None:
            self._drawn = self._source.block(first, count)

    def at(self, place: int, theta: Tensor) -> Tensor:
        """U~ after the step at `place` of the block. Shape (S, C, d) -> (S, C), float64."""
        if self._source is None:
            return self._potential.energy(theta)
        return self._potential.energy_over(theta, self._drawn[place])

    def chosen(self, place: int) -> Tensor | None:
        """The data of the minibatch of that step, shape (n, S, C); None where all are used."""
        return None if self._source is None else self._drawn[place]


@hooks_of.register
def _(composite: AdaptivelyWeighted, settings: Settings) -> StepHooks:
    return Adapting(composite, settings)


__all__ = ["Adapting"]
