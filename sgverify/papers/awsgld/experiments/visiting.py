"""Which modes of a function have the chains of a run visited, and at which states?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers import Row, Settings, one_thread
from sgverify.samplers.composites.adapting import Adapting
from sgverify.samplers.run.leg import Keeping, Room, RunObserver, Statistics
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite
from sgverify.targets import Target

EVERY = 5
"""Every 5th state is examined."""
CLOUD = 300
"""The number of states of the first chain that are kept."""


@dataclass(frozen=True, eq=False)
class Modes:
    """Places of the modes, shape (M, 2), and the distance from one within which it counts as visited."""

    places: np.ndarray = field(repr=False)
    radius: float


@dataclass(frozen=True, eq=False)
class VisitTrail:
    """The modes that the chains of a row have visited, and some of their states.

    `numbers` of the iterations, shape (K,), the share of the modes that each chain had visited by then, (K, C), the states of
    the first chain, (n, 2), and the adapted weights at the end, (C, m), where there are any. `ended`: why it ended early.
    """

    numbers: np.ndarray
    shares: np.ndarray = field(repr=False)
    cloud: np.ndarray = field(repr=False)
    weights: np.ndarray | None = field(default=None, repr=False)
    ended: str = ""


def modes_of(name: str, box: float) -> Modes:
    """The modes with |theta_i| <= box: the lattice points where every cosine of the function is as high as it gets.

    The true minima lie nearer to the origin, by less than a hundredth of the lattice's spacing.
    """
    if name == "rastrigin":
        reach = int(box)
        return Modes(np.array(list(product(range(-reach, reach + 1), repeat=2)), dtype=np.float64), 0.25)
    steps = range(-int(box / math.pi), int(box / math.pi) + 1)
    lattice = np.array(
        [(i * math.pi, j * math.pi * math.sqrt(2)) for i in steps for j in steps if (i + j) % 2 == 0]
    )
    return Modes(lattice[np.abs(lattice).max(axis=1) <= box], 1.0)


def visit(
    scheme: Scheme | Composite,
    target: Target,
    rows: Sequence[Row],
    settings: Settings,
    modes: Modes,
    points: int,
) -> tuple[VisitTrail, ...]:
    """Run every row and keep what `VisitTrail` keeps, at `points` iterations evenly in the logarithm; one trail for each row."""
    ensemble = Ensemble(scheme, target, rows, settings)
    length = rows[0].lengths[-1]
    replicas = len(ensemble.rows) // len(rows)
    # A kernel hands over the states of one row, of replicas those of the first.
    observer = (_VisitsOfOneRow if len(rows) == 1 else _Visits)(ensemble, modes, length, points)
    ended = [""] * len(ensemble.rows)
    with one_thread(), torch.no_grad():
        for block in ensemble.blocks(observer):
            for row, why in block.diverged.items():
                ended[row] = str(why)
    weights = None
    if isinstance(ensemble.hooks, Adapting):
        weights = ensemble.hooks.weighting.theta.numpy()
    shares, cloud = np.array(observer.shares), np.array(observer.cloud)
    return tuple(
        VisitTrail(
            np.array(observer.numbers),
            shares[:, row],
            cloud[:, row],
            None if weights is None else weights[row],
            ended[row],
        )
        for row in range(0, len(ensemble.rows), replicas)
    )


class _Visits(RunObserver):
    def __init__(self, ensemble: Ensemble, modes: Modes, length: int, points: int) -> None:
        self._places = torch.tensor(modes.places)
        self._square = modes.radius**2
        looks = length // EVERY
        kept = np.unique(np.geomspace(1, looks, points).round().astype(int)) * EVERY
        self._kept = set(kept.tolist())
        self._thinning = EVERY * max(1, looks // CLOUD)
        self._seen = torch.zeros(
            (len(ensemble.rows), len(ensemble.chains), len(modes.places)), dtype=torch.bool
        )
        self._others = len(ensemble.scheme.state) - 1
        self._at = torch.full((len(ensemble.rows), 2), math.nan, dtype=torch.float64)
        self.numbers: list[int] = []
        self.shares: list[np.ndarray] = []
        self.cloud: list[np.ndarray] = []

    def show(self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> None:
        """See `RunObserver.show`."""
        if number % EVERY == 0:
            self._look(rows, number, state[0])

    def _look(self, rows: tuple[int, ...], number: int, theta: Tensor) -> None:
        apart = theta[..., None, :] - self._places
        self._seen[list(rows)] |= (apart * apart).sum(-1) <= self._square
        if number in self._kept:
            self.numbers.append(number)
            self.shares.append(self._seen.double().mean(-1).numpy())
        if number % self._thinning == 0:
            self._at[list(rows)] = theta[:, 0]
            self.cloud.append(self._at.numpy().copy())


class _VisitsOfOneRow(_Visits, Keeping):
    """The same of a run of one row, whose steps a kernel may take."""

    _states = np.empty((0, 0, 0))

    def show(self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> None:
        """See `RunObserver.show`."""
        super().show(rows[:1], number, (state[0][:1], *state[1:]), steps)

    def room(self, rows: tuple[int, ...], number: int, steps: np.ndarray) -> Room:
        """See `Keeping.room`."""
        marked = np.arange(number, number + len(steps)) % EVERY == 0
        self._states = np.empty((int(marked.sum()), self._seen.shape[1], self._at.shape[1]))
        return Room(marked, (self._states, *[None] * self._others))

    def keep(
        self, rows: tuple[int, ...], number: int, steps: np.ndarray, statistics: Statistics | None = None
    ) -> None:
        """See `Keeping.keep`."""
        kept = range(number + -number % EVERY, number + len(steps), EVERY)
        for at, states in zip(kept, torch.from_numpy(self._states), strict=False):
            self._look(rows[:1], at, states[None])
