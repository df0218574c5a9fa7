"""The running estimator on every sequence of random numbers that there is: words are handed to it, and not drawn.

Whole numbers below a bound b are floor(w b / 2^32) of a word w. So M words that are spread evenly, with M a multiple of b,
meet each of them M/b times; all sequences of such words meet every outcome as often as it is likely.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.gradients.estimators import Estimator
from sgverify.samplers.gradients.minibatches import source_of
from sgverify.samplers.randomness.philox import ROWS, Stream
from sgverify.samplers.randomness.variates import normals
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.settings import one_thread

MOST_POSITIONS = ROWS
"""Numbers of a chain that a script may fix: those of the upper halves of one cell's words."""


@dataclass(frozen=True, eq=False)
class Scripted(Stream):
    """A stream whose first whole numbers come from a table of 32-bit words, shape (positions, C); the others from 0."""

    table: np.ndarray

    @staticmethod
    def of_table(table: np.ndarray) -> Scripted:
        """A stream for as many chains as the table has columns."""
        keys = np.zeros((1, 2), dtype=np.uint64)
        return Scripted(
            keys, range(table.shape[1]), torch.device("cpu"), np.random.Philox(key=keys[0]), table
        )

    def bits(self, cells: range, runs: range, chains: range) -> Tensor:
        """See `Stream.bits`; the number of a row is the upper half of its word."""
        halves = np.zeros((len(cells), ROWS, 1, len(chains)), dtype=np.uint64)
        if 0 in cells:
            halves[cells.index(0), : len(self.table), 0] = self.table[:, chains.start : chains.stop]
        bits = torch.from_numpy((halves << np.uint64(32)).view(np.int64))
        return bits.expand(-1, -1, len(runs), -1)


def every_sequence(resolution: int, scripted: Sequence[int], positions: int) -> np.ndarray:
    """All sequences of `resolution` evenly spread words at the positions `scripted`, 0 elsewhere. Shape (positions, C)."""
    bits = (2 * np.arange(resolution, dtype=np.uint64) + 1) * np.uint64(2**31) // np.uint64(resolution)
    grids = np.meshgrid(*[bits] * len(scripted), indexing="ij")
    table = np.zeros((positions, resolution ** len(scripted)), dtype=np.uint64)
    for place, grid in zip(scripted, grids, strict=True):
        table[place] = grid.ravel()
    return table


def resolution_of(size: int) -> int:
    """The least common multiple of 1, ..., N: a multiple of every bound that a choice among N data may have."""
    return math.lcm(*range(1, size + 1))


def estimates(ensemble: Ensemble, numbers: int, states: Callable[[int], np.ndarray]) -> list[np.ndarray]:
    """The estimates of the first `numbers` minibatches of a run, each at states(step), (d,): shapes (C, d), float64.

    `grad` and `grad.fresh()` of the steps 0, 1, ... are asked, as a step asks for them; steps begin at states(step) too.
    """
    per_step = max(1, ensemble.scheme.minibatches)
    estimator: Estimator = ensemble.estimator((0,), ensemble.scheme.census)
    found = []
    with one_thread(), torch.no_grad():
        steps = -(-numbers // per_step)
        estimator.prepare(0, steps)
        theta = torch.empty((1, len(ensemble.chains), ensemble.target.dim), dtype=ensemble.dtype)
        for step in range(steps):
            # In place, as a run may overwrite its state.
            theta.copy_(torch.tensor(states(step), dtype=torch.float64))
            estimator.begin(step, theta)
            grad = estimator.of_step(step)
            for number in range(per_step):
                asked = grad if number == 0 else grad.fresh()
                value = asked(Chains(theta)).tensor
                found.append(value[0].to(torch.float64).cpu().numpy().copy())
    return found[:numbers]


def minibatches_of(ensemble: Ensemble, count: int) -> np.ndarray:
    """The data of the first `count` minibatches of a run, as its source draws them. Shape (count, n, C)."""
    choice: Any = ensemble.settings.gradient
    size = ensemble.target.size
    assert size is not None
    stream = ensemble.stage((0,)).streams(choice.kind)
    source = source_of(choice.estimator, choice, stream, size, max(1, ensemble.scheme.minibatches))
    return np.asarray(source.block(0, count)[:, :, 0].cpu().numpy())


def additive_responses(
    ensemble: Ensemble, theta: np.ndarray, steps: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """The estimates at theta, (d,), of every evaluation of the first steps, and the normal numbers that are drawn for them.

    Shapes (C, d) for each, and (numbers, C).
    """
    evaluations = max(1, ensemble.scheme.gradients)
    estimator: Estimator = ensemble.estimator((0,), ensemble.scheme.census)
    found = []
    with one_thread(), torch.no_grad():
        estimator.prepare(0, steps)
        at = torch.tensor(theta, dtype=torch.float64).to(ensemble.dtype).to(ensemble.device)
        states = at.expand(1, len(ensemble.chains), -1)
        for step in range(steps):
            estimator.begin(step, states)
            grad = estimator.of_step(step)
            for _ in range(evaluations):
                found.append(grad(Chains(states)).tensor[0].to(torch.float64).cpu().numpy().copy())
        stream = ensemble.stage((0,)).streams("additive")
        drawn = normals(stream, 0, steps * evaluations * ensemble.target.dim)[:, 0]
    return found, np.asarray(drawn.to(torch.float64).cpu().numpy())
