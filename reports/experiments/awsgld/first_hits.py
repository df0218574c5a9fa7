"""At which step does each chain first reach a level of the energy, and which is its least energy so far?

The memory needed does not grow with L.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from sgverify.errors import ConfigurationError
from sgverify.samplers.run.leg import Divergence, Position, by_coordinate
from sgverify.samplers.run.recording import DrawRecording, Draws, Outlet
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite
from sgverify.targets import Target

# The states of a chain that are looked at together.
_TOGETHER = 1 << 9

NEVER = 0
"""The entry, in place of a step's number, of a chain that never reached the level."""


@dataclass(frozen=True, eq=False)
class Hits:
    """The first steps l >= 1 with U(theta_l) <= level (`NEVER` if there is none), and the least U so far; shapes (S, C).

    U is the energy of all data, for every kind of gradient. `diverged` has one entry per row: the divergence of its chains,
    which count up to that step, or None.
    """

    rows: tuple[Row, ...]
    level: float
    first: np.ndarray = field(repr=False)
    best: np.ndarray = field(repr=False)
    diverged: tuple[Divergence | None, ...]

    @property
    def reached(self) -> np.ndarray:
        """The share of chains in each row that reached the level, shape (S,)."""
        return np.asarray((self.first != NEVER).mean(-1))

    @property
    def median(self) -> np.ndarray:
        """The median of the first steps in each row, shape (S,); infinite if at least half of the chains never reached it."""
        return np.asarray(np.median(np.where(self.first == NEVER, np.inf, self.first), axis=-1))


def sample_hits(
    scheme: Scheme | Composite,
    target: Target,
    rows: Sequence[Row],
    *,
    level: float,
    settings: Settings | None = None,
    starts: np.ndarray | None = None,
) -> Hits:
    """Run every row to its last length, or until each of its chains has reached U <= level; of replicas, the first is looked at.

    `starts`, shape (C, d), are the initial theta of the chains, equal in every row; by default those of the settings. Raises
    `ConfigurationError` as `sample` does.
    """
    parts = [_of_row(scheme, target, row, level, settings or Settings(), starts) for row in rows]
    first, best, diverged = zip(*parts, strict=True)
    return Hits(tuple(rows), level, np.stack(first), np.stack(best), diverged)


def _of_row(
    scheme: Scheme | Composite,
    target: Target,
    row: Row,
    level: float,
    settings: Settings,
    starts: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, Divergence | None]:
    """The first steps at the level, the least energies, and the divergence of one row."""
    ensemble = Ensemble(scheme, target, [row], settings)
    first, best = np.full(settings.chains, NEVER), np.full(settings.chains, np.inf)

    def look(draws: Draws) -> None:
        energies = draws.energies
        if energies is None or not energies.size:
            return
        # An energy of NaN, before a divergence, is neither a new minimum nor a hit.
        best[:] = np.fmin(best, np.fmin.reduce(energies, axis=1))
        at = energies <= level
        new = at.any(1) & (first == NEVER)
        first[new] = draws.numbers[at.argmax(1)[new]]

    outlet, start = Outlet(look, _TOGETHER), begin_at(ensemble, starts)
    recording = DrawRecording(ensemble, outlet=outlet, start=start)
    recording.advance(stop=lambda: bool((first != NEVER).all()))
    look(recording.draws())
    return first, best, next(iter(recording.diverged), None)


def begin_at(ensemble: Ensemble, starts: np.ndarray | None) -> Position:
    """The initial position of a run, with each chain's theta at `starts`, shape (C, d), in every row; None: as configured.

    Raises `ConfigurationError` for another shape and for points that are not finite.
    """
    position = ensemble.begin()
    if starts is None:
        return position
    expected = (len(ensemble.chains), ensemble.target.dim)
    if starts.shape != expected or not np.isfinite(starts).all():
        raise ConfigurationError(
            f"starts of shape {starts.shape}: expected finite numbers of shape {expected}, a point for each chain"
        )
    theta = torch.tensor(starts, dtype=ensemble.dtype, device=ensemble.device)
    theta = by_coordinate(theta.expand_as(position.state[0]))
    return replace(position, state=(theta, *position.state[1:]))
