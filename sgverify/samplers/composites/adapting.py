"""How does an adaptively weighted run multiply its gradients, adapt its weights and weight its draws?

Every chain of every row has a vector theta of weights, in float64. The gradient of a step is an estimate of grad U times the
multiplier of its energy's region.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError, SgverifyError
from sgverify.samplers.composites.hooks import Stage, StepHooks, hooks_of
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.estimators import Estimator
from sgverify.samplers.gradients.minibatches import Iid
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.constants import lasting
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.settings import Settings
from sgverify.schemes.composites.adaptation import Adaptation, make_adaptation
from sgverify.schemes.composites.composite import AdaptivelyWeighted, region_below


class AdaptedWeights:
    """The weights theta(1), ..., theta(m) of every chain, shape (S, C, m), in float64 for every dtype of the state.

    Chains are independent: none uses the weights of another. Regions are found by bisection, with the same result as `region_of`.
    """

    def __init__(self, adaptation: Adaptation, *, rows: int, chains: int, device: torch.device) -> None:
        self.adaptation = adaptation
        partition = adaptation.partition

        def fixed(values: Sequence[float]) -> Tensor:
            return lasting(torch.tensor(values, dtype=torch.float64, device=device))

        self._inner, self._widths = fixed(partition.inner), fixed(partition.widths)
        self._lowers, self._top = fixed(partition.edges[:-1]), partition.edges[-1]
        self._numbers = fixed(range(1, partition.bins + 1))
        self.theta = torch.full(
            (rows, chains, partition.bins), adaptation.start, dtype=torch.float64, device=device
        )

    def regions(self, energy: Tensor) -> Tensor:
        """The regions J of energies of shape (S, C), counted from 1, shape (S, C)."""
        return 1 + torch.bucketize(energy, self._inner, right=False)

    def multiplier(self, energy: Tensor) -> Tensor:
        """The multiplier, shape (S, C, 1), of each chain's gradient at energies of shape (S, C)."""
        region = self.regions(energy)[..., None]
        here, below = self._at(region), self._at(region_below(region))
        widths = torch.where(energy[..., None] > self._top, torch.inf, self._widths[region - 1])
        found: Tensor = self.adaptation.multiplier(here, below, Chains(widths)).tensor
        return found

    def adapt(self, k: int, energy: Tensor) -> None:
        """Update theta_(k-1) to theta_k with the energies after step k, shape (S, C)."""
        region = self.regions(energy)[..., None]
        indicator = Chains(self.adaptation.indicator(self._numbers, region).to(torch.float64))
        moved = self.adaptation.next_weight(
            Chains(self.theta), k=k, here=self._at(region), indicator=indicator
        )
        self.theta = moved.tensor

    def log_importance(self, energy: Tensor) -> Tensor:
        """The log weight in averages, shape (S, C), of each chain's state at energies of shape (S, C)."""
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
        """theta(J) at the regions J, shape (S, C, 1)."""
        return Chains(self.theta.gather(-1, region - 1))


class AdaptedEstimator(Estimator):
    """(1 + zeta tau/du (log theta(J) - log theta((J-1) v 1))) times an estimate of grad U, J the region of U (awsgld (19)).

    J is the region of the point at which the gradient is evaluated (for instance a stage of a splitting), with the weights at
    the start of the step. The energy is that of the gradient's minibatch, prior + N/n sum likelihood; the estimate of grad U
    contains the factor N/n already, which is not applied again.
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
        """See `Estimator.energy`: the unweighted U."""
        return self._inner.energy(theta, step, minibatch)

    def evaluate(self, theta: Tensor, step: int, minibatch: int, evaluation: int) -> Tensor:
        """See `Estimator.evaluate`."""
        gradient = self._inner.evaluate(theta, step, minibatch, evaluation)
        energy = self._inner.energy(theta, step, minibatch)
        return gradient * self._weights.multiplier(energy).to(gradient.dtype)

    def prior(self, theta: Tensor) -> Tensor:
        """Raise `ConfigurationError`: the multiplier depends on the whole energy, not on the prior's part."""
        raise _whole("the gradients of prior and likelihood apart")

    def hessian(self, theta: Tensor, vector: Tensor, step: int, minibatch: int) -> Tensor:
        """Raise `ConfigurationError`: the multiplier jumps between regions, so that the gradient has no derivative."""
        raise _whole("Hessian-vector products")


def _whole(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"a step that asks for {what} under adapted weights: expected one of grad(theta), which the weights bend as a whole"
    )


_STEEP = 3.0
"""The size of a multiplier from which the message about diverged chains names it: many schemes are unstable at three times
their step size."""


class Adapting(StepHooks):
    """The hooks of an adaptively weighted run: step k moves the state with theta_(k-1); its energy then gives theta_k.

    The energy that adapts theta is that of all data or, with minibatch gradients, of n data drawn anew with replacement: the
    step's own minibatch has moved the state and is not independent of it. The weight of a draw follows from theta_k and the same
    energy.
    """

    weighted = True
    statistics = MappingProxyType({"region": np.int64})

    def __init__(self, composite: AdaptivelyWeighted, settings: Settings) -> None:
        if settings.annealing is not None and settings.annealing.cooling != 1:
            raise ConfigurationError(
                f"annealing.cooling={settings.annealing.cooling!r} with the composite {composite.name}: the regions and their "
                "weights are those of one temperature; leave it out, or run its scheme alone"
            )
        self._composite, self._settings = composite, settings
        self._made: Adaptation | None = None
        self._weights: AdaptedWeights | None = None
        self._energies: Energies | None = None
        self._energy, self._log = torch.empty(0), torch.empty(0)

    def adaptation(self, potential: Potential) -> Adaptation:
        """The partition and the parameters of the run. Raises `ConfigurationError` if they contradict one another."""
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
        """The source of the energies by which the weights adapt."""
        assert self._energies is not None
        return self._energies

    def why_diverged(self, row: int, chains: np.ndarray) -> str:
        """See `StepHooks.why_diverged`: the largest or a negative multiplier of a region, which may cause the divergence."""
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
        """The energy, its region and the log weight after the latest step, each of shape (S, C)."""
        return {
            "energy": self._energy,
            "region": self.weighting.regions(self._energy),
            "log_weight": self._log,
        }


class Energies:
    """U of the states after each step, or its estimate prior + N/n sum likelihood on separate minibatches."""

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
        """The energy U~, float64 of shape (S, C), at theta, shape (S, C, d), after the step at `place` of the block."""
        if self._source is None:
            return self._potential.energy(theta)
        return self._potential.energy_over(theta, self._drawn[place])

    def chosen(self, place: int) -> Tensor | None:
        """The data indices of the minibatch of that step, shape (n, S, C); None if all data are used."""
        return None if self._source is None else self._drawn[place]


@hooks_of.register
def _(composite: AdaptivelyWeighted, settings: Settings) -> StepHooks:
    return Adapting(composite, settings)
