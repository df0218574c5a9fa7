"""What are the ergodic averages of many chains at many step sizes, and their errors? Memory does not grow with L.

The running sums know which states count, and with which weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.reading.carrier import ObservedFunctions
from sgverify.samplers.run.leg import Block, Divergence, Summing, Sums
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Fixed, Row, burn_ins
from sgverify.samplers.run.settings import Settings, one_thread
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite
from sgverify.targets import Target


class RunningSums(Summing):
    """The run observer that keeps the running sums of a sweep; memory does not grow with L."""

    def __init__(self, ensemble: Ensemble, observables: Sequence[Callable[..., Any]]) -> None:
        rows, chains = ensemble.rows, len(ensemble.chains)
        self._rows, self._state = rows, ensemble.scheme.state
        shapes = ensemble.scheme.shapes.items()
        widths = {name: ensemble.target.dim if kind == "vector" else 1 for name, kind in shapes}
        self.values = np.full((len(observables), len(rows), len(rows[0].lengths), chains), np.nan)
        self.last = {name: np.full((len(rows), chains, width), np.nan) for name, width in widths.items()}
        self.diverged: list[Divergence | None] = [None] * len(rows)
        self._thinning = ensemble.settings.thinning
        self._burn_in = burn_ins(rows, ensemble.settings.burn_in, ensemble.settings.thinning)
        self.asked = ObservedFunctions(tuple(observables), ensemble.scheme.state)
        self._open = tuple(range(len(rows)))
        # The composite's weights are summed too, after the test functions; the last entry is the log of their unit.
        self._weighted = ensemble.hooks is not None and ensemble.hooks.weighted
        self._sums = torch.zeros(
            (len(observables) + 2 * self._weighted, len(rows), chains),
            dtype=torch.float64,
            device=ensemble.device,
        )
        if self._weighted:
            self._sums[-1] = -torch.inf
        self._weights = [0.0] * len(rows)
        # True if every state of every row counts with equal weight.
        self._uniform = not any(row.schedule.weighted for row in rows) and not any(self._burn_in)
        self._uniform = self._uniform and self._thinning == 1

    def sums(self, rows: tuple[int, ...], number: int, steps: np.ndarray) -> Sums:
        """The sums so far, with the weights of the steps number, number + 1, ... of sizes `steps`, shape (K, S)."""
        self._narrow(rows)
        if self._uniform:
            return Sums(self._sums, np.ones_like(steps), np.ones_like(steps) > 0)
        weighted = np.array([self._rows[row].schedule.weighted for row in rows])
        past = number + np.arange(len(steps))[:, None] - np.array([self._burn_in[row] for row in rows])
        numbers: Any = number + np.arange(len(steps))
        asked = [self._rows[row].schedule.samples(numbers) for row in rows]
        sampled = np.stack([np.broadcast_to(answer, len(steps)) for answer in asked], axis=-1)
        counted = (past > 0) & (past % self._thinning == 0) & sampled
        return Sums(self._sums, np.where(weighted, steps, 1.0), counted)

    def settle(self, rows: tuple[int, ...], sums: Sums, total: Tensor) -> None:
        """Take over `total`, the sums after these steps."""
        self._sums = total
        for i, row in enumerate(rows if not self._uniform else ()):
            added = sums.weights[sums.counted[:, i], i]
            # Added one after the other; a pairwise sum would round differently.
            self._weights[row] = float(np.add.accumulate(np.append(self._weights[row], added))[-1])

    def _narrow(self, rows: tuple[int, ...]) -> None:
        """Drop the sums of rows that have ended."""
        if rows != self._open:
            still = [self._open.index(row) for row in rows]
            self._sums, self._open = self._sums[:, still], rows

    def enter(self, block: Block) -> None:
        """Record the averages, last states and divergences at the end of a block."""
        for i, row in enumerate(block.rows):
            if row in block.diverged:
                self.diverged[row] = block.diverged[row]
                continue
            lengths = self._rows[row].lengths
            if block.last in lengths:
                place = lengths.index(block.last)
                self.values[:, row, place] = as_float64(self._averages(i, row, block.last))
            if block.last == lengths[-1]:
                for name in self._state:
                    self.last[name][row] = as_float64(block.state[name][i])

    def _averages(self, i: int, row: int, length: int) -> Tensor:
        """The averages, shape (observables, C), of a row, the i-th running one, over its first `length` steps."""
        sums = self._sums[:, i]
        if self._weighted:
            return sums[:-2] / sums[-2]
        return sums / (length if self._uniform else self._weights[row])

    def share(self, block: Block) -> float:
        """The finished share of all steps; a diverged row has no steps left."""
        total = done = 0
        for row, why in zip(self._rows, self.diverged, strict=True):
            total += row.lengths[-1]
            done += row.lengths[-1] if why is not None else min(block.last, row.lengths[-1])
        return done / total


def as_float64(tensor: Tensor) -> np.ndarray:
    """A tensor of any device and dtype as a float64 array of numpy."""
    return tensor.to(torch.float64).cpu().numpy()


@dataclass(frozen=True, eq=False)
class Averages:
    """The running averages of each chain, and its last state.

    `values`, shape (observables, S, K, C), holds the averages over l = 1..L at each of a row's K lengths L, with weights h_l on a
    power or cyclical schedule. States in the burn-in, between thinned states, and in the exploration stage of a cycle do not
    count. An entry is NaN if the row had diverged, or if the length was not reached. `last` holds each variable after its row's
    last step, shape (S, C, d). `diverged` has one entry per row: its divergence, or None.
    """

    rows: tuple[Row, ...]
    values: np.ndarray = field(repr=False)
    last: dict[str, np.ndarray] = field(repr=False)
    diverged: tuple[Divergence | None, ...]
    complete: bool

    @property
    def steps(self) -> np.ndarray:
        """h of each row, or the scale of its schedule, shape (S,)."""
        schedules = [(row.schedule, row.factor) for row in self.rows]
        return np.array(
            [(item.step if isinstance(item, Fixed) else item.scale) * factor for item, factor in schedules]
        )

    @property
    def lengths(self) -> np.ndarray:
        """The lengths at which each row is averaged, shape (S, K)."""
        return np.array([row.lengths for row in self.rows])

    @property
    def mean(self) -> np.ndarray:
        """The average over chains, shape (observables, S, K)."""
        return np.asarray(self.values.mean(-1))

    @property
    def standard_error(self) -> np.ndarray:
        """The standard error of `mean` from the spread between chains, shape (observables, S, K)."""
        return _standard_error(self.values)


def sample(
    scheme: Scheme | Composite,
    target: Target,
    rows: Sequence[Row],
    *,
    observables: Sequence[Callable[..., Any]],
    settings: Settings | None = None,
    progress: Callable[[float], None] | None = None,
    hoist: bool = True,
    block: int | None = None,
    tape: bool = True,
) -> Averages:
    """Run every row of a sweep and average the observables along every chain.

    An observable is called with theta (and p, if the state has a momentum), coordinates on the last axis:
    (*chains, d) -> (*chains), in arithmetic and integer powers. It is summed in float64 for every dtype of the state. An
    observable with an attribute `variables` is called with the state variables of these names instead.
    All rows need the same number of lengths. `progress` is called with the finished share. Ctrl-C ends the run, which then
    returns the averages reached, with `complete=False`. `hoist`, `block` and `tape` (see `Ensemble`) only change the speed.
    Raises `ConfigurationError` if scheme, target, rows and settings contradict one another.
    """
    settings = settings or Settings()
    ensemble = Ensemble(scheme, target, rows, settings, hoist=hoist, block=block, tape=tape)
    sums_so_far = RunningSums(ensemble, observables)
    complete = True
    with one_thread(), torch.no_grad():
        try:
            for part in ensemble.blocks(sums_so_far):
                sums_so_far.enter(part)
                if progress is not None:
                    progress(sums_so_far.share(part))
        except KeyboardInterrupt:
            complete = False
    return Averages(
        ensemble.rows, sums_so_far.values, sums_so_far.last, tuple(sums_so_far.diverged), complete
    )


def _standard_error(values: np.ndarray) -> np.ndarray:
    chains = values.shape[-1]
    if chains < 2:
        return np.full(values.shape[:-1], np.nan)
    return np.asarray(values.std(-1, ddof=1) / np.sqrt(chains))
