"""Jobs on an existing Dask cluster. The scheduler is the cluster's; what is kept is kept by this process alone.

Every worker process runs one batch at a time, whatever its number of threads: the package changes state of its process while it
judges. A worker of another source of this package is refused. One with other libraries, or on another platform, is named, and its
answers are kept under its own circumstances. Code of the user's is sent along, so that just the text runs there whose hash was
recorded here.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sgverify.campaigns.engines import (
    Begun,
    Costs,
    Finished,
    Job,
    JobBatches,
    run_batch,
)
from sgverify.code_files import files_of
from sgverify.errors import UserError
from sgverify.keeping.identity import Circumstances
from sgverify.named_code import Asked, asked, asking


@dataclass(frozen=True)
class SentCode:
    """The text of the user's files, by the path from the folder of the run; and the sha256 of files elsewhere, by the whole path.

    What is in or below the folder travels; what is not has to be at the same place on the worker, with the same hash.
    """

    texts: tuple[tuple[str, bytes], ...] = ()
    elsewhere: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, references: Iterable[str], data: Iterable[str] = ()) -> SentCode:
        """The code behind references of schemes and targets; files of data are not sent, and have to be on the worker."""
        base = os.path.realpath(".")
        texts: dict[str, bytes] = {}
        elsewhere: dict[str, str] = {}
        for reference in dict.fromkeys(references):
            for file in files_of(reference):
                path = os.path.realpath(file)
                absolute = os.path.isabs(reference)
                if not absolute and path.startswith(base + os.sep):
                    texts[os.path.relpath(path, base)] = Path(path).read_bytes()
                else:
                    elsewhere[path] = _hash(Path(path).read_bytes())
        for path in dict.fromkeys(data):
            # A file that is missing is told by its questions.
            with contextlib.suppress(OSError):
                elsewhere[os.path.realpath(path)] = _hash(Path(path).read_bytes())
        return cls(tuple(sorted(texts.items())), tuple(sorted(elsewhere.items())))

    @cached_property
    def digest(self) -> str:
        """One hash of all."""
        whole = hashlib.sha256()
        for name, text in self.texts:
            whole.update(f"{name}\0{_hash(text)}\n".encode())
        for name, digest in self.elsewhere:
            whole.update(f"{name}\0{digest}\n".encode())
        return whole.hexdigest()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """A context of this process in whose working folder lie the texts that were sent, and no others are imported from there.

        Raises `UserError` for a file elsewhere that is missing here, or is another one.
        """
        for name, digest in self.elsewhere:
            try:
                found = _hash(Path(name).read_bytes())
            except OSError as error:
                raise UserError(f"{name}: {error.strerror} on this worker; expected {_WANTED}") from None
            if found != digest:
                raise UserError(
                    f"{name}: sha256 {found[:12]} on this worker and {digest[:12]} where the campaign began; expected {_WANTED}"
                )
        if not self.texts:
            yield
            return
        folder = self._laid_out()
        _forget_others(folder)
        sys.path.insert(0, folder)
        try:
            with contextlib.chdir(folder):
                yield
        finally:
            sys.path.remove(folder)

    def _laid_out(self) -> str:
        """The folder of this process with the texts, as they were sent."""
        if self.digest not in _FOLDERS:
            folder = tempfile.mkdtemp(prefix="sgverify-sent-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            _FOLDERS[self.digest] = os.path.realpath(folder)
        folder = _FOLDERS[self.digest]
        for name, text in self.texts:
            path = Path(folder, name)
            if not path.is_file() or path.read_bytes() != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
        return folder


_FOLDERS: dict[str, str] = {}

_WANTED = "the file at the same place with the same content on every worker, as on a shared disk"


def _forget_others(folder: str) -> None:
    """Take modules out of this process that were sent with another campaign: one of the same name would be theirs."""
    others = [path + os.sep for path in _FOLDERS.values() if path != folder]
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(tuple(others)):
            del sys.modules[name]


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


PATIENCE = 10.0
"""Seconds until a scheduler has to answer, and to have a worker."""

PAUSE = 0.02
"""Seconds between two looks at what has finished."""

AHEAD = 2
"""Batches that are handed out for each worker, so that none waits for the next."""


class SchedulerGoneError(UserError):
    """The scheduler does not answer any more."""


@dataclass(frozen=True)
class Worker:
    """A worker of a cluster: its address, and the JSON of the circumstances of its process; `problem` says why it has none."""

    address: str
    text: str = ""
    problem: str = ""


@dataclass
class DaskCluster:
    """The workers of a cluster, connected by `connected`, whose code is this one's; `sent` is the user's code for them.

    `notes` has a sentence on every kind of worker that is not like this process.
    """

    client: Any
    address: str
    sent: SentCode
    notes: list[str] = field(default_factory=list)
    _places: dict[str, Circumstances | None] = field(default_factory=dict)

    @property
    def processes(self) -> int:
        """How many jobs run at the same time: the number of workers now."""
        return max(1, len(self.client.scheduler_info(n_workers=-1)["workers"]))

    @property
    def places(self) -> Sequence[Circumstances | None]:
        """The circumstances of the workers, each once."""
        return list(self._places.values())

    def run(
        self, jobs: Mapping[int, Job], costs: Costs | None = None, begun: Begun | None = None
    ) -> Iterator[list[tuple[int, Finished]]]:
        """See `sgverify.campaigns.engines.Engine`. Raises `SchedulerGoneError` where the scheduler ends."""
        from distributed import as_completed

        batches = JobBatches(jobs, costs, self.processes)
        # A task of its own, which the scheduler can repeat, if the workers that hold the code end.
        code = self.client.submit(_given, self.sent, asked(), pure=False)
        finished = as_completed(loop=self.client.loop)
        running: dict[Any, list[int]] = {}
        suspected: set[int] = set()
        try:
            while batches or running:
                while batches and len(running) < AHEAD * self.processes:
                    batch = batches.taken()
                    future = self.client.submit(
                        _run_there, code, [jobs[number] for number in batch], pure=False
                    )
                    running[future] = batch
                    finished.add(future)
                    if begun is not None:
                        begun(batch)
                done = [] if finished.queue.empty() else finished.next_batch(block=False)
                found = []
                for future in done:
                    found += self._found(future, running.pop(future), batches, suspected)
                if found:
                    yield found
                elif not done:
                    self._look()
                    time.sleep(PAUSE)
        finally:
            if running and self.client.status == "running":
                self.client.cancel(list(running), force=True)

    def _look(self) -> None:
        if self.client.status != "running":
            raise SchedulerGoneError(
                f"the scheduler {self.address} does not answer any more; start it again, and the same command computes what is "
                "missing"
            )

    def _found(
        self, future: Any, batch: list[int], batches: JobBatches, suspected: set[int]
    ) -> list[tuple[int, Finished]]:
        """What came of a batch; jobs whose worker ended are put back, each by itself, and lost the second time."""
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            self._look()
            # The scheduler is there again, and has forgotten what it was given.
            batches.again(batch)
            return []
        error = future.exception() if future.status == "error" else None
        if isinstance(error, KilledWorker):
            return batches.tried_again(batch, suspected)
        text, found = future.result()
        place = self._place(text)
        return [(number, item._replace(place=place)) for number, item in zip(batch, found, strict=True)]

    def _place(self, text: str) -> Circumstances | None:
        if text not in self._places:
            self._meet(Worker("a worker that came later", text))
        return self._places[text]

    def _meet(self, worker: Worker) -> None:
        """Take the circumstances of a worker; raises `UserError` for one with other code."""
        here = Circumstances.here()
        there = Circumstances.told(worker.text, here)
        if there.value["sgverify"] != here.value["sgverify"]:
            raise UserError(
                f"--scheduler {self.address}: {worker.address} runs another sgverify "
                f"({_version(there)}, here {_version(here)}); expected the same source everywhere; install it there, and start the "
                "worker again"
            )
        self._places[worker.text] = None if worker.text == here.text else there

    def meet(self, workers: Sequence[Worker]) -> None:
        """Look at all workers; raises `UserError` for one without this code, and notes what differs otherwise."""
        for worker in workers:
            if worker.problem:
                raise UserError(
                    f"--scheduler {self.address}: {worker.address} cannot run sgverify ({worker.problem}); expected the same "
                    "environment on every worker; install it there, and start the worker again"
                )
            if worker.text not in self._places:
                self._meet(worker)
        like = Counter(worker.text for worker in workers)
        for text, place in self._places.items():
            if place is not None and like[text]:
                first = next(worker.address for worker in workers if worker.text == text)
                self.notes.append(
                    f"{like[text]} of {len(workers)} workers, such as {first}, differ from this process ("
                    f"{'; '.join(_differences(place, Circumstances.here()))}): their answers are kept as those of such a place"
                )


@contextmanager
def connected(address: str, sent: SentCode) -> Iterator[DaskCluster]:
    """A context with a cluster. Raises `UserError` where no scheduler answers, no worker is there, or one has other code."""
    try:
        from distributed import Client
    except ImportError:
        raise UserError(
            f"--scheduler {address}: dask.distributed is not installed; expected the extra `cluster`; "
            'python -m pip install "sgverify[cluster]"'
        ) from None
    # What becomes of a connection is said here, in one line.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False, name="sgverify-campaign")
    except (OSError, ValueError) as error:
        raise UserError(
            f"--scheduler {address}: no scheduler answers within {PATIENCE:.0f} s ({type(error).__name__}); expected the address "
            "that `dask scheduler` prints, such as tcp://host:8786"
        ) from None
    try:
        cluster = DaskCluster(client, address, sent)
        cluster.meet(_workers(client, address))
        yield cluster
    finally:
        client.close(timeout=2)


def _workers(client: Any, address: str) -> list[Worker]:
    """The workers that are there, and what each says of itself."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise UserError(
            f"--scheduler {address}: it has no worker after {PATIENCE:.0f} s; expected at least one; start some with "
            f"`dask worker {address} --nworkers auto --nthreads 1`"
        ) from None
    told = client.run(_fingerprint, on_error="return")
    return [
        Worker(name, problem=f"{type(item).__name__}: {item}")
        if isinstance(item, Exception)
        else Worker(name, item)
        for name, item in told.items()
    ]


