"""How do the replicas of several methods swap between steps? By the sampler's own hooks of each composite.

The rules of swaps, control variates and coefficients are those of `sgverify.samplers.composites.exchange`, which the checks of
replica exchange ask about; here each method gets such an object for its two rows, with the temperatures and F of the present epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reports.applications.chains import BetweenSteps, streams
from reports.applications.classifier.methods import SCHEME, ComparedMethod, Scaled
from reports.applications.classifier.model import Posterior
from reports.applications.classifier.variances import Monitor
from reports.applications.keeping import Arrays
from sgverify.samplers.composites.exchange import Exchange, ExchangeChoice
from sgverify.samplers.composites.hooks import Annealing, Stage, hooks_of
from sgverify.samplers.gradients.estimators import GradientChoice
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings
from sgverify.schemes import find_scheme
from sgverify.schemes.composites import COMPOSITES

State = tuple[Tensor, ...]


@dataclass(eq=False)
class Pair:
    """The two rows of one method, the first of them `first`, with the hooks of its composite and its swaps so far, shape (C,)."""

    method: ComparedMethod
    first: int
    hooks: Exchange
    settings: Settings
    annealing: Annealing
    swaps: np.ndarray

    @property
    def rows(self) -> slice:
        """The rows in the tensor of all methods."""
        return slice(self.first, self.first + 2)


class Swapping(BetweenSteps):
    """The swaps of all methods with two replicas; `monitor` sees the states of each pair before a swap, at the steps it names."""

    def __init__(
        self,
        methods: Sequence[ComparedMethod],
        posterior: Posterior,
        scaled: Scaled,
        *,
        seed: int,
        chains: range,
        monitor: Monitor | None = None,
    ) -> None:
        self._posterior, self._scaled, self.monitor = posterior, scaled, monitor
        self._seed, self._chains = seed, chains
        self.pairs, first = [], 0
        for method in methods:
            if method.swaps is not None:
                self.pairs.append(self._pair(method, first))
            first += len(method.rows)
        self._epoch = -1
        self._carried: dict[str, State] = {}

    def __call__(self, number: int, state: State) -> State:
        """See `BetweenSteps.__call__`."""
        epoch = (number - 1) // self._scaled.epoch
        if epoch != self._epoch:
            self._enter(epoch, state)
        for pair in self.pairs:
            held = tuple(tensor[pair.rows] for tensor in state)
            if self.monitor is not None and number in self.monitor.at:
                self.monitor.see(number, pair.method.label, held[0], pair.hooks.controls)
            steps = np.array([row.step.at(number) for row in pair.method.rows])
            moved = pair.hooks.after(number - 1 - epoch * self._scaled.epoch, number, held, steps)
            swapped = (pair.hooks.recorded()["swapped"][0] != 0).numpy()
            if swapped.any():
                pair.swaps += swapped
                for whole, part in zip(state, moved, strict=True):
                    whole[pair.rows] = part
        return state

    def arrays(self) -> Arrays:
        """See `BetweenSteps.arrays`."""
        found: dict[str, np.ndarray] = {}
        for pair in self.pairs:
            found[f"{pair.method.label}.swaps"] = pair.swaps
            for place, tensor in enumerate(pair.hooks.carried):
                found[f"{pair.method.label}.carried.{place}"] = tensor.numpy()
        return {**found, **({} if self.monitor is None else self.monitor.arrays())}

    def resume(self, arrays: Arrays) -> None:
        """See `BetweenSteps.resume`."""
        for pair in self.pairs:
            pair.swaps = arrays[f"{pair.method.label}.swaps"].copy()
            start = f"{pair.method.label}.carried."
            places = sorted(int(name[len(start) :]) for name in arrays if name.startswith(start))
            self._carried[pair.method.label] = tuple(
                torch.from_numpy(arrays[f"{start}{place}"].copy()) for place in places
            )
        if self.monitor is not None:
            self.monitor.resume(arrays)

    def _pair(self, method: ComparedMethod, first: int) -> Pair:
        """The hooks of a method under the settings of epoch 0."""
        assert method.swaps is not None and method.cold is not None
        scaled, cold = self._scaled, method.cold
        settings = Settings(
            temperature=cold.temperature,
            seed=self._seed,
            gradient=GradientChoice(kind="without-replacement", batch=scaled.batch),
            exchange=ExchangeChoice(
                ladder=scaled.ladder,
                correction=scaled.correction,
                refresh=method.swaps.refresh,
                # As many minibatches as an epoch has: so does the published code.
                variance="repeated",
                repeats=scaled.epoch,
                smoothing=scaled.printed["code"]["smoothing"],
            ),
        )
        hooks: Any = hooks_of(COMPOSITES[method.swaps.composite], settings)
        annealing = Annealing(scaled.epoch, cold.cooling, scaled.cooling, scaled.burn_in)
        return Pair(method, first, hooks, settings, annealing, np.zeros(len(self._chains), dtype=np.int64))

    def _enter(self, epoch: int, state: State) -> None:
        """Begin an epoch: with its temperatures and F, and what the epoch before has left."""
        begun, self._epoch = self._epoch >= 0, epoch
        first, length = epoch * self._scaled.epoch, self._scaled.epoch
        for pair in self.pairs:
            rows = pair.hooks.rows([Row(pair.method.schedule, (self._scaled.steps,))])
            settings = pair.annealing.settings(pair.settings, first)
            stage = Stage(
                find_scheme(SCHEME),
                self._posterior,  # type: ignore[arg-type]
                rows,
                settings,
                pair.hooks.temperatures(rows, settings),
                self._streams(pair.method),
            )
            carried = pair.hooks.carried if begun else self._carried.pop(pair.method.label, ())
            pair.hooks.enter(stage, tuple(tensor[pair.rows] for tensor in state), carried)
            pair.hooks.prepare(first, length)

    def _streams(self, method: ComparedMethod) -> Callable[[str], Stream]:
        """Random streams of swaps: the replicas of a chain share minibatches, and each row has uniform numbers of its own."""

        def of(kind: str) -> Stream:
            keys = (b"0", b"1") if kind == "uniform" else (b"coupled",)
            return streams(self._seed, self._chains, keys=keys)(f"{method.label}-{kind}")

        return of
