"""Which modes of a function have the chains of a run visited, and at which states?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from sgverify.samplers import Row, Settings
from sgverify.samplers.composites.adapting import Adapting
from sgverify.samplers.run.recording import DrawRecording, Draws, Outlet
from sgverify.samplers.run.run import Ensemble
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite
from sgverify.targets import Target

EVERY = 5
"""Every 5th state is examined."""
CLOUD = 300
"""The number of states of the first chain that are kept."""
TOGETHER = 1 << 10
"""The states of a chain that are looked at together."""


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
    return tuple(_trail(scheme, target, row, settings, modes, points) for row in rows)


def _trail(
    scheme: Scheme | Composite, target: Target, row: Row, settings: Settings, modes: Modes, points: int
) -> VisitTrail:
    ensemble = Ensemble(scheme, target, [row], replace(settings, thinning=EVERY))
    looks, square = row.lengths[-1] // EVERY, modes.radius**2
    kept = {number * EVERY for number in np.geomspace(1, looks, points).round().astype(int).tolist()}
    thinning = EVERY * max(1, looks // CLOUD)
    seen = np.zeros((settings.chains, len(modes.places)), dtype=bool)
    numbers, shares, cloud = list[int](), list[np.ndarray](), list[np.ndarray]()

    def look(draws: Draws) -> None:
        for number, theta in zip(draws.numbers.tolist(), draws.values["theta"].swapaxes(0, 1), strict=True):
            apart = theta[:, None, :] - modes.places
            np.logical_or(seen, (apart * apart).sum(-1) <= square, out=seen)
            if number in kept:
                numbers.append(number)
                shares.append(seen.mean(-1))
            if number % thinning == 0:
                cloud.append(theta[0].copy())

    recording = DrawRecording(ensemble, energy=False, outlet=Outlet(look, TOGETHER))
    recording.advance()
    look(recording.draws())
    hooks = ensemble.hooks
    return VisitTrail(
        np.array(numbers),
        np.array(shares),
        np.array(cloud),
        hooks.weighting.theta[0].numpy() if isinstance(hooks, Adapting) else None,
        "".join(map(str, recording.diverged[:1])),
    )
