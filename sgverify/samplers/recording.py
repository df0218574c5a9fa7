"""The states of a run as draws: kept one by one, so that memory grows with what is kept and with nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.blocks import Divergence
from sgverify.samplers.run import Ensemble
from sgverify.samplers.schedules import burn_ins
from sgverify.samplers.settings import one_thread
from sgverify.samplers.tape import Tape

# Draws that wait on the device before they are moved to the host, and their energies computed, together.
_TOGETHER = 128


@dataclass(frozen=True, eq=False)
class Draws:
    """The states X_l at l = burn_in + thinning, burn_in + 2 thinning, ... of every row and chain of a run.

    `numbers` holds l, shape (n,); `values` each variable, shape (S, C, n, d or 1), in the dtype of the run; `energies`
    U(theta), float64, shape (S, C, n), None where it was not asked for; `steps` h_l, shape (S, n). `diverged`: which
    chain left every bound, and when: the draws end before that step. `reached`: the last step of the run.
    `complete`: whether that is the one that was asked for.
    """

    numbers: np.ndarray
    values: dict[str, np.ndarray] = field(repr=False)
    energies: np.ndarray | None = field(repr=False)
    steps: np.ndarray = field(repr=False)
    diverged: tuple[Divergence, ...]
    reached: int
    complete: bool


def record(
    ensemble: Ensemble,
    *,
    energy: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Draws:
    """Run an ensemble, all of whose rows have one length, and keep its draws.

    `progress` is told the number of steps that are done. Ctrl-C ends the run, and so does the first chain that
    diverges; what was drawn until then is returned. Raises `ConfigurationError` where burn-in and thinning leave nothing.
    """
    last = ensemble.rows[0].lengths[-1]
    recorder = Recorder(ensemble, energy=energy)
    diverged: tuple[Divergence, ...] = ()
    done = 0
    with one_thread(), torch.no_grad():
        try:
            for block in ensemble.blocks(recorder):
                done = block.last
                if progress is not None:
                    progress(done)
                if block.diverged:
                    diverged = tuple(block.diverged.values())
                    break
        except KeyboardInterrupt:
            done = max(done, recorder.shown)
            return recorder.draws((), done, complete=False)
        return recorder.draws(diverged, done, complete=done == last and not diverged)


def kept_steps(ensemble: Ensemble) -> range:
    """The numbers of the steps whose states are kept."""
    row, settings = ensemble.rows[0], ensemble.settings
    (left_out,) = burn_ins([row], settings.burn_in, settings.thinning)
    return range(left_out + settings.thinning, row.lengths[-1] + 1, settings.thinning)


def bytes_needed(ensemble: Ensemble, *, energy: bool = True) -> int:
    """What the draws of a whole run take up."""
    widths = _widths(ensemble)
    one = sum(widths.values()) * torch.empty(0, dtype=ensemble.dtype).element_size() + (8 if energy else 0)
    return len(kept_steps(ensemble)) * (len(ensemble.rows) * len(ensemble.chains) * one + 16)


@dataclass(frozen=True)
class _Filled:
    """How many draws have been moved to the arrays, and those that wait."""

    count: int
    waiting: list[tuple[int, np.ndarray, tuple[Tensor, ...]]]


class Recorder:
    """A watch that keeps what it is shown at the steps that count."""

    def __init__(self, ensemble: Ensemble, *, energy: bool = True) -> None:
        self._kept = kept_steps(ensemble)
        size, rows, chains = len(self._kept), len(ensemble.rows), len(ensemble.chains)
        like = torch.empty(0, dtype=ensemble.dtype).numpy().dtype
        # The system gives the memory when it is written to: an interrupted run takes no more than its draws.
        self._values = {
            name: np.empty((size, rows, chains, width), like) for name, width in _widths(ensemble).items()
        }
        self._energies = np.empty((size, rows, chains)) if energy else None
        self._energy = ensemble.potential.energy
        self._numbers, self._steps = np.empty(size, np.int64), np.empty((size, rows))
        self._filled = _Filled(0, [])
        self.shown = 0

    @property
    def tape(self) -> Tape | None:
        """Whole states are kept, not functions of them."""
        return None

    def show(self, rows: tuple[int, ...], number: int, state: tuple[Tensor, ...], steps: np.ndarray) -> None:
        """Keep the state where it counts."""
        self.shown = number
        if number not in self._kept:
            return
        self._filled.waiting.append((number, steps.copy(), tuple(value.clone() for value in state)))
        if len(self._filled.waiting) >= _TOGETHER:
            self._move()

    def add(self, rows: tuple[int, ...], number: int, values: Sequence[Tensor], steps: np.ndarray) -> None:
        """Never called: there is no tape."""
        raise NotImplementedError("a recorder reads whole states")

    def draws(self, diverged: tuple[Divergence, ...], reached: int, *, complete: bool) -> Draws:
        """What has been kept, without the states of the step at which a chain diverged."""
        self._move()
        count = self._filled.count
        if diverged:
            count = int(np.searchsorted(self._numbers[:count], min(why.step_number for why in diverged)))
        energies = None if self._energies is None else np.moveaxis(self._energies[:count], 0, -1)
        return Draws(
            self._numbers[:count],
            {name: np.moveaxis(value[:count], 0, 2) for name, value in self._values.items()},
            energies,
            self._steps[:count].T,
            diverged,
            reached,
            complete,
        )

    def _move(self) -> None:
        """Move what waits to the arrays. Interrupted anywhere, it can be done again: one assignment ends it."""
        first, waiting = self._filled.count, list(self._filled.waiting)
        if not waiting:
            return
        place = slice(first, first + len(waiting))
        self._numbers[place] = [number for number, _, _ in waiting]
        self._steps[place] = [steps for _, steps, _ in waiting]
        for k, array in enumerate(self._values.values()):
            stacked = torch.stack([state[k] for _, _, state in waiting])
            array[place] = stacked.cpu().numpy()
            if k == 0 and self._energies is not None:
                self._energies[place] = self._energy(stacked).cpu().numpy()
        self._filled = _Filled(place.stop, [])


def _widths(ensemble: Ensemble) -> dict[str, int]:
    """The length of each variable of the dynamics, in order; what a scheme remembers beside them is not kept."""
    shapes = ensemble.scheme.dynamics.shapes.items()
    return {name: ensemble.target.dim if kind == "vector" else 1 for name, kind in shapes}
