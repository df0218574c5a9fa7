"""The chains of one process: they are drawn, their chunks written, and their halts stored, a few seconds at a time.

Several processes draw disjoint chains into one store. Random streams are counted by chain and step, so that a chain draws the same
whatever process moves it, and whichever chains move beside it. A process stores its halts itself; it is asked anew whenever it has
stored one, and answers how far it is. One that ends without an answer is replaced, and begins at its latest halt.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sgverify.draws.stored.folder import DrawsFolder
from sgverify.draws.stored.ledger import Ledger, StoredRun
from sgverify.errors import UserError
from sgverify.keeping.stopping import SIGNALS, handling
from sgverify.keeping.workers import Done, Workers
from sgverify.samplers.run.halting import Halt
from sgverify.samplers.run.leg import Divergence
from sgverify.samplers.run.recording import DrawRecording, Draws, Outlet
from sgverify.samplers.run.run import Ensemble

if TYPE_CHECKING:
    from sgverify.configuration import Configuration
    from sgverify.samplers.run.schedules import Row

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


LOOKED = 0.2
"""The seconds after which it is looked at whether the run is to stop."""


@dataclass(frozen=True)
class ShardCall:
    """What a process needs to draw some chains of a run: by names and numbers, the folder, and the scheme and its settings."""

    place: Path
    chains: range
    division: int
    reference: str
    configuration: Configuration
    row: Row
    energy: bool


def advance(chains: ShardCall, until: int | None) -> Told:
    """Draw these chains until a halt is stored: for another process, which keeps them for the next call."""
    with _ending() as ended:
        key = (chains.place, chains.division, chains.chains)
        shard = _SHARDS.get(key)
        if shard is None:
            _SHARDS.clear()
            shard = _SHARDS[key] = _begun(chains)
        asked = Ledger(chains.place).asked_to_stop
        try:
            return shard.advance(until=until, stop=lambda: bool(ended) or asked.exists())
        except BaseException:
            # What is half written belongs to no halt.
            _SHARDS.clear()
            raise


_SHARDS: dict[tuple[Path, int, range], Shard] = {}


def _begun(chains: ShardCall) -> Shard:
    from sgverify.draws.inference_data import make_inference_data
    from sgverify.draws.stored.source import definition_of, potential_of
    from sgverify.samplers.run.settings import Settings
    from sgverify.subject.binding import make_subject

    subject = make_subject(chains.reference, chains.configuration)
    settings = Settings.of(chains.configuration, chains=len(chains.chains), first_chain=chains.chains.start)
    ensemble = Ensemble(subject.composite or subject.scheme, subject.target, [chains.row], settings)
    run = Ledger(chains.place).read()
    same = run.identity["definition"].startswith(definition_of(ensemble.scheme))
    if not same or potential_of(subject.target) != run.identity["potential"]:
        raise UserError(
            f"scheme={chains.reference!r}: the definition or the target is another one than when the run began; expected files "
            "that do not change while they are drawn from; go on with --resume and the files of before, or start anew with --force"
        )

    def made(draws: Any, part: range) -> Any:
        return make_inference_data(
            draws,
            subject.target,
            chains=part,
            reference=chains.reference,
            configuration=chains.configuration,
            command="",
        )

    folder = DrawsFolder(chains.place, run.chains, run.layout, made)
    halt, parts = Ledger(chains.place).newest(run, chains.chains)
    return Shard(run, ensemble, folder, energy=chains.energy, halt=halt, parts=parts)


@contextmanager
def _ending() -> Iterator[list[int]]:
    """A context in which a request to end this process is noted; it ends at once, if there is nobody to answer to.

    Another run may draw to the place by then.
    """
    asked: list[int] = []

    def ask(number: int | None = None, frame: Any = None) -> None:
        parent = multiprocessing.parent_process()
        if parent is not None and not parent.is_alive():
            os.kill(os.getpid(), signal.SIGKILL)
        if number is not None:
            asked.append(number)

    try:
        with handling(ask, *SIGNALS[1:], even_ignored=True):
            yield asked
    finally:
        ask()


class Processes:
    """The processes of a run, one for each part of its chains."""

    def __init__(self, chains: list[ShardCall]) -> None:
        self._chains = chains
        self._ended: set[int] = set()
        self._until: int | None = None
        self.told: list[Told | None] = [None] * len(chains)

    def run(self, stop: Callable[[], bool], tell: Callable[[list[Told]], None]) -> list[Told]:
        """Draw all chains to their end, or until `stop` says so, or to the first step at which one diverges; how far each is.

        `tell` is called when all chains have told how far they are, and whenever one has gone on.
        """
        asked = Ledger(self._chains[0].place).asked_to_stop
        asked.unlink(missing_ok=True)
        stopping = False
        try:
            with Workers(len(self._chains)) as workers:
                waiting = list(range(workers.count))
                while waiting or workers:
                    for place in waiting:
                        workers.give(place, None, advance, self._chains[place], self._until)
                    over = workers.done(LOOKED)
                    if stop() and not stopping:
                        stopping = True
                        asked.touch()
                    for call in over:
                        self._answered(call, stopping or stop())
                    told = [one for one in self.told if one is not None]
                    if over and len(told) == len(self.told):
                        tell(told)
                    # Where a chain has diverged, others are not as far, and go on when all have answered.
                    answered = [call.place for call in over] if workers else range(workers.count)
                    waiting = [] if stopping else list(filter(self._open, answered))
        finally:
            asked.unlink(missing_ok=True)
        return [one for one in self.told if one is not None]

    def _open(self, place: int) -> bool:
        """Have these chains to go on?"""
        told = self.told[place]
        if told is None:
            return True
        return not told.finished and (self._until is None or told.step < self._until)

    def _answered(self, call: Done, stopping: bool) -> None:
        """Take an answer. A process that has ended is replaced, unless all are asked to stop."""
        place = call.place
        if call.lost:
            if place in self._ended and not stopping:
                raise UserError(
                    f"the process of the chains {_text(self._chains[place].chains)} ended twice without an answer, as it does when "
                    "memory runs out; expected memory for every worker; take fewer, and go on with --resume"
                )
            self._ended.add(place)
            return
        told: Told = call.future.result()
        self.told[place] = told
        self._ended.discard(place)
        if told.diverged:
            first = min(why.step_number for why in told.diverged)
            self._until = first if self._until is None else min(self._until, first)


def _text(chains: range) -> str:
    return f"{chains.start} to {chains.stop - 1}"
