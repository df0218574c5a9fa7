"""Jobs on several processes: the same results, errors handed on, nothing left running."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sgverify.campaigns.engines import Job, LocalProcesses
from sgverify.errors import ConfigurationError
from sgverify.keeping import workers
from sgverify.keeping.workers import MOST, Workers, default_workers, of_the_program
from sgverify.schemes import find_scheme

JOBS: list[Job] = [(math.factorial, (n,)) for n in (5, 3, 8)]


def run(jobs: Sequence[Job], workers: int) -> Iterator[tuple[int, Any]]:
    for together in LocalProcesses(workers).run(dict(enumerate(jobs))):
        yield from ((number, finished.result) for number, finished in together)


@pytest.mark.parametrize("workers", [1, 7])
def test_every_result_comes_with_the_number_of_its_job(workers: int) -> None:
    assert dict(run(JOBS, workers)) == {0: 120, 1: 6, 2: 40320}


def test_what_a_job_raises_is_raised_here() -> None:
    with pytest.raises(ValueError, match="factorial"), Workers(2) as workers:
        workers.give(1, "a label", math.factorial, -1)
        (call,) = workers.done()
        assert (call.place, call.label, call.lost) == (1, "a label", False)
        call.future.result()


def test_a_caller_that_stops_waits_for_nobody() -> None:
    jobs: list[Job] = [(math.factorial, (3,)), (time.sleep, (60,)), (time.sleep, (60,))]
    started = time.monotonic()
    running = run(jobs, 2)
    assert next(running) == (0, 6)
    running.close()  # type: ignore[attr-defined]
    assert time.monotonic() - started < 30
    assert not multiprocessing.active_children()


def test_there_is_always_a_worker() -> None:
    assert default_workers() >= 1


def test_the_environment_gives_the_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGVERIFY_WORKERS", "3")
    assert default_workers() == 3
    for wrong in ("0", "two", "-1", ""):
        monkeypatch.setenv("SGVERIFY_WORKERS", wrong)
        with pytest.raises(ConfigurationError, match="whole number of at least 1"):
            default_workers()
    monkeypatch.delenv("SGVERIFY_WORKERS")
    # A script that calls `main` would be run again by each new process.
    assert default_workers() == 1
    monkeypatch.setattr(workers, "_PROGRAM", threading.Event())
    of_the_program()
    assert 1 <= default_workers() <= MOST


def test_a_job_that_fails_takes_no_other_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SGVERIFY_RAISE")
    jobs = [*JOBS, (math.factorial, (-1,)), (find_scheme, ("nothing",))]
    found = dict(run(jobs, 1))
    assert [found[number] for number in range(3)] == [120, 6, 40320]
    assert found[3].code == 4 and "ValueError: factorial" in found[3].reason
    assert found[4].code == 2 and "unknown scheme" in found[4].reason
    monkeypatch.setenv("SGVERIFY_RAISE", "1")
    with pytest.raises(ValueError, match="factorial"):
        dict(run(jobs, 1))


def test_a_process_that_ends_takes_no_other_along() -> None:
    # Killed from outside, as for memory: nothing in the process can be told.
    jobs: list[Job] = [
        (math.factorial, (5,)),
        (signal.raise_signal, (signal.SIGKILL,)),
        (math.factorial, (3,)),
    ]
    found = dict(run(jobs, 2))
    assert (found[0], found[2]) == (120, 6)
    assert found[1].code == 4 and "ended without an answer" in found[1].reason


@pytest.mark.campaign
def test_no_process_outlives_a_parent_that_is_killed() -> None:
    program = (
        "import os, signal, time; from sgverify.keeping.workers import new_process\n"
        "if __name__ == '__main__':\n"
        "    pool = new_process(); print(pool.submit(os.getpid).result(), flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    os.kill(child, 0)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    for _ in range(100):
        if not running(child):
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the process waits for jobs of a parent that has ended")


def running(process: int) -> bool:
    try:
        # One that has ended and was not waited for has no command line any more.
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except OSError:
        return False
