"""How does the sampler run replica exchange: rows, energies, swaps, control variates?

Replicas are rows of the tensor; neighbours on the ladder swap after a step, with the probability that
`schemes.composites.exchange` defines. Energies are estimated on a separate minibatch, drawn anew and shared by all replicas of a
chain: on the minibatch that has just moved theta the estimate would be biased at the new theta. A swap also moves the control
variate and its coefficient, so that the noise of the energies has one law before and after the swap, as detailed balance
requires. Pairs that share a replica are tried at different steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.composites.hooks import Stage, StepHooks, hooks_of
from sgverify.samplers.composites.swap_energies import Controls, Measured, SwapEnergies
from sgverify.samplers.randomness.variates import indices
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.constants import lasting
from sgverify.samplers.reading.elementary import exp, log
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.leg import by_coordinate
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings
from sgverify.schemes.composites import composite as exchange_rules
from sgverify.schemes.composites.composite import ReplicaExchange
from sgverify.schemes.definition.abstract_value import SCALAR

_FINEST = 2**31 - 1
"""The number of values of a uniform number: min(1, S) is realised up to 5e-10."""


@dataclass(frozen=True)
class ExchangeChoice:
    """The ladder and the options of swaps; names, meanings and defaults are those of the table `[exchange]`."""

    ladder: Sequence[float] = (1.0, 2.0)
    step_factors: Sequence[float] | None = None
    correction: float = 2.0
    every: int = 1
    intensity: float | None = None
    energies: str | None = None
    variance: str | None = None
    repeats: int = 10
    smoothing: float = 0.1
    refresh: int | None = None
    momentum: str = "rescaled"


class Exchange(StepHooks):
    """The hooks of a `ReplicaExchange`: its swaps.

    `energies` computes the energies that a swap compares. `log_uniforms`, shape (steps, S, C), holds for the steps of the
    present block the logarithms of the uniform numbers that are compared with log S, for each row and the one above it. Checks
    replace both.
    """

    energies: SwapEnergies
    log_uniforms: Tensor
    controls: Controls | None
    period: int
    uniforms, finest = 1, _FINEST
    statistics = MappingProxyType({"swap_probability": np.float64, "walker": np.float64, "swaps": np.int64})

    def __init__(self, composite: ReplicaExchange, settings: Settings) -> None:
        self.composite = composite
        self.choice: Any = settings.exchange if settings.exchange is not None else ExchangeChoice()
        check_choice(self.choice)
        self.replicas, self.every = len(self.choice.ladder), int(self.choice.every)
        self._recorded: dict[str, Tensor] = {}

    def rows(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """See `StepHooks.rows`."""
        factors = self.choice.step_factors or (1.0,) * self.replicas
        intensity = self.choice.intensity
        for row in rows:
            if intensity is not None and intensity * row.at(1) > 1:
                raise ConfigurationError(
                    f"exchange.intensity={intensity!r} with {row.schedule}: a swap would be tried with the chance "
                    f"{intensity * row.at(1):.6g}; expected intensity x step <= 1; leave it out to try at every step"
                )
        return tuple(
            replace(row, replica=k, factor=factor) for row in rows for k, factor in enumerate(factors)
        )

    def temperatures(self, rows: Sequence[Row], settings: Settings) -> np.ndarray:
        """T_k = temperature x ladder_k. See `StepHooks.temperatures`."""
        ladder = [settings.temperature * float(self.choice.ladder[row.replica]) for row in rows]
        return np.array(ladder, dtype=np.float64)

    def enter(self, stage: Stage, state: State, carried: tuple[Tensor, ...]) -> None:
        """See `StepHooks.enter`."""
        theta, self._stage = state[0], stage
        # The options of this stage, whose F may be annealed.
        self.choice = stage.settings.exchange if stage.settings.exchange is not None else self.choice
        # A tensor, since a kernel holds the numbers of a definition in its text, and would be another one for every F.
        F = torch.tensor(float(self.choice.correction), dtype=torch.float64, device=theta.device)
        self._correction = lasting(F)
        self.energies = SwapEnergies(stage, self.choice)
        self._uniform_stream = stage.streams("uniform")
        self._temperatures = self._grouped(torch.from_numpy(stage.temperatures)[:, None].to(theta.device))
        self.period = self.energies.period(self.composite.reduced)
        self.controls = None
        controlled = self.composite.reduced and not self.energies.exact
        self._places = torch.arange(self.replicas, device=theta.device)[None, :, None]
        count = (*theta.shape[:2], 1)
        wide: Any = {"dtype": torch.float64, "device": theta.device}
        # The log chance of the latest swap that was tried with the row above, and the number of swaps, from here on.
        self._tried, self._moves = torch.full(count, torch.nan, **wide), torch.zeros(count, **wide)
        if carried:
            self._variance, self._walkers = carried[:2]
            self.controls = Controls(*carried[2:5]) if controlled else None
            return
        # The variance of exact energies is 0; for others an infinite variance forbids swaps before the first measurement.
        first = 0.0 if self.energies.exact else torch.inf
        self._variance = torch.full(count, first, **wide)
        numbers = torch.tensor([row.replica for row in stage.rows], **wide)
        self._walkers = numbers[:, None, None].expand(count).clone()
        if controlled:
            self.controls = self.energies.control_at(theta)

    def prepare(self, first: int, count: int) -> None:
        """See `StepHooks.prepare`."""
        drawn = indices(self._uniform_stream, first, count, _FINEST)
        self.log_uniforms = log_uniform(drawn.to(torch.float64))

    def after(self, place: int, number: int, state: State, steps: np.ndarray) -> State:
        """Measure the noise if it is due, try to swap, then refresh the control variate if it is due. See `StepHooks.after`."""
        due = not self.energies.exact and number % self.period == 0
        if due:
            self._measure(state[0], number // self.period)
        self._recorded = {}
        if number % self.choice.every == 0:
            state = self._swap(place, number, state, steps)
        if due and self.controls is not None:
            # The noise was measured before the refresh: at a new control it is 0.
            self.controls = self.energies.control_at(state[0], self.controls.coefficient)
        return state

    def renewals(self, first: int) -> tuple[int, ...]:
        """See `StepHooks.renewals`: the next measurement, and with it the next control variate."""
        return () if self.energies.exact else (first + self.period - 1 - first % self.period,)

    @property
    def carried(self) -> tuple[Tensor, ...]:
        """The variance of each pair, the starting row of each walker, and the control variates."""
        controls = () if self.controls is None else self.controls.tensors
        return tuple(by_coordinate(tensor) for tensor in (self._variance, self._walkers, *controls))

    @property
    def variance(self) -> Tensor:
        """sigma^2 of each row's energy less that of the row above, shape (S, C); infinite before the first measurement."""
        return self._variance[..., 0]

    def recorded(self) -> Mapping[str, Tensor]:
        """`energy`; `swap_probability` of each row with the row above; `swapped`, the rows that the state moved; `walker`."""
        return {**self._recorded, "walker": self._walkers[..., 0]}

    def _measure(self, theta: Tensor, event: int) -> None:
        """Measure the variance of each pair's difference and the coefficient, and learn them."""
        self.take_measured(self.energies.measure(theta, self.controls, event, self.replicas))

    def take_measured(self, found: Measured) -> None:
        """Smooth what was measured with the earlier values."""
        gamma = self.choice.smoothing
        if self.composite.adaptive and self.controls is not None:
            now = torch.where(found.coefficient.isfinite(), found.coefficient, self.controls.coefficient)
            self.controls = self.controls.learnt(
                exchange_rules.smoothed(self.controls.coefficient, now, gamma=gamma)
            )
        known = self._variance.isfinite()
        self._variance = torch.where(
            known, exchange_rules.smoothed(self._variance, found.variance, gamma=gamma), found.variance
        )

    def _swap(self, place: int, number: int, state: State, steps: np.ndarray) -> State:
        """Try to swap every pair of the present parity, and move the states of accepted swaps."""
        energy = self.energies.at(state[0], self.controls, number)
        T, (E, V) = self._temperatures, (self._grouped(x[..., 0]) for x in (energy, self._variance))
        low = torch.arange(self.replicas - 1, device=E.device)
        low = low[low % 2 == (number // self.choice.every) % min(2, self.replicas - 1)]
        exponent = self.log_chance(E[:, low], E[:, low + 1], T[:, low], T[:, low + 1], V[:, low])
        if self.choice.intensity is not None:
            h = self._grouped(torch.tensor(steps, dtype=torch.float64, device=E.device)[:, None])[:, :1]
            exponent = exponent + self.log_trial(h)
        accepted = self._grouped(self.log_uniforms[place])[:, low] < exponent
        source = self._places.expand(E.shape).clone()
        source[:, low] += accepted.long()
        source[:, low + 1] -= accepted.long()
        chance = torch.full_like(E, torch.nan)
        chance[:, low] = exp(exponent)
        self._grouped(self._tried)[:, low] = exponent[..., None]
        self._recorded = {
            "energy": energy[..., 0],
            "swap_probability": chance.flatten(0, 1),
            "swapped": (source - self._places).flatten(0, 1),
        }
        # On the CPU a step without accepted swaps returns early; on a device the test would force a synchronisation.
        if accepted.device.type == "cpu" and not bool(accepted.any()):
            return state
        self._walkers = self._moved(self._walkers, source)
        self._moves = self._moves + (source != self._places).flatten(0, 1)[..., None]
        if self.controls is not None:
            self.controls = Controls(*(self._moved(tensor, source) for tensor in self.controls.tensors))
        return self._exchanged(state, source, T)

    def log_chance(
        self, energy_1: Tensor, energy_2: Tensor, tau_1: Tensor, tau_2: Tensor, variance: Tensor
    ) -> Tensor:
        """log min(1, S) of a colder and a warmer replica; see `log_swap_rate`."""
        rate: Tensor = exchange_rules.log_swap_rate(
            energy_1, energy_2, tau_1=tau_1, tau_2=tau_2, variance=variance, F=self._correction
        )
        return rate.clamp(max=0.0)

    def log_trial(self, h: Tensor) -> Tensor:
        """The log of the chance that a swap is tried at all after a step of size h."""
        return (self.choice.intensity * h).log()

    def _exchanged(self, state: State, source: Tensor, T: Tensor) -> State:
        """The state after accepted swaps: theta and memory move, a momentum as configured; a thermostat's friction stays."""
        scheme, moved = self._stage.scheme, []
        for name, tensor in zip(scheme.state, state, strict=True):
            if scheme.shapes[name] == SCALAR or (name == "p" and self.choice.momentum == "kept"):
                moved.append(tensor)
                continue
            value = self._moved(tensor, source)
            if name == "p":
                new = T.expand(source.shape)
                old = new.gather(1, source)
                value = rescaled_momentum(value, *(x.flatten(0, 1)[..., None] for x in (old, new)))
            moved.append(by_coordinate(value))
        return tuple(moved)

    def _moved(self, tensor: Tensor, source: Tensor) -> Tensor:
        """The values, shape (S, C, k), with each row taken from the row `source`, shape (G, R, C), of its group."""
        grouped = self._grouped(tensor)
        return grouped.gather(1, source[..., None].expand(grouped.shape)).flatten(0, 1)

    def _grouped(self, tensor: Tensor) -> Tensor:
        """The rows of shape (S, ...) in groups of R replicas, shape (G, R, ...)."""
        return tensor.unflatten(0, (-1, self.replicas))


def log_uniform(drawn: Tensor) -> Tensor:
    """log((n + 1/2) / finest) of whole numbers 0 <= n < finest, float64; the bits do not depend on where an entry stands."""
    found: Tensor = log((drawn + 0.5) / _FINEST)
    return found


def rescaled_momentum(p: Tensor, old: Tensor, new: Tensor) -> Tensor:
    """Momenta, shape (S, C, d), that move from temperatures `old` to `new`, float64 of shape (S, C, 1) or (S, 1, 1)."""
    was, now = (Chains(tau.to(p.dtype)) for tau in (old, new))
    value: Tensor = exchange_rules.rescaled(Chains(p), old=was, new=now).tensor
    return value


def check_choice(choice: Any) -> None:
    """Raise `ConfigurationError` for an invalid ladder, or for step factors of another length."""
    ladder = [float(value) for value in choice.ladder]
    rising = all(a < b for a, b in pairwise(ladder))
    if len(ladder) < 2 or ladder[0] != 1 or not rising:
        raise ConfigurationError(
            f"exchange.ladder={ladder}: expected 1 and at least one larger number, each above the last: what `temperature` is "
            "multiplied by; write e.g. [1, 4]"
        )
    factors = choice.step_factors
    if factors is not None and len(factors) != len(ladder):
        raise ConfigurationError(
            f"exchange.step_factors={list(factors)}: expected {len(ladder)} numbers, one for each of the ladder"
        )


@hooks_of.register
def _(composite: ReplicaExchange, settings: Settings) -> Exchange:
    return Exchange(composite, settings)
