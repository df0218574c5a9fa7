"""How is a swap of replica exchange recorded for a kernel, and which random numbers does it need?

Energies and rules are those of `Exchange`, recorded as they are; only who exchanges with whom is said for one pair at a time.
Steps at which the noise of energies is measured are left to torch.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.composites.exchange import Exchange, rescaled_momentum
from sgverify.samplers.composites.swap_energies import Controls, SwapEnergies
from sgverify.samplers.fused.composites.energies import RecordedEnergies
from sgverify.samplers.fused.composites.rule import LEAST, Action, Rule
from sgverify.samplers.fused.gradients import TRACED
from sgverify.samplers.fused.minibatches import DrawnInC
from sgverify.samplers.fused.translation import NUMBER, NotTranslatable
from sgverify.samplers.gradients.minibatches import Iid, WithoutReplacement
from sgverify.samplers.reading.constants import Clock
from sgverify.samplers.reading.tape import record
from sgverify.samplers.run.leg import Leg
from sgverify.schemes.definition.abstract_value import SCALAR


class Swaps(Rule):
    """The swaps of a leg of replica exchange, as a kernel takes them.

    Raises `NotTranslatable` for a run that torch has to act on at nearly every step.
    """

    def __init__(self, leg: Leg, hooks: Exchange, patience: float) -> None:
        energies = hooks.energies
        if not energies.exact and hooks.period < LEAST:
            raise NotTranslatable("replica exchange that measures the noise of its energies at every step")
        self.hooks, self.replicas, self.every = hooks, hooks.replicas, int(hooks.choice.every)
        self.event = f"(first + k + 1) % {self.every} == 0"
        self._leg, self._groups = leg, len(leg.places) // hooks.replicas
        self.energies = RecordedEnergies(energies._potential)
        self.batch = 0 if energies.exact else energies._batch
        self._controlled = hooks.controls is not None
        dim, real = leg.target.dim, leg.start[0].dtype
        kinds = [("V", torch.float64, 1), ("W", torch.float64, 1)]
        if self._controlled:
            kinds += [("A", real, dim), ("F", torch.float64, 1), ("C", torch.float64, 1)]
        self.held = [
            (f"{letter}{r}", r, dtype, width) for letter, dtype, width in kinds for r in range(self.replicas)
        ]
        self.numbers = self.replicas + (hooks.choice.intensity is not None)
        self._source: Iid | DrawnInC | None = None
        if not energies.exact:
            self._source = self._of_groups(energies._swaps, patience)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """See `Rule.tensors`."""
        hooks = self.hooks
        controls = () if hooks.controls is None else hooks.controls.tensors
        return (hooks._variance, hooks._walkers, *controls)

    def take(self, tensors: Sequence[Tensor]) -> None:
        """See `Rule.take`."""
        self.hooks._variance, self.hooks._walkers = tensors[:2]
        if self._controlled:
            self.hooks.controls = Controls(*tensors[2:5])

    def until_torch(self, done: int) -> int | None:
        """See `Rule.until_torch`: those before the next measurement."""
        period = self.hooks.period
        return None if self.hooks.energies.exact else period - done % period - 1

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

    def chances(self, first: int, count: int) -> np.ndarray:
        """See `Rule.chances`."""
        self.hooks.prepare(first, count)
        shape = (count, len(self._leg.places), self._leg.settings.chains)
        return np.ascontiguousarray(self.hooks.log_uniforms.expand(shape).numpy())

    def indices(self, first: int, count: int) -> np.ndarray | None:
        """See `Rule.indices`."""
        if self._source is None:
            return None
        every = self.every
        runs = (
            [(first + 1, count)]
            if every == 1
            else [(n, 1) for n in _multiples(every, first + 1, first + count)]
        )
        if not runs:
            return None
        return np.concatenate([_block(self._source, self._groups, *run) for run in runs])

    def actions(self) -> list[Action]:
        """See `Rule.actions`: the swaps of each parity."""
        count = min(2, self.replicas - 1)
        return [
            self._swap(f"{self.event} && (first + k + 1) / {self.every} % {count} == {parity}", parity)
            for parity in range(count)
        ]

    def shown(self) -> Exchange:
        """See `Rule.shown`: no two rows hold equal values, and of the swaps some are accepted and some are not.

        Replicas often start at one point, where an exchange of what they hold would not show; and a first variance is infinite.
        """
        hooks = self.hooks
        found = copy(hooks)
        rows = torch.arange(len(hooks._variance), dtype=torch.float64)[:, None, None]
        known = hooks._variance.isfinite()
        found._variance = torch.where(known, hooks._variance, 1.0) * (1 + rows / 8)
        if hooks.controls is not None:
            at, full, coefficient = hooks.controls.tensors
            apart = rows.to(at.dtype) / 1024
            found.controls = Controls(
                at * (1 + apart) + apart, full * (1 + rows / 1024), coefficient * (1 - rows / 64)
            )

        def prepare(first: int, count: int) -> None:
            hooks_prepare(found, first, count)
            # Of three numbers one always accepts, one always refuses, and one is what it is.
            numbers = found.log_uniforms.expand(count, *known.shape[:2]).clone()
            numbers.view(-1)[0::3], numbers.view(-1)[1::3] = -torch.inf, 0.0
            found.log_uniforms = numbers

        hooks_prepare = type(hooks).prepare
        found.prepare = prepare
        # Without measurements of the noise, which torch takes in any case.
        found.period = sys.maxsize
        return found

    def _swap(self, when: str, parity: int) -> Action:
        hooks, leg = self.hooks, self._leg
        lows = range(parity, self.replicas - 1, 2)
        rows = sorted({*lows, *(low + 1 for low in lows)})
        groups, real, dim = self._groups, leg.start[0].dtype, leg.target.dim
        scheme = leg.bound.definition

        def made(width: int, dtype: torch.dtype = torch.float64) -> Tensor:
            return torch.ones((groups, TRACED, width), dtype=dtype)

        states = {
            r: [made(dim if kind == "vector" else 1, real) for kind in scheme.shapes.values()] for r in rows
        }
        inputs = [(f"X{r}_{v}", value) for r in rows for v, value in enumerate(states[r])]
        others: dict[str, Tensor] = {}
        for name, r, dtype, width in self.held:
            if r in rows:
                others[name] = made(width, dtype)
        inputs += others.items()
        T = {r: torch.ones((groups, 1, 1), dtype=torch.float64) for r in rows}
        inputs += [(f"{NUMBER}number[{r}]", T[r]) for r in rows]
        trial = torch.ones((groups, 1, 1), dtype=torch.float64)
        if hooks.choice.intensity is not None:
            inputs.append((f"{NUMBER}number[{self.replicas}]", trial))
        uniforms = {low: made(1) for low in lows}
        inputs += [(f"U{low}", uniforms[low]) for low in lows]
        energies = self._recorded()
        if energies.minibatch is not None:
            inputs.append(("apart", energies.minibatch))
        changed = [f"X{r}_{v}" for r in rows for v in self._moving(scheme)]
        letters = "WAFC" if self._controlled else "W"
        changed += [f"{letter}{r}" for r in rows for letter in letters]

        def act() -> list[Tensor]:
            self.energies.begin()
            estimates = {}
            for r in rows:
                controls = Controls(*(others[f"{x}{r}"] for x in "AFC")) if self._controlled else None
                estimates[r] = energies.source.at(states[r][0], controls, 1)
            accepted, partner = {}, {}
            for low in lows:
                exponent = hooks.log_chance(
                    estimates[low], estimates[low + 1], T[low], T[low + 1], others[f"V{low}"]
                )
                if hooks.choice.intensity is not None:
                    exponent = exponent + trial
                accepted[low] = accepted[low + 1] = uniforms[low] < exponent
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
            return found

        # One run before the recording, so that the constants exist.
        act()
        return Action(when, record(act, [value for _, value in inputs], (), Clock())[0], inputs, changed)

    def _moving(self, scheme: Any) -> list[int]:
        """The variables of a state that a swap moves."""
        kept = self.hooks.choice.momentum == "kept"
        return [
            v
            for v, name in enumerate(scheme.state)
            if scheme.shapes[name] != SCALAR and not (name == "p" and kept)
        ]

    def _of_groups(self, source: Iid | WithoutReplacement, patience: float) -> Iid | DrawnInC:
        """The source of minibatches that all replicas of a group share."""
        stream = replace(source._stream, keys=np.ascontiguousarray(source._stream.keys[:: self.replicas]))
        if isinstance(source, Iid):
            return Iid(stream, source._size, source._batch)
        how: Any = {"rows": self._groups, "size": source._size, "batch": source._batch, "patience": patience}
        return DrawnInC(type(source), stream, **how)

    def _recorded(self) -> _RecordedSwapEnergies:
        """The energies of swaps, on a potential that records and on one minibatch for all steps."""
        source = copy(self.hooks.energies)
        source._potential = self.energies
        if source.exact:
            return _RecordedSwapEnergies(source, None)
        minibatch = self.energies.minibatch(self.batch, self._groups)
        source._swaps = _Given(minibatch)
        return _RecordedSwapEnergies(source, minibatch)


@dataclass(frozen=True, eq=False)
class _RecordedSwapEnergies:
    source: SwapEnergies
    minibatch: Tensor | None


class _Given:
    """A source of one minibatch."""

    def __init__(self, minibatch: Tensor) -> None:
        self._minibatch = minibatch

    def block(self, first: int, count: int) -> tuple[Tensor]:
        return (self._minibatch,)


def _multiples(every: int, first: int, last: int) -> range:
    """The multiples of a number from `first` to `last`."""
    return range(-(-first // every) * every, last + 1, every)


def _block(source: Iid | DrawnInC, groups: int, first: int, count: int) -> np.ndarray:
    """The data of minibatches, uint32 of shape (count n, G, C)."""
    if isinstance(source, DrawnInC):
        return source.block(first, count)
    drawn = source.block(first, count).flatten(0, 1)
    return np.ascontiguousarray(drawn.expand(-1, groups, -1).numpy().astype(np.uint32))


__all__ = ["Swaps"]
