"""The chains of a run on several processes: disjoint chains, one store.

Random streams are counted by chain and step, so that a chain draws the same whatever process moves it, and whichever chains move
beside it. A process stores its halts itself; it is asked anew whenever it has stored one, and answers how far it is. One that ends
without an answer is replaced, and begins at its latest halt.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgverify.campaigns.processes import ended_with_errors, new_processes
from sgverify.draws.stored.folder import DrawsFolder
from sgverify.draws.stored.ledger import Ledger
from sgverify.draws.stored.shard import Shard, Told
from sgverify.errors import UserError

if TYPE_CHECKING:
    from sgverify.configuration import Configuration
    from sgverify.samplers.run.schedules import Row

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
    from sgverify.checks.verify_and_rate import make_subject
    from sgverify.draws.inference_data import make_inference_data
    from sgverify.samplers.run.checkpoint import identity_of
    from sgverify.samplers.run.run import Ensemble
    from sgverify.samplers.run.settings import Settings

    subject = make_subject(chains.reference, chains.configuration)
    settings = Settings.of(chains.configuration, chains=len(chains.chains), first_chain=chains.chains.start)
    ensemble = Ensemble(subject.composite or subject.scheme, subject.target, [chains.row], settings)
    run = Ledger(chains.place).read()
    found = identity_of(ensemble.scheme, subject.target, ensemble.rows, settings, [])
    if (
        not run.identity["definition"].startswith(found["definition"])
        or found["potential"] != run.identity["potential"]
    ):
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
    """A context in which a request to end this process is noted; it ends after it, if there is nobody to answer to."""
    asked: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: asked.append(number))
        for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        parent = multiprocessing.parent_process()
        if parent is not None and not parent.is_alive():
            os.kill(os.getpid(), signal.SIGKILL)


class Processes:
    """The processes of a run, one for each part of its chains."""

    def __init__(self, chains: list[ShardCall]) -> None:
        self._chains = chains
        self._pools: list[ProcessPoolExecutor] = []
        self._running: dict[Future[Told], int] = {}
        self._ended: set[int] = set()
        self._until: int | None = None
        self.told: list[Told | None] = [None] * len(chains)

    def run(self, stop: Callable[[], bool], tell: Callable[[list[Told]], None]) -> list[Told]:
        """Draw all chains to their end, or until `stop` says so, or to the first step at which one diverges; how far each is.

        `tell` is called when all chains have told how far they are, and whenever one has gone on.
        """
        asked = Ledger(self._chains[0].place).asked_to_stop
        asked.unlink(missing_ok=True)
        self._pools = [new_processes(1) for _ in self._chains]
        stopping = False
        try:
            with ended_with_errors():
                for place in range(len(self._chains)):
                    self._ask(place)
                while self._running:
                    done, _ = wait(self._running, LOOKED, FIRST_COMPLETED)
                    if stop() and not stopping:
                        stopping = True
                        asked.touch()
                    for future in done:
                        place = self._running.pop(future)
                        self._answered(place, future, stopping or stop())
                        if not stopping and self._open(place):
                            self._ask(place)
                    told = [one for one in self.told if one is not None]
                    if done and len(told) == len(self.told):
                        tell(told)
                    if not self._running and not stopping:
                        # A chain has diverged, and others are not as far.
                        for place in filter(self._open, range(len(self._chains))):
                            self._ask(place)
        finally:
            asked.unlink(missing_ok=True)
            for pool in self._pools:
                pool.shutdown()
        return [one for one in self.told if one is not None]

    def _ask(self, place: int) -> None:
        future = self._pools[place].submit(advance, self._chains[place], self._until)
        self._running[future] = place

    def _open(self, place: int) -> bool:
        """Have these chains to go on?"""
        told = self.told[place]
        if told is None:
            return True
        return not told.finished and (self._until is None or told.step < self._until)

    def _answered(self, place: int, future: Future[Told], stopping: bool) -> None:
        """Take an answer. A process that has ended is replaced, unless all are asked to stop."""
        try:
            told = self.told[place] = future.result()
        except BrokenProcessPool:
            if stopping:
                return
            if place in self._ended:
                raise UserError(
                    f"the process of the chains {_text(self._chains[place].chains)} ended twice without an answer, as it does when "
                    "memory runs out; expected memory for every worker; take fewer, and go on with --resume"
                ) from None
            self._ended.add(place)
            self._pools[place].shutdown(wait=False)
            self._pools[place] = new_processes(1)
            return
        self._ended.discard(place)
        if told.diverged:
            first = min(why.step_number for why in told.diverged)
            self._until = first if self._until is None else min(self._until, first)


def _text(chains: range) -> str:
    return f"{chains.start} to {chains.stop - 1}"


__all__ = ["Processes", "ShardCall", "advance"]