def _fingerprint() -> str:
    """What a worker says of itself."""
    here = Circumstances.here()
    if here.refused:
        raise RuntimeError(here.refused)
    return here.text


def _given(sent: SentCode, what: Asked) -> tuple[SentCode, Asked]:
    return sent, what


_ALONE = threading.Lock()
"""One batch at a time in a process."""


def _run_there(code: tuple[SentCode, Asked], jobs: Sequence[Job]) -> tuple[str, list[Finished]]:
    """Run a batch in a worker; also the JSON of its circumstances."""
    sent, what = code
    with _ALONE, asking(what), sent.in_place():
        return Circumstances.here().text, run_batch(jobs)


def _version(of: Circumstances) -> str:
    told = of.value["sgverify"]
    return f"{told['version']}, source {told['source'][:12]}"


def _differences(there: Circumstances, here: Circumstances) -> list[str]:
    """What differs, such as "threads 1, here 8"."""
    return list(_different(there.value, here.value))


def _different(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted({*there, *here}):
        told, own = there.get(key), here.get(key)
        if told != own and isinstance(told, Mapping) and isinstance(own, Mapping):
            yield from _different(told, own)
        elif told != own:
            # A hash says nothing to a reader.
            values = (
                "" if key in ("processor", "plugins") else f" {told or 'not set'}, here {own or 'not set'}"
            )
            yield f"{key}{values}"
