"""How does a run record its draws, in one go or in parts between which it can be stored?

Memory grows with the number of recorded states alone; with an outlet, which takes them while the run goes on, it does not grow.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from sgverify.samplers.run.halting import Halt
from sgverify.samplers.run.leg import Block, Divergence, Keeping, Position, Room, Statistics
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Cyclical, burn_ins
from sgverify.samplers.run.settings import one_thread

# The draws, and the states of all chains, whose energies are computed together at least.
_TOGETHER, _AT_ONCE = 128, 1 << 16


@dataclass(frozen=True, eq=False)
class Draws:
    """The states X_l of every chain at l = burn_in + thinning, burn_in + 2 thinning, ...; of replicas, those of the first.

    `numbers`, shape (n,), holds l, without steps in the exploration stage of a cycle; `values` each variable, shape
    (C, n, d or 1), in the dtype of the run; `energies` U(theta), float64 of shape (C, n), or None; `steps` h_l, shape (n,);
    `statistics` the composite's statistics of each step, shapes (C, n); `log_weights`, shape (C, n), the logarithms of the
    draws' weights, None for equal weights. `diverged` names the chains that diverged and the step; the draws end before that
    step. `reached` is the last step of the run, and `complete` says whether it is the requested one.
    """

    numbers: np.ndarray
    values: dict[str, np.ndarray] = field(repr=False)
    energies: np.ndarray | None = field(repr=False)
    steps: np.ndarray = field(repr=False)
    statistics: dict[str, np.ndarray] = field(repr=False)
    log_weights: np.ndarray | None = field(repr=False)
    diverged: tuple[Divergence, ...]
    reached: int
    complete: bool


@dataclass(frozen=True)
class Outlet:
    """Where draws go while a run goes on: `take` is called with each part of them, of exactly `at_once` draws of each chain.

    The draws after the last part are left to the end of the run; there is one of them at least.
    """

    take: Callable[[Draws], None]
    at_once: int


class Recorder(Keeping):
    """A run observer that records the states at the steps that count."""

    def __init__(self, ensemble: Ensemble, *, energy: bool = True, outlet: Outlet | None = None) -> None:
        self._kept, self._hooks, self._state = kept_steps(ensemble), ensemble.hooks, ensemble.scheme.state
        self._schedule, self._device = ensemble.rows[0].schedule, ensemble.device
        # One place more than a part has: the last draw stays here, which a divergence at the next step is said of.
        size = len(self._kept) if outlet is None else min(len(self._kept), outlet.at_once + 1)
        chains, self._size, self._outlet = len(ensemble.chains), size, outlet
        like = torch.empty(0, dtype=ensemble.dtype).numpy().dtype
        # The system allocates memory when it is written to: an interrupted run uses no more than its draws need.
        self._values = {
            name: np.empty((size, chains, width), like) for name, width in widths_of(ensemble).items()
        }
        self._energies = np.empty((size, chains)) if energy else None
        self._energy = ensemble.potential.energy
        # Torch code that cannot be recorded may round differently by how many states there are: one after the other then.
        self._at_once = max(_TOGETHER, _AT_ONCE // chains) if ensemble.potential.recordable else 1
        # One that a step does not report is recorded as NaN or 0.
        told = {} if self._hooks is None else self._hooks.statistics
        self._statistics = {
            name: np.full((size, chains), np.nan if issubclass(kind, np.floating) else 0, kind)
            for name, kind in told.items()
        }
        weighted = self._schedule.weighted or (self._hooks is not None and self._hooks.weighted)
        self._weights = np.empty((size, chains)) if weighted else None
        self._numbers, self._steps = np.empty(size, np.int64), np.empty(size)
        self._swaps: np.ndarray | None = None
        self._filled = 0
        self.shown = 0

    def room(self, rows: tuple[int, ...], number: int, steps: np.ndarray) -> Room:
        """The places in the arrays of the states of these steps that count; of fewer steps, if there are too few places."""
        self._hand_over()
        marked = self._marked(number, len(steps))
        first = self._filled
        places = marked.nonzero()[0][: self._size - first + 1]
        if len(places) > self._size - first:
            marked = marked[: places[-1]]
        place = slice(first, first + int(marked.sum()))
        held = (self._values.get(name) for name in self._state)
        return Room(marked, tuple(None if array is None else array[place] for array in held))

    def keep(
        self, rows: tuple[int, ...], number: int, steps: np.ndarray, statistics: Statistics | None = None
    ) -> None:
        """Take over the states that were written there, and record what belongs to them."""
        (kept,) = self._marked(number, len(steps)).nonzero()
        first = self._filled
        place = slice(first, first + len(kept))
        self._numbers[place], self._steps[place] = number + kept, steps[kept, 0]
        if self._weights is not None:
            own = np.log(self._steps[place])[:, None] if self._schedule.weighted else 0.0
            given = None if statistics is None else statistics.log_weights
            self._weights[place] = own if given is None else own + given
        if statistics is not None:
            self._keep_statistics(place, statistics)
        if self._energies is not None:
            theta = self._values[self._state[0]]
            for start in range(first, place.stop, self._at_once):
                part = slice(start, min(start + self._at_once, place.stop))
                there = torch.from_numpy(theta[part]).to(self._device)
                self._energies[part] = self._energy(there).cpu().numpy()
        self._filled, self.shown = place.stop, number + len(steps) - 1

    def _keep_statistics(self, place: slice, statistics: Statistics) -> None:
        """Record what a composite says of the states at these places of the arrays; `swaps` are its counts."""
        values, counts = dict(statistics.values), statistics.counts
        if counts is None and self._swaps is not None:
            size = place.stop - place.start + 1
            counts = np.zeros((size, len(self._swaps)), np.int64), np.zeros(size, bool)
        if counts is not None:
            swaps, counted = counts
            if self._swaps is not None:
                swaps[0] += self._swaps
                counted[0] = True
            values["swaps"] = swaps[:-1], counted[:-1]
            self._swaps = swaps[-1] if counted[-1] else None
        for name, (found, there) in values.items():
            if there.any():
                self._statistics[name][place][there] = found[there]

    def _marked(self, number: int, count: int) -> np.ndarray:
        """Which of the steps number, ..., number + count - 1 are recorded?"""
        past = np.arange(number, number + count) - self._kept.start
        marked = (past >= 0) & (past % self._kept.step == 0)
        if isinstance(self._schedule, Cyclical):
            marked &= [self._schedule.samples(n) for n in range(number, number + count)]
        return marked

    def draws(self, diverged: tuple[Divergence, ...], reached: int, *, complete: bool) -> Draws:
        """The recorded draws, without those at and after the step at which a chain diverged."""
        count = self._filled
        if diverged:
            count = int(np.searchsorted(self._numbers[:count], min(why.step_number for why in diverged)))
        return self._first(count, diverged, reached, complete)

    def _first(self, count: int, diverged: tuple[Divergence, ...], reached: int, complete: bool) -> Draws:
        """The first draws in the arrays."""
        return Draws(
            self._numbers[:count],
            {name: np.moveaxis(value[:count], 0, 1) for name, value in self._values.items()},
            None if self._energies is None else self._energies[:count].T,
            self._steps[:count],
            {name: value[:count].T for name, value in self._statistics.items()},
            None if self._weights is None else self._weights[:count].T,
            diverged,
            reached,
            complete,
        )

    def _hand_over(self) -> None:
        """Hand all draws but the last to the outlet, if there is no place for another one."""
        count, outlet = self._filled, self._outlet
        if outlet is None or count < self._size or count <= outlet.at_once:
            return
        with uninterrupted():
            outlet.take(self._first(count - 1, (), self.shown, False))
            held = [*self._values.values(), *self._statistics.values(), self._numbers, self._steps]
            for array in (*held, self._energies, self._weights):
                if array is not None:
                    array[0] = array[count - 1]
            for array in self._statistics.values():
                array[1:] = np.nan if array.dtype.kind == "f" else 0
            self._filled = 1

    def held(self) -> dict[str, np.ndarray]:
        """Copies of the draws that no outlet has taken, and of the swaps since the last one, for `take_up`.

        Every array of more than one dimension has the chains along its axis 1.
        """
        self._hand_over()
        place = slice(self._filled)
        found = {name: array[place].copy() for name, array in self._arrays().items()}
        if self._swaps is not None:
            found["swaps"] = self._swaps[None].copy()
        return found

    def take_up(self, held: Mapping[str, np.ndarray], shown: int) -> None:
        """Continue after step `shown` with what `held` gave of this run; its draws must fit into the arrays."""
        count = len(held["numbers"])
        self._filled, self.shown = count, shown
        for name, array in self._arrays().items():
            array[:count] = held[name]
        swaps = held.get("swaps")
        self._swaps = None if swaps is None else swaps[0]

    def _arrays(self) -> dict[str, np.ndarray]:
        """The arrays of draws by name."""
        own = {"energies": self._energies, "weights": self._weights}
        return {
            "numbers": self._numbers,
            "steps": self._steps,
            **{name: array for name, array in own.items() if array is not None},
            **{f"values.{name}": array for name, array in self._values.items()},
            **{f"statistics.{name}": array for name, array in self._statistics.items()},
        }


def kept_steps(ensemble: Ensemble) -> range:
    """The numbers l of the steps whose states are recorded."""
    row, settings = ensemble.rows[0], ensemble.settings
    (left_out,) = burn_ins([row], settings.burn_in, settings.thinning)
    return range(left_out + settings.thinning, row.lengths[-1] + 1, settings.thinning)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A context in which Ctrl-C waits until the end: draws are handed over, or written, once and wholly."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[Any] = []
    before = signal.signal(signal.SIGINT, lambda *given: pressed.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed and callable(before):
            before(*pressed[0])


def widths_of(ensemble: Ensemble) -> dict[str, int]:
    """The number of coordinates of each variable of the dynamics, in order; the memory of a scheme is not recorded."""
    shapes = ensemble.scheme.dynamics.shapes.items()
    return {name: ensemble.target.dim if kind == "vector" else 1 for name, kind in shapes}


class DrawRecording:
    """A run of one row, or of the replicas of one row, that records its draws; `advance` it, store its `halt`, and continue from
    it.

        first = DrawRecording(ensemble, outlet=outlet)
        first.advance(seconds=2)
        first.halt().save("halt.npz")
        DrawRecording(ensemble, outlet=outlet, halt=Halt.load("halt.npz")).advance()

    The draws are those of a run that was left alone, bit for bit, whatever moves the parts: the definition, its tape or a kernel.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        *,
        energy: bool = True,
        outlet: Outlet | None = None,
        halt: Halt | None = None,
        start: Position | None = None,
    ) -> None:
        self._ensemble, self._recorder = ensemble, Recorder(ensemble, energy=energy, outlet=outlet)
        self._last = ensemble.rows[0].lengths[-1]
        self._blocks: Iterator[Block] | None = None
        self._block: Block | None = None
        self._start = start if halt is None else halt.position(ensemble)
        self.done = 0
        self.diverged: tuple[Divergence, ...] = ()
        if halt is not None:
            self.done = halt.step
            self._recorder.take_up(halt.held, halt.step)

    @property
    def finished(self) -> bool:
        """Has the run reached its last step, or has a chain diverged?"""
        return bool(self.diverged) or self.done >= self._last

    @property
    def complete(self) -> bool:
        """Has the run reached its last step, without a chain that diverged?"""
        return self.done >= self._last and not self.diverged

    def advance(
        self,
        *,
        until: int | None = None,
        seconds: float | None = None,
        stop: Callable[[], bool] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Move on, until the run is finished, step `until` is reached, so many `seconds` have passed or `stop` says so.

        Time and `stop` are looked at after each block of steps. `progress` is called with the number of finished steps.
        """
        started = time.monotonic()
        if self.finished or (until is not None and self.done >= until):
            return
        with one_thread(), torch.no_grad():
            if self._blocks is None or until is not None:
                start = self._start if self._block is None else self._position()
                self._blocks = self._ensemble.blocks(self._recorder, start=start, until=until)
            for block in self._blocks:
                self.done, self._block = block.last, block
                if progress is not None:
                    progress(self.done)
                if block.diverged:
                    self.diverged = tuple(block.diverged.values())
                    return
                late = seconds is not None and time.monotonic() - started > seconds
                if late or (stop is not None and stop()):
                    break
            if until is not None and self.done >= until:
                # These blocks end here; others follow from the same position.
                self._blocks = None

    def draws(self) -> Draws:
        """The recorded draws, with an outlet those after its last part; without those at and after a divergence."""
        done = max(self.done, self._recorder.shown)
        return self._recorder.draws(self.diverged, done, complete=self.complete)

    def halt(self) -> Halt:
        """What the run needs to continue after its latest block; not to be asked for after a divergence."""
        with torch.no_grad():
            return Halt.of(self._ensemble, self._position(), self._recorder.held())

    def _position(self) -> Any:
        if self._block is not None:
            return self._ensemble.position(self._block, ended=True)
        return self._start or self._ensemble.begin()


def record(
    ensemble: Ensemble,
    *,
    energy: bool = True,
    progress: Callable[[int], None] | None = None,
    outlet: Outlet | None = None,
) -> Draws:
    """Run an ensemble of one row, or of the replicas of one row, and record its draws: with an outlet, those after its last part.

    `progress` is called with the number of finished steps. Ctrl-C ends the run, and so does the first chain that diverges; the
    draws until then are returned. Raises `ConfigurationError` if burn-in and thinning leave no draw.
    """
    recording = DrawRecording(ensemble, energy=energy, outlet=outlet)
    with suppress(KeyboardInterrupt):
        recording.advance(progress=progress)
    return recording.draws()


def bytes_needed(ensemble: Ensemble, *, energy: bool = True) -> int:
    """The memory, in bytes, of the draws of a whole run."""
    widths = widths_of(ensemble)
    one = sum(widths.values()) * torch.empty(0, dtype=ensemble.dtype).element_size() + (8 if energy else 0)
    return len(kept_steps(ensemble)) * (len(ensemble.chains) * one + 16)
