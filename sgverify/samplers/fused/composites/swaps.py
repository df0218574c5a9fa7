"""How is a swap of replica exchange recorded for a kernel, and which random numbers does it need?

Energies and rules are those of `Exchange`, recorded as they are: the measurement of the energies' noise, the swaps, the refresh of
control variates. Only who exchanges with whom, and whose energies are compared, is said for one pair at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.composites.exchange import Exchange, log_uniform, rescaled_momentum
from sgverify.samplers.composites.swap_energies import Controls, Measured, SwapEnergies
from sgverify.samplers.fused.composites.energies import (
    EnergyMinibatch,
    RecordedEnergies,
    sample_of_energies,
)
from sgverify.samplers.fused.composites.rule import Action, EnergyStream, Rule
from sgverify.samplers.fused.gradients import TRACED
from sgverify.samplers.fused.loops import taped
from sgverify.samplers.fused.translation import NUMBER
from sgverify.samplers.reading.binding import bind_settings
from sgverify.samplers.reading.elementary import exp
from sgverify.samplers.run.leg import Leg, Statistics
from sgverify.schemes import Scheme
from sgverify.schemes.definition.abstract_value import SCALAR
from sgverify.schemes.definition.binding import Bound


class Swaps(Rule):
    """The swaps of a leg of replica exchange, as a kernel takes them."""

    kept, finest = ("W0", "P0", "N0"), Exchange.finest
    energies: RecordedEnergies

    def __init__(self, leg: Leg, hooks: Exchange, patience: float = math.inf) -> None:
        super().__init__(leg, hooks)
        energies = hooks.energies
        self.replicas, self.every = hooks.replicas, int(hooks.choice.every)
        self.event = f"(first + k + 1) % {self.every} == 0"
        self._groups = len(leg.places) // hooks.replicas
        self.energies = RecordedEnergies(energies._potential)
        self._controlled = hooks.controls is not None
        dim, real = leg.target.dim, leg.start[0].dtype
        kinds = [("V", torch.float64, 1), ("W", torch.float64, 1)]
        if self._controlled:
            kinds += [("A", real, dim), ("F", torch.float64, 1), ("C", torch.float64, 1)]
        kinds += [("P", torch.float64, 1), ("N", torch.float64, 1)]
        self.held = [
            (f"{letter}{r}", r, dtype, width) for letter, dtype, width in kinds for r in range(self.replicas)
        ]
        self.numbers = self.replicas + (hooks.choice.intensity is not None)
        self.uniforms = hooks._uniform_stream
        if not energies.exact:
            how: Any = {"replicas": self.replicas, "rows": self._groups, "patience": patience}
            repeats = energies._choice.repeats if energies.repeated else 1
            swaps = EnergyStream(energies._swaps, every=self.every, **how)
            variances = EnergyStream(
                energies._variances, every=hooks.period, each=repeats, divisor=hooks.period, **how
            )
            self.streams = swaps, variances
            # The energies of repeated minibatches, or of the data of one.
            self.sampled = (repeats, energies._batch) if energies.repeated else (energies._batch, 1)

    @property
    def bounds(self) -> list[Bound[Scheme]]:
        """See `Rule.bounds`: each replica at its temperature."""
        leg, R = self._leg, self.replicas
        T = self.hooks.temperatures(leg.rows, leg.settings)
        each = (np.ascontiguousarray(T[r::R]) for r in range(R))
        return [
            bind_settings(leg.bound.definition, leg.settings, leg.target.dim, leg.clock, own) for own in each
        ]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """See `Rule.tensors`."""
        hooks = self.hooks
        controls = () if hooks.controls is None else hooks.controls.tensors
        return (hooks._variance, hooks._walkers, *controls, hooks._tried, hooks._moves)

    def take(self, tensors: Sequence[Tensor]) -> None:
        """See `Rule.take`."""
        self.hooks._variance, self.hooks._walkers = tensors[:2]
        if self._controlled:
            self.hooks.controls = Controls(*tensors[2:5])
        self.hooks._tried, self.hooks._moves = tensors[-2:]

    def step_numbers(self, first: int, steps: np.ndarray) -> np.ndarray:
        """See `Rule.step_numbers`: temperatures, and the log chance of a trial."""
        hooks = self.hooks
        shape = (len(steps), self._groups, self.replicas)
        temperatures = np.broadcast_to(hooks._temperatures[..., 0].numpy(), shape)
        if hooks.choice.intensity is None:
            return np.ascontiguousarray(temperatures)
        sizes = steps.reshape(len(steps), self._groups, self.replicas)[..., :1]
        # Step by step, as the hooks do: a logarithm may round differently by an entry's position.
        tried = [hooks.log_trial(torch.tensor(row)[..., None])[..., 0].numpy() for row in sizes]
        return np.ascontiguousarray(np.concatenate([temperatures, np.array(tried)], axis=-1))

    def choose(self, count: int) -> None:
        """See `Rule.choose`."""
        self.put = _some_put(count, len(self._leg.places), self._leg.settings.chains).numpy()

    def drew(self, hooks: Exchange) -> bool:
        """See `Rule.drew`: at every place at which a swap was tried."""
        mine = log_uniform(torch.from_numpy(self.put))
        its, known = hooks.log_uniforms.expand(len(hooks.log_uniforms), *mine.shape[1:]), ~mine.isnan()
        return torch.equal(mine[: len(its)][known[: len(its)]], its[known[: len(its)]])

    def statistics(
        self, first: int, marked: np.ndarray, kept: Sequence[np.ndarray], before: Sequence[Tensor]
    ) -> Statistics:
        """See `Rule.statistics`, and `Exchange.recorded`."""
        every, numbers = self.every, first + 1 + marked.nonzero()[0]
        tried = numbers % every == 0
        own = tried & (numbers // every % min(2, self.replicas - 1) == 0)
        chance = np.where(own[:, None], exp(torch.from_numpy(kept[1])).numpy(), np.nan)
        moves = [before[-1][:1, :, 0].numpy(), kept[2], self.tensors[-1][:1, :, 0].numpy()]
        events = np.concatenate([[first], numbers, [first + len(marked)]]) // every
        return Statistics(
            {"swap_probability": (chance, tried), "walker": (kept[0], np.ones_like(tried))},
            (np.diff(np.concatenate(moves), axis=0).astype(np.int64), np.diff(events) > 0),
        )

    @property
    def minibatches(self) -> dict[str, EnergyMinibatch]:
        """See `Rule.minibatches`: those of swaps and of measurements."""
        if self.sampled is None:
            return {}
        swaps, variances = self.streams
        return {
            _SWAPS: swaps.minibatch(_SWAPS, swaps.batch),
            _MEASURED: variances.minibatch(_MEASURED, self.sampled[1]),
        }

    def actions(self) -> list[Action]:
        """See `Rule.actions`: the swaps of each parity, a measurement before them and new control variates after them."""
        count, event = min(2, self.replicas - 1), f"(first + k + 1) % {self.every} == 0"
        found = [
            self._swap(f"{event} && (first + k + 1) / {self.every} % {count} == {parity}", parity)
            for parity in range(count)
        ]
        if self.sampled is None:
            return found
        found = [self._measurement(), *found]
        return [*found, self._refresh()] if self._controlled else found

    def shown(self) -> Exchange:
        """See `Rule.shown`: no two rows hold equal values, and of the swaps some are accepted and some are not.

        Replicas often start at one point, where an exchange of what they hold would not show; and a first variance is infinite.
        """
        hooks = self.hooks
        found = copy(hooks)
        rows = torch.arange(len(hooks._variance), dtype=torch.float64)[:, None, None]
        known = hooks._variance.isfinite()
        variance = torch.where(known, hooks._variance, 1.0) * (1 + rows / 8)
        if not hooks.energies.exact:
            # Of some chains the noise has not been measured yet.
            variance[:, ::5] = torch.inf
        found._variance, found._tried = variance, hooks._tried.clone()
        if hooks.controls is not None:
            at, full, coefficient = hooks.controls.tensors
            apart = rows.to(at.dtype) / 1024
            found.controls = Controls(
                at * (1 + apart) + apart, full * (1 + rows / 1024), coefficient * (1 - rows / 64)
            )

        def prepare(first: int, count: int) -> None:
            hooks_prepare(found, first, count)
            put = _some_put(count, *known.shape[:2])
            found.log_uniforms = torch.where(put.isnan(), found.log_uniforms, log_uniform(put))

        hooks_prepare = type(hooks).prepare
        found.prepare = prepare
        return found

    def _made(self, width: int, dtype: torch.dtype = torch.float64) -> Tensor:
        return torch.ones((self._groups, TRACED, width), dtype=dtype)

    def _held(self, letters: str, rows: Sequence[int]) -> dict[str, Tensor]:
        """Tensors for what is held of these replicas, by name."""
        return {
            name: self._made(width, dtype)
            for name, r, dtype, width in self.held
            if name[0] in letters and r in rows
        }

    def _places(self, rows: Sequence[int]) -> dict[int, Tensor]:
        """Tensors for theta of these replicas."""
        leg = self._leg
        return {r: self._made(leg.target.dim, leg.start[0].dtype) for r in rows}

    def _controls(self, held: dict[str, Tensor], r: int) -> Controls | None:
        return Controls(*(held[f"{letter}{r}"] for letter in "AFC")) if self._controlled else None

    def _measurement(self) -> Action:
        """The variance of each pair, and the coefficients of control variates, where the noise of energies is measured."""
        hooks, rows = self.hooks, range(self.replicas)
        theta, held = self._places(rows), self._held("VAFC", rows)
        energies = _RecordedSwapEnergies(hooks.energies, self.energies, self._groups, self.sampled)
        inputs = [(f"X{r}_0", theta[r]) for r in rows]
        inputs += [*held.items(), (_MEASURED, energies.sample)]
        learns = hooks.composite.adaptive and self._controlled

        def act() -> list[Tensor]:
            self.energies.begin()
            found = [energies.estimates(theta[r], self._controls(held, r), 1) for r in rows]
            learnt = []
            for r in rows:
                # The last row has no row above it.
                above = found[min(r + 1, self.replicas - 1)]
                mine = copy(hooks)
                mine._variance, mine.controls = held[f"V{r}"], self._controls(held, r)
                variance = found[r].variance(found[r].values - above.values)
                mine.take_measured(Measured(variance, found[r].coefficient))
                learnt.append(mine)
            news = [mine._variance for mine in learnt]
            return news + ([mine.controls.coefficient for mine in learnt] if learns else [])

        changed = [f"{letter}{r}" for letter in ("VC" if learns else "V") for r in rows]
        return Action(self.streams[1].event, taped(act, inputs), changed)

    def _refresh(self) -> Action:
        """New control variates at the states after the swaps."""
        rows = range(self.replicas)
        theta, held = self._places(rows), self._held("C", rows)
        source = copy(self.hooks.energies)
        source._potential = self.energies
        inputs = [(f"X{r}_0", theta[r]) for r in rows] + [*held.items()]

        def act() -> list[Tensor]:
            found = [source.control_at(theta[r], held[f"C{r}"]) for r in rows]
            return [control.at for control in found] + [control.full for control in found]

        changed = [f"{letter}{r}" for letter in "AF" for r in rows]
        return Action(self.streams[1].event, taped(act, inputs), changed)

    def _swap(self, when: str, parity: int) -> Action:
        hooks, leg = self.hooks, self._leg
        lows = range(parity, self.replicas - 1, 2)
        rows = sorted({*lows, *(low + 1 for low in lows)})
        groups, real, dim, made = self._groups, leg.start[0].dtype, leg.target.dim, self._made
        scheme = leg.bound.definition

        states = {
            r: [made(dim if kind == "vector" else 1, real) for kind in scheme.shapes.values()] for r in rows
        }
        inputs = [(f"X{r}_{v}", value) for r in rows for v, value in enumerate(states[r])]
        others = self._held("VWAFCN", rows)
        inputs += others.items()
        T = {r: torch.ones((groups, 1, 1), dtype=torch.float64) for r in rows}
        inputs += [(f"{NUMBER}number[{r}]", T[r]) for r in rows]
        trial = torch.ones((groups, 1, 1), dtype=torch.float64)
        if hooks.choice.intensity is not None:
            inputs.append((f"{NUMBER}number[{self.replicas}]", trial))
        uniforms = {low: made(1) for low in lows}
        inputs += [(f"U{low}", uniforms[low]) for low in lows]
        energies = _RecordedSwapEnergies(hooks.energies, self.energies, groups, self.sampled)
        if self.sampled is not None:
            inputs.append((_SWAPS, energies.given))
        changed = [f"X{r}_{v}" for r in rows for v in self._moving(scheme)]
        letters = "WAFC" if self._controlled else "W"
        changed += [f"{letter}{r}" for r in rows for letter in letters]
        changed += [*(f"P{low}" for low in lows), *(f"N{r}" for r in rows)]

        def act() -> list[Tensor]:
            self.energies.begin()
            estimates = {}
            for r in rows:
                estimates[r] = energies.at(states[r][0], self._controls(others, r), 1)
            accepted, partner, tried = {}, {}, []
            for low in lows:
                exponent = hooks.log_chance(
                    estimates[low], estimates[low + 1], T[low], T[low + 1], others[f"V{low}"]
                )
                if hooks.choice.intensity is not None:
                    exponent = exponent + trial
                tried.append(exponent)
                accepted[low] = accepted[low + 1] = log_uniform(uniforms[low]) < exponent
                partner[low], partner[low + 1] = low + 1, low
            found = []
            for r in rows:
                other = partner[r]
                for v in self._moving(scheme):
                    value = states[other][v]
                    if scheme.state[v] == "p":
                        value = rescaled_momentum(value, T[other], T[r])
                    found.append(torch.where(accepted[r], value, states[r][v]))
            for r in rows:
                for letter in letters:
                    mine, its = others[f"{letter}{r}"], others[f"{letter}{partner[r]}"]
                    found.append(torch.where(accepted[r], its, mine))
            moves = [torch.where(accepted[r], others[f"N{r}"] + 1, others[f"N{r}"]) for r in rows]
            return [*found, *tried, *moves]

        return Action(when, taped(act, inputs), changed)

    def _moving(self, scheme: Any) -> list[int]:
        """The variables of a state that a swap moves."""
        kept = self.hooks.choice.momentum == "kept"
        return [
            v
            for v, name in enumerate(scheme.state)
            if scheme.shapes[name] != SCALAR and not (name == "p" and kept)
        ]


def _some_put(*shape: int) -> Tensor:
    """Of five numbers one always accepts (log 0), one always refuses (log 1), and three are NaN, to be drawn."""
    found = torch.full(shape, torch.nan, dtype=torch.float64)
    found.view(-1)[0::5], found.view(-1)[1::5] = -0.5, Exchange.finest - 0.5
    return found


class _RecordedSwapEnergies(SwapEnergies):
    """Energies of swaps on a potential that records, on one minibatch for all swaps and one sample for all measurements."""

    def __init__(
        self,
        energies: SwapEnergies,
        potential: RecordedEnergies,
        groups: int,
        sampled: tuple[int, int] | None,
    ) -> None:
        vars(self).update(vars(energies))
        self._potential = potential
        if sampled is None:
            return
        count, size = sampled
        self.given = potential.minibatch(energies._batch, groups)
        self.sample = potential.minibatch(size, groups)[:, None].repeat(1, count, 1, 1)
        self._share = energies.spread(1)[1]

    def minibatch(self, number: int) -> Tensor:
        """See `SwapEnergies.minibatch`."""
        return self.given

    def _sample(self, theta: Tensor, event: int) -> tuple[Tensor, float]:
        return sample_of_energies(theta, self.sample), self._share


_SWAPS, _MEASURED = "apart[0]", "apart[1]"
"""The streams of minibatches in C: those of swaps, and those of measurements."""
