"""At which step does each chain first reach a level of the energy, and which is its least energy so far?

The memory needed does not grow with L.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.run.leg import (
    Divergence,
    Keeping,
    Position,
    Room,
    RunObserver,
    Statistics,
    by_coordinate,
)
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings, one_thread
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite
from sgverify.targets import Target

# The states of a chain whose energies are computed together, where a kernel hands them over.
_TOGETHER = 1 << 12

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
    progress: Callable[[float], None] | None = None,
    starts: np.ndarray | None = None,
    coldest: bool = False,
    **how: Any,
) -> Hits:
    """Run every row to its last length, or until every chain has reached U <= level.

    `coldest`: of the replicas of each row the first alone is looked at, and is a row of the result; the steps of one row may then
    be taken by a kernel.

    `starts`, shape (C, d), are the initial theta of the chains, equal in every row; by default those of the settings. `how` are
    further arguments of `Ensemble`. Raises `ConfigurationError` as `sample` does.
    """
    ensemble = Ensemble(scheme, target, rows, settings or Settings(), **how)
    replicas = len(ensemble.rows) // len(rows)
    seen = ensemble.rows[::replicas] if coldest else ensemble.rows
    # A kernel hands over the states of one row, of replicas those of the first.
    observer = (_HittingOfOneRow if len(seen) == 1 else _Hitting)(ensemble, level, len(seen))
    diverged: list[Divergence | None] = [None] * len(ensemble.rows)
    longest = max(row.lengths[-1] for row in ensemble.rows)
    with one_thread(), torch.no_grad():
        for part in ensemble.blocks(observer, start=begin_at(ensemble, starts)):
            for row, why in part.diverged.items():
                diverged[row] = why
            if progress is not None:
                progress(part.last / longest)
            if observer.all_reached:
                break
    ended = tuple(diverged[:: len(ensemble.rows) // len(seen)])
    return Hits(seen, level, observer.first.cpu().numpy(), observer.best.cpu().numpy(), ended)


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


class _Hitting(RunObserver):
    """Computes the energy of every state, and records first hits and the least energies."""

    def __init__(self, ensemble: Ensemble, level: float, rows: int) -> None:
        self._replicas = len(ensemble.rows) // rows
        self._potential, self._level = ensemble.potential, level
        self._dtype, self._dim = ensemble.dtype, ensemble.target.dim
        self._others = len(ensemble.scheme.state) - 1
        shape = (rows, len(ensemble.chains))
        self.first = torch.full(shape, NEVER, dtype=torch.int64, device=ensemble.device)
        self.best = torch.full(shape, torch.inf, dtype=torch.float64, device=ensemble.device)

    @property
    def all_reached(self) -> bool:
        return bool((self.first != NEVER).all())

    def show(self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> None:
        """Record the energies of the states after step `number`."""
        energy = self._potential.energy(state[0][:: self._replicas])
        places = [row // self._replicas for row in rows[:: self._replicas]]
        # An energy of NaN, after a divergence, is neither a new minimum nor a hit.
        self.best[places] = torch.fmin(self.best[places], energy)
        first = self.first[places]
        self.first[places] = torch.where((first == NEVER) & (energy <= self._level), number, first)


class _HittingOfOneRow(_Hitting, Keeping):
    """The same of a run of one row, whose steps a kernel may take: the states of many steps are looked at together."""

    _states = np.empty((0, 0, 0))

    def room(self, rows: tuple[int, ...], number: int, steps: np.ndarray) -> Room:
        """See `Keeping.room`."""
        dtype = torch.empty(0, dtype=self._dtype).numpy().dtype
        self._states = np.empty((len(steps), self.first.shape[1], self._dim), dtype)
        return Room(np.ones(len(steps), dtype=bool), (self._states, *[None] * self._others))

    def keep(
        self, rows: tuple[int, ...], number: int, steps: np.ndarray, statistics: Statistics | None = None
    ) -> None:
        """See `Keeping.keep`."""
        for start in range(0, len(steps), _TOGETHER):
            energy = self._potential.energy(
                torch.from_numpy(self._states[start : min(start + _TOGETHER, len(steps))])
            )
            # An energy of NaN is no minimum; infinity stands for it.
            least = torch.where(energy.isnan(), torch.inf, energy).amin(0)
            self.best[0] = torch.fmin(self.best[0], least)
            at = energy <= self._level
            hit = at.any(0) & (self.first[0] == NEVER)
            self.first[0] = torch.where(hit, number + start + at.int().argmax(0), self.first[0])
