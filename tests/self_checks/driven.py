"""Does the running code of replica exchange swap with the right probability, and keep the joint density?

The code is driven: its states, energies, minibatches and uniform numbers are prescribed. Each function returns sentences about
faults. Only the code's effects are observed: bisection of the uniform number gives the probability of a swap, and the
density before and after a swap shows the law that it leaves invariant. No rule of the sampler is restated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers import Settings, fixed
from sgverify.samplers.composites.exchange import Exchange
from sgverify.samplers.composites.swap_energies import Measured
from sgverify.samplers.run.leg import by_coordinate
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes.composites import composite as exchange_rules
from sgverify.schemes.definition.abstract_value import SCALAR
from sgverify.subject.composite import CompositeSubject
from sgverify.subject.seeds import run_seed
from tests.self_checks.weight_rules import energies_of

CHAINS = 64
"""The number of chains in a driven swap, each with its own pair of energies; every second pair reverses the one before."""

BISECTIONS = 60
"""The bisections of a uniform number's logarithm in [-50, 0]: 50 / 2^60 is below the rounding of log S."""

_DEEPEST = -50.0


@dataclass(frozen=True)
class Drive:
    """A composite under a configuration with prescribed inputs; it has S rows, one for each replica, on one schedule."""

    subject: CompositeSubject
    ensemble: Ensemble
    hooks: Exchange

    @property
    def replicas(self) -> int:
        """R, the number of replicas."""
        return self.hooks.replicas

    @property
    def temperatures(self) -> np.ndarray:
        """The configured temperature of each replica, shape (R,)."""
        return self.ensemble.temperatures

    @property
    def parities(self) -> Iterator[tuple[int, list[int]]]:
        """For each set of pairs that are tried together: the number of a step that tries them, and the pairs' colder rows."""
        every, sets = self.hooks.choice.every, min(2, self.replicas - 1)
        for parity in range(sets):
            numbers = [every * (sets * turn + parity) for turn in range(1, 4)]
            # Preferably a step without measurement and refresh.
            number = next((number for number in numbers if number % self.hooks.period), numbers[0])
            yield number, list(range(parity, self.replicas - 1, 2))

    @property
    def h(self) -> np.ndarray:
        """The step size of each replica, shape (R,)."""
        return np.array([row.at(1) for row in self.ensemble.rows])

    def energy(self, theta: Tensor) -> Tensor:
        """U by the target's definition, in float64; theta of shape (S, C, d) gives shape (S, C)."""
        return torch.from_numpy(energies_of(self.subject.target, theta.double().numpy(), None))

    def state(self, stage: str, chains: int, same: bool = False) -> tuple[Tensor, ...]:
        """A random state about the target's location; with `same` every chain has the state of the first."""
        scheme, c = self.subject.scheme, self.subject.configuration
        target, made = (
            self.subject.target,
            torch.Generator().manual_seed(run_seed(self.subject, "swaps", stage)),
        )
        values = []
        for name, kind in scheme.shapes.items():
            wide = 1 if kind == SCALAR else target.dim
            z = torch.randn((self.replicas, 1 if same else chains, wide), generator=made, dtype=torch.float64)
            if kind == SCALAR:
                value = c.friction * (1 + z / 4)
            elif name == "p":
                value = math.sqrt(c.temperature) * z
            else:
                centre, spread = (
                    torch.tensor(x, dtype=torch.float64)
                    for x in (target.location_float64(c.temperature), target.spread_float64(c.temperature))
                )
                value = centre + spread * z
            values.append(by_coordinate(value.expand(-1, chains, -1).to(self.ensemble.dtype)))
        return tuple(values)

    def enter(self, state: tuple[Tensor, ...], carried: tuple[Tensor, ...] = ()) -> None:
        """Start the code at `state`, or continue there with the carried variables of an earlier step."""
        self.hooks.enter(self.ensemble.stage(tuple(range(self.replicas))), state, carried)

    def step(self, number: int, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The state after the code's actions at step `number` (swaps, measurements), applied to a copy of `state`."""
        return self.hooks.after(0, number, tuple(value.clone() for value in state), self.h)


def drive(subject: CompositeSubject, chains: int) -> Drive:
    """The sampler's own object for the composite, with `chains` chains; errors of the configuration are raised."""
    settings = Settings.of(subject.configuration, chains=chains, first_chain=0)
    ensemble = Ensemble(subject.composite, subject.target, fixed([subject.step], [1]), settings)
    assert isinstance(ensemble.hooks, Exchange)
    driven = Drive(subject, ensemble, ensemble.hooks)
    driven.enter(driven.state("begin", chains))
    return driven


def chance_faults(subject: CompositeSubject) -> list[str]:
    """Sentences about swap probabilities, at prescribed energies, that differ from the rule or are not in detailed balance.

    Detailed balance is required for exact energies only.
    """
    found = []
    driven = drive(subject, CHAINS)
    T, F = torch.tensor(driven.temperatures), driven.hooks.choice.correction
    random = torch.Generator().manual_seed(run_seed(subject, "energies"))
    for number, low in driven.parities:
        high = [k + 1 for k in low]
        gaps = 1 / T[low] - 1 / T[high]
        # Energies in halves of the gaps' scale, so that S lies on both sides of 1.
        E = torch.randint(-4, 5, (driven.replicas, CHAINS), generator=random).double() / 2 / gaps.max()
        E[low, 1::2], E[high, 1::2] = E[high, 0::2], E[low, 0::2]
        for size in (0.0, 1.0):
            V = torch.full((driven.replicas, CHAINS), size / float(gaps.max()) ** 2, dtype=torch.float64)
            chance = _log_chance(driven, number, E, V)[low]
            expected = exchange_rules.log_swap_rate(
                E[low], E[high], tau_1=T[low, None], tau_2=T[high, None], variance=V[low], F=F
            ).clamp(max=0.0)
            r = driven.hooks.choice.intensity
            expected = expected + (0.0 if r is None else math.log(r * driven.h[0]))
            worst = float((chance - expected).abs().max())
            if not worst <= 1e-12:
                found.append(
                    f"the log of the chance is off by {worst:.3g}; a swap at energy differences of {_few(E[low] - E[high])} "
                    f"and a variance of {float(V[0, 0]):.3g} is made "
                    f"with another chance than min(1, S): its logarithm is off by up to {worst:.3g}"
                )
            flow = (chance - gaps[:, None] * (E[low] - E[high]))[:, 0::2] - chance[:, 1::2]
            unbalanced = float(flow.abs().max())
            if size == 0 and not unbalanced <= 1e-12:
                found.append(
                    f"flow and reverse flow differ by exp({unbalanced:.3g}); between two states, with exact energies, under "
                    "exp(-U1/T1 - U2/T2)"
                )
    return found


def _log_chance(driven: Drive, number: int, E: Tensor, V: Tensor) -> Tensor:
    """log of the probability that each row swaps with the next, shape (R, C), by bisection of the uniform number."""
    hooks, state = driven.hooks, driven.state("chance", CHAINS)
    low = torch.full(E.shape, _DEEPEST, dtype=torch.float64)
    high = torch.zeros_like(low)
    _enter(driven, state, V)
    hooks.energies.at = lambda theta, controls, number: E[..., None]  # type: ignore
    carried = hooks.carried
    for _ in range(BISECTIONS):
        driven.enter(state, carried)
        _hold(driven, V)
        hooks.energies.at = lambda theta, controls, number: E[..., None]  # type: ignore
        middle = (low + high) / 2
        hooks.log_uniforms = middle[None]
        driven.step(number, state)
        swapped = hooks.recorded()["swapped"] > 0
        low, high = torch.where(swapped, middle, low), torch.where(swapped, high, middle)
    return (low + high) / 2


def law_faults(subject: CompositeSubject) -> list[str]:
    """Sentences about accepted swaps that change the joint density other than by S, or that a second swap does not undo."""
    driven = drive(subject, CHAINS)
    before, found = driven.state("law", CHAINS), []
    T, hooks = torch.tensor(driven.temperatures)[:, None], driven.hooks
    eps = 64 * torch.finfo(driven.ensemble.dtype).eps
    for number, low in driven.parities:
        state = before
        for turn in range(2):
            U = driven.energy(state[0])
            _enter(driven, state, torch.zeros_like(U))
            hooks.energies.at = lambda theta, controls, number, U=U: U[..., None]  # type: ignore
            hooks.log_uniforms = torch.full((1, *U.shape), -torch.inf, dtype=torch.float64)
            after = driven.step(number, state)
            gained = (_log_density(driven, after, T) - _log_density(driven, state, T)).sum(0)
            owed = sum(((1 / T[k] - 1 / T[k + 1]) * (U[k] - U[k + 1]) for k in low), torch.zeros(()))
            scale = float((_log_density(driven, state, T).abs().sum(0) + U.abs().max()).max())
            worst = float((gained - owed).abs().max())
            if not worst <= eps * (scale + 1):
                found.append(
                    f"log density after a swap off by {worst:.3g}; an accepted swap changes the logarithm of the joint density of "
                    f"{', '.join(subject.scheme.state)} by up to that more than log S"
                )
                break
            if hooks.controls is not None and turn == 0:
                apart = (hooks.controls.at - after[0]).abs().max()
                if float(apart) != 0:
                    found.append(
                        "a swap leaves the control variate behind; the noise of the energies has another law after it"
                    )
            state = after
        else:
            worst = max(float((a - b).abs().max()) for a, b in zip(state, before, strict=True))
            if not worst <= eps * max(1.0, max(float(x.abs().max()) for x in before)):
                found.append(f"two swaps in turn do not give the state back; it is off by up to {worst:.3g}")
    return found


def _log_density(driven: Drive, state: tuple[Tensor, ...], T: Tensor) -> Tensor:
    """log of each replica's density exp(-[U + p.p/2 + dim/2 (xi - D)^2]/T), shape (R, C)."""
    scheme, D = driven.subject.scheme, driven.subject.configuration.friction
    total = driven.energy(state[0])
    for name, value in zip(scheme.state, state, strict=True):
        if name == "p":
            total = total + (value.double() ** 2).sum(-1) / 2
        elif scheme.shapes[name] == SCALAR:
            total = total + driven.subject.target.dim / 2 * (value.double()[..., 0] - D) ** 2
    return -total / T


def _enter(driven: Drive, state: tuple[Tensor, ...], V: Tensor) -> None:
    """Start the code at `state` with the variances V, and every control at its replica's own theta."""
    hooks = driven.hooks
    driven.enter(state)
    carried = hooks.carried
    driven.enter(state, (V[..., None], *carried[1:]))
    _hold(driven, V)


def _hold(driven: Drive, V: Tensor) -> None:
    """Replace every later measurement of a variance by V."""
    nothing = torch.full((*V.shape, 1), torch.nan, dtype=torch.float64)
    driven.hooks.energies.measure = lambda *given: Measured(V[..., None], nothing)  # type: ignore


def _few(values: Tensor) -> str:
    return ", ".join(f"{value:.3g}" for value in values.flatten()[:3].tolist())


__all__ = ["CHAINS", "Drive", "chance_faults", "drive", "law_faults"]
