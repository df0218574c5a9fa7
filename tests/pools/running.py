"""Which verdict has an entry of a pool under stated settings? `verify` runs in a separate process with a time limit."""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import signal
import time
import traceback
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from sgverify.errors import UserError
from sgverify.evidence import Evidence
from sgverify.evidence.model import CONFORMS, INCONCLUSIVE, VIOLATES, exit_code
from tests.pools.entries import Entry

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "dim 3": {"target": {"name": "gaussian", "dim": 3}},
    "T 2": {"temperature": 2.0},
    "precision 4, mean 3": {"target": {"name": "gaussian", "precision": 4.0, "mean": 3.0}},
    "iid": {"gradient": {"kind": "iid"}},
}
"""Configurations that an entry is judged under, by name; everything else has its default."""

REFUSED, CRASHED = 2, 4
OUTCOMES = {
    CONFORMS: "passes",
    VIOLATES: "violates",
    REFUSED: "refused",
    INCONCLUSIVE: "undecided",
    CRASHED: "crashed",
}
"""Exit codes of `verify` in words."""

SECONDS = 60
"""Processor time of one entry under one setting; what is then unasked is undecided."""

WAIT = 20
"""Seconds of the clock for each of processor time: on a busy machine a process gets a share."""

MEMORY = 12 * 2**30
"""Bytes of address space: torch alone takes a few GiB of it."""


@dataclass(frozen=True)
class Judged:
    """The outcome of one entry under one setting: the exit code of `verify`, and the evidence that decided it."""

    pool: str
    family: str
    name: str
    setting: str
    exit: int
    check: str
    reason: str
    seconds: float

    @property
    def outcome(self) -> str:
        """The exit code in a word."""
        return OUTCOMES[self.exit]


def settings_of(entry: Entry) -> list[str]:
    """The settings of an entry: the defaults and, for a right step, one more setting, assigned in turn by name.

    Steps of one family behave alike, so that one further setting per step is informative; all settings for all steps would be
    five times the work.
    """
    others = [name for name in SETTINGS if name != "default"]
    if entry.pool == "wrong":
        return ["default"]
    return ["default", others[zlib.crc32(entry.reference.encode()) % len(others)]]


def judge(entry: Entry, setting: str) -> Judged:
    """Run `verify` in this process without a time limit; an exception other than `UserError` is the outcome "crash"."""
    from sgverify.checks import verify
    from sgverify.checks.progress import Interrupted

    started = time.process_time()
    try:
        found = list(verify(entry.step, SETTINGS[setting]))
        code, check, reason = exit_code(found), *_decider(found)
        crashed = next((item for item in found if item.exception), None)
        if crashed is not None:
            code, check, reason = CRASHED, crashed.check, crashed.reason
    except Interrupted as late:
        known = exit_code(late.evidence)
        code, check, reason = (
            (known, *_decider(late.evidence)) if known == VIOLATES else (INCONCLUSIVE, "time", _LATE)
        )
    except UserError as error:
        code, check, reason = REFUSED, "definition or configuration", str(error)
    except Exception:
        code, check, reason = CRASHED, "crash", traceback.format_exc(limit=-3)
    return _judged(entry, setting, code, check, reason, time.process_time() - started)


def judge_apart(entry: Entry, setting: str, seconds: int = SECONDS) -> Judged:
    """Run `verify` in a separate process with a limit of processor time; its end does not affect this process."""
    here, there = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(
        target=_child, args=(there, entry.pool, entry.reference, setting, seconds), daemon=True
    )
    started = time.monotonic()
    process.start()
    there.close()
    judged = None
    with contextlib.suppress(EOFError):
        if here.poll(WAIT * seconds):
            judged = here.recv()
    process.terminate()
    process.join()
    if judged is None:
        # Killed at the hard limit, in a computation that heard no signal, or ended by the step itself.
        late = process.exitcode in (-signal.SIGKILL, -signal.SIGXCPU, -signal.SIGTERM)
        reason = _LATE if late else f"the process ended with {process.exitcode} and no answer"
        judged = _judged(
            entry,
            setting,
            INCONCLUSIVE if late else CRASHED,
            "time" if late else "crash",
            reason,
            time.monotonic() - started,
        )
    return judged


_LATE = "the limit of processor time came before all checks were asked"


def _child(pipe: Connection, pool: str, reference: str, setting: str, seconds: int) -> None:
    from tests.pools.entries import entries

    def late(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGXCPU, late)
    # The soft limit is heard again every second after it, until the hard one.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 15))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    entry = next(entry for entry in entries(pool) if entry.reference == reference)
    pipe.send(judge(entry, setting))
    pipe.close()


def _context() -> Any:
    """A server process that has everything imported and forks itself, still without threads, for each entry."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sgverify.checks", "sgverify.samplers", "tests.pools.running"])
    return context


_CONTEXT = _context()


def _decider(found: Sequence[Evidence]) -> tuple[str, str]:
    """The check and the reason that the exit code rests on; of several the first."""
    code = exit_code(found)
    verdict = {VIOLATES: "violates", INCONCLUSIVE: "inconclusive"}.get(code)
    rest = [item for item in found if item.verdict == verdict and not item.refuted]
    return (rest[0].check, rest[0].reason) if rest else ("", "")


def _judged(entry: Entry, setting: str, code: int, check: str, reason: str, seconds: float) -> Judged:
    return Judged(entry.pool, entry.family, entry.name, setting, code, check, reason, round(seconds, 1))
