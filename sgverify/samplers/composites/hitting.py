"""How soon chains reach a level of the energy, and the best energy that each has met; memory does not grow with L."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError
from sgverify.samplers.run.leg import Divergence, Position, RunObserver, by_coordinate
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings, one_thread
from sgverify.schemes import Scheme
from sgverify.schemes.composites.composite import Composite
from sgverify.targets import Target

NEVER = 0
"""In place of the number of a step."""


@dataclass(frozen=True, eq=False)
class Hits:
    """The first steps l >= 1 with U(theta_l) <= level, `NEVER` where there was none, and the least U met. Shapes (S, C).

    U is that of all data, whatever the gradients are of. `diverged`: one entry per row; its chains count up to there.
    """

    rows: tuple[Row, ...]
    level: float
    first: np.ndarray = field(repr=False)
    best: np.ndarray = field(repr=False)
    diverged: tuple[Divergence | None, ...]

    @property
    def reached(self) -> np.ndarray:
        """The share of chains that reached the level, of each row. Shape (S,)."""
        return np.asarray((self.first != NEVER).mean(-1))

    @property
    def median(self) -> np.ndarray:
        """The median of the first steps, infinite where half of the chains or more never did. Shape (S,)."""
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
    **how: Any,
) -> Hits:
    """Run every row to its last length, or until every chain has reached U <= level. `how`: see `Ensemble`.

    `starts`: where the chains begin, in every row; shape (C, d). By default they begin where the settings say.

    Raises `ConfigurationError` as `sample` does.
    """
    ensemble = Ensemble(scheme, target, rows, settings or Settings(), **how)
    observer = _Hitting(ensemble, level)
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
    return Hits(
        ensemble.rows, level, observer.first.cpu().numpy(), observer.best.cpu().numpy(), tuple(diverged)
    )


def begin_at(ensemble: Ensemble, starts: np.ndarray | None) -> Position:
    """Where a run begins, with each chain's theta put at `starts`, shape (C, d), in every row; as the settings say for None.

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
    """Looks at the energy of every state."""

    def __init__(self, ensemble: Ensemble, level: float) -> None:
        self._potential, self._level = ensemble.potential, level
        shape = (len(ensemble.rows), len(ensemble.chains))
        self.first = torch.full(shape, NEVER, dtype=torch.int64, device=ensemble.device)
        self.best = torch.full(shape, torch.inf, dtype=torch.float64, device=ensemble.device)

    @property
    def all_reached(self) -> bool:
        return bool((self.first != NEVER).all())

    def show(self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> None:
        """Look at the states after step `number`."""
        energy = self._potential.energy(state[0])
        places = list(rows)
        # Of NaN, at a divergence, nothing is better and nothing is reached.
        self.best[places] = torch.fmin(self.best[places], energy)
        first = self.first[places]
        self.first[places] = torch.where((first == NEVER) & (energy <= self._level), number, first)


__all__ = ["NEVER", "Hits", "begin_at", "sample_hits"]
