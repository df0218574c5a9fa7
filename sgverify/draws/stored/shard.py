"""The chains of one process: they are drawn, their chunks written, and their halts stored, a few seconds at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sgverify.draws.stored.folder import DrawsFolder
from sgverify.draws.stored.ledger import Ledger, StoredRun
from sgverify.samplers.run.halting import Halt
from sgverify.samplers.run.leg import Divergence
from sgverify.samplers.run.recorder import Draws, Outlet
from sgverify.samplers.run.recording import DrawRecording
from sgverify.samplers.run.run import Ensemble

SHORTEST, SHARE = 2.0, 0.01
"""The fewest seconds between two halts, and the share of the time that storing them may take: it is stored less often where it
takes long. A process that is killed loses what it has drawn since: two seconds of work, or a hundred times what storing takes.
The chunk that is not full yet is written for readers in the same way, at a share of its own: halts hold its draws as well."""


@dataclass(frozen=True)
class Told:
    """How far the chains of a process are: the last step, the draws that can be read, and whether they have ended."""

    step: int
    count: int
    finished: bool
    diverged: tuple[Divergence, ...]


class Shard:
    """The recording of the chains of one process, into the folder of all of them.

    `prepare` is called before the first chunk is written.
    """

    def __init__(
        self,
        run: StoredRun,
        ensemble: Ensemble,
        folder: DrawsFolder,
        *,
        energy: bool,
        prepare: Callable[[], None] = lambda: None,
        halt: Halt | None = None,
        parts: int = 0,
    ) -> None:
        self._run, self._chains, self._folder = run, ensemble.chains, folder
        self._ledger, self._prepare, self.parts = Ledger(folder.place), prepare, parts
        outlet = Outlet(self._take, run.layout.draws)
        self.recording = DrawRecording(ensemble, energy=energy, outlet=outlet, halt=halt)
        self._stored = -1 if halt is None else halt.step
        self._each = 0 if halt is None else _bytes(halt)
        self.patience, self._first = SHORTEST, 2
        self._seen, self._shown_until = 0, 0.0

    @property
    def count(self) -> int:
        """The draws in chunks that were written wholly."""
        return self.parts * self._run.layout.draws

    def advance(
        self,
        *,
        until: int | None = None,
        stop: Callable[[], bool] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Told:
        """Draw until it is time to store a halt, and store it."""
        self.recording.advance(until=until, seconds=self.patience, stop=stop, progress=progress)
        return self.told(everything=stop is not None and stop())

    def told(self, *, everything: bool = False) -> Told:
        """Write what was drawn, and store a halt where the chains can go on; how far they are.

        Readers do not see the last draw, of which a divergence may have to be said, unless `everything` is to be seen.
        """
        recording = self.recording
        ended = everything or recording.finished
        self._prepare()
        started = time.monotonic()
        halt = None if recording.diverged else recording.halt()
        if halt is not None and halt.step != self._stored:
            self._each = self._each or _bytes(halt)
            self._ledger.save(self._run, halt, self.parts, self.count * self._each)
            self._stored = halt.step
        self.patience = self._pause(time.monotonic() - started)
        if ended or started >= self._shown_until:
            self._show(ended)
        return Told(recording.done, max(self._seen, self.count), recording.finished, recording.diverged)

    def _show(self, ended: bool) -> None:
        """Write the chunk that is not full yet."""
        started = time.monotonic()
        rest = self.recording.draws()
        if len(rest.numbers):
            self._folder.write(rest, self.count, self._chains)
        self._seen = self.count + (len(rest.numbers) if ended else max(0, len(rest.numbers) - 1))
        now = time.monotonic()
        self._shown_until = now + self._pause(now - started)

    def _pause(self, cost: float) -> float:
        """The seconds until what took so many is done again. What is done first takes longer: libraries are loaded for it."""
        first, self._first = self._first > 0, self._first - 1
        return SHORTEST if first else max(SHORTEST, cost / SHARE)

    def _take(self, draws: Draws) -> None:
        self._prepare()
        self._folder.write(draws, self.count, self._chains)
        self._ledger.written(self._folder, self.parts, self._chains)
        self.parts += 1


def _bytes(halt: Halt) -> int:
    """The bytes of one draw of the chains of a halt that holds some."""
    arrays = [array for name, array in halt.held.items() if name != "swaps"]
    return int(sum(array.nbytes / max(1, len(array)) for array in arrays if np.ndim(array)))


__all__ = ["SHORTEST", "Shard", "Told"]
