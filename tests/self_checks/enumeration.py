"""Which estimates does the running gradient estimator give on all possible sequences of random numbers?

Random words are prescribed and not drawn. An integer below a bound b is floor(w b / 2^32) of a 32-bit word w. Hence M evenly
spaced words, M a multiple of b, give each integer M/b times, and all sequences of such words give every outcome in proportion to
its probability.
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
"""The most numbers of a chain that a script may fix: those from the upper halves of the words in one cell."""


@dataclass(frozen=True, eq=False)
class Scripted(Stream):
    """A stream whose first integers come from a table of 32-bit words, shape (positions, C); all later words are 0."""

    table: np.ndarray

    @staticmethod
    def of_table(table: np.ndarray) -> Scripted:
        """A stream with one chain for each column of the table."""
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
    """A table, shape (positions, C), of all sequences of `resolution` evenly spaced words at `scripted` positions, 0 elsewhere."""
    bits = (2 * np.arange(resolution, dtype=np.uint64) + 1) * np.uint64(2**31) // np.uint64(resolution)
    grids = np.meshgrid(*[bits] * len(scripted), indexing="ij")
    table = np.zeros((positions, resolution ** len(scripted)), dtype=np.uint64)
    for place, grid in zip(scripted, grids, strict=True):
        table[place] = grid.ravel()
    return table


def resolution_of(size: int) -> int:
    """The least common multiple of 1, ..., N, which is a multiple of the bound of every choice among N data."""
    return math.lcm(*range(1, size + 1))


def estimates(ensemble: Ensemble, numbers: int, states: Callable[[int], np.ndarray]) -> list[np.ndarray]:
    """The estimates, float64 of shape (C, d), on the first `numbers` minibatches of a run.

    `grad` and `grad.fresh()` of the steps 0, 1, ... are evaluated at states(step), shape (d,), in the order in which a step would;
    each step also begins at states(step).
    """
    per_step = max(1, ensemble.scheme.minibatches)
    estimator: Estimator = ensemble.estimator((0,), ensemble.scheme.census)
    found = []
    with one_thread(), torch.no_grad():
        steps = -(-numbers // per_step)
        estimator.prepare(0, steps)
        theta = torch.empty((1, len(ensemble.chains), ensemble.target.dim), dtype=ensemble.dtype)
        for step in range(steps):
            # In place, since a run may overwrite its state.
            theta.copy_(torch.tensor(states(step), dtype=torch.float64))
            estimator.begin(step, theta)
            grad = estimator.of_step(step)
            for number in range(per_step):
                asked = grad if number == 0 else grad.fresh()
                value = asked(Chains(theta)).tensor
                found.append(value[0].to(torch.float64).cpu().numpy().copy())
    return found[:numbers]


def minibatches_of(ensemble: Ensemble, count: int) -> np.ndarray:
    """The data indices of the first `count` minibatches of a run, shape (count, n, C), as its source draws them."""
    choice: Any = ensemble.settings.gradient
    size = ensemble.target.size
    assert size is not None
    stream = ensemble.stage((0,)).streams(choice.kind)
    source = source_of(choice.estimator, choice, stream, size, max(1, ensemble.scheme.minibatches))
    return np.asarray(source.block(0, count)[:, :, 0].cpu().numpy())


def additive_responses(
    ensemble: Ensemble, theta: np.ndarray, steps: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """The estimates at theta, shape (d,), at every evaluation of the first steps, and the normal numbers drawn for them.

    Each estimate has shape (C, d); the normal numbers have shape (numbers, C).
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
