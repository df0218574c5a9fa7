"""An adaptively weighted composite around the steps of its scheme: gradients multiplied, weights adapted, draws weighed.

The weights of an adaptively weighted run on torch: one vector theta for every chain of every row, in float64.

The gradient that an adaptively weighted run feels: an estimate of grad U times the multiplier of its energy's region.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError, SgverifyError
from sgverify.samplers.composites.hooks import Stage, StepHooks, hooks_of
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import Estimator
from sgverify.samplers.gradients.minibatches import Iid
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.settings import Settings
from sgverify.schemes.composites.adaptation import Adaptation, make_adaptation
from sgverify.schemes.composites.weighting import AdaptivelyWeighted, region_below


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


class AdaptedEstimator(Estimator):
    """(1 + zeta tau/du (log theta(J) - log theta((J-1) v 1))) times an estimate of grad U, J the region of U (awsgld (19)).

    J is that of the point where the gradient is asked for, a stage of a splitting say, at the weights of the step. Its
    energy is that of the gradient's minibatch, prior + N/n sum likelihood; N/n is in the estimate already and is not taken
    twice.
    """

    def __init__(self, inner: Estimator, weights: AdaptedWeights) -> None:
        super().__init__(inner.potential)
        self._inner, self._weights = inner, weights

    def prepare(self, first: int, count: int) -> None:
        """See `Estimator.prepare`."""
        self._inner.prepare(first, count)

    def begin(self, step: int, theta: Tensor) -> None:
        """See `Estimator.begin`."""
        self._inner.begin(step, theta)

    @property
    def carried(self) -> tuple[Tensor, ...]:
        """See `Estimator.carried`."""
        return self._inner.carried

    def resume(self, carried: tuple[Tensor, ...]) -> None:
        """See `Estimator.resume`."""
        self._inner.resume(carried)

    def energy(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        """See `Estimator.energy`: U itself, which no weight bends."""
        return self._inner.energy(theta, step, minibatch)

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        gradient = self._inner.evaluate(theta, step, minibatch, evaluation)
        energy = self._inner.energy(theta, step, minibatch)
        return gradient * self._weights.multiplier(energy).to(gradient.dtype)

    def prior(self, theta: Tensor) -> Tensor:
        """Refused: the multiplier is that of the whole energy."""
        raise _whole("the gradients of prior and likelihood apart")

    def hessian(self, theta: Tensor, vector: Tensor, step: int, minibatch: int) -> Tensor:
        """Refused: the multiplier jumps where the region changes."""
        raise _whole("Hessian-vector products")


def _whole(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"a step that asks for {what} under adapted weights: expected one of grad(theta), which the weights bend as a whole"
    )


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
