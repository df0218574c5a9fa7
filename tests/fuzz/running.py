"""Cases run in child processes, each under a limit of processor time and memory; what ends a child is told of its case."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reports.applications.__main__ import main as run_application
from sgverify.cli import main
from tests.fuzz.case import Case
from tests.fuzz.commands import APPLICATIONS
from tests.fuzz.judging import wrong_with
from tests.fuzz.seams import Accepted, without_computing

SECONDS = 20.0
"""The limit of processor time of an input."""

MEMORY = 3 * 2**30
"""The limit of memory that an input may add, in bytes of address space."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case: its exit code, None where it was accepted and did not compute; what is wrong, None if nothing is."""

    number: int
    code: int | None
    seconds: float
    wrong: str | None
    err: str = ""
    compared: bool = False
    """Was a value that was accepted looked for in the configuration that it came to?"""

    @property
    def word(self) -> str:
        """The outcome in a word or two."""
        return "wrong" if self.wrong else "accepted" if self.code is None else f"exit {self.code}"


class _TooLong(BaseException):
    """The limit of processor time is over."""


def run(cases: Sequence[tuple[int, Case]], seconds: float = SECONDS) -> Iterator[Outcome]:
    """The outcome of every case, in order; a child that ends is followed by another one."""
    _warm(stored=any(case.left is not None for _, case in cases))
    waiting = list(cases)
    while waiting:
        done = 0
        for outcome in _child(waiting, seconds):
            done += 1
            yield outcome
        waiting = waiting[done:]


def run_here(case: Case, number: int = 0, seconds: float = SECONDS) -> Outcome:
    """The outcome of one case, in this process."""
    folder, before = tempfile.mkdtemp(prefix="fuzz-"), os.getcwd()
    kept = dict(os.environ)
    os.environ.update(SGVERIFY_STORE="off", SGVERIFY_WORKERS="1", SGVERIFY_RAISE="", COLUMNS="100")
    os.environ.pop("SGVERIFY_RAISE")
    started = time.process_time()
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2))
    code: int | None = None
    accepted: dict[str, Any] | None = None
    left: str | None = None
    try:
        os.chdir(folder)
        _lay(case)
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(err))
            if not case.computes:
                stack.enter_context(without_computing())
            stack.enter_context(_limited(seconds))
            try:
                applied = case.command == APPLICATIONS
                code = run_application(list(case.words[1:])) if applied else main(list(case.words))
            except Accepted as end:
                accepted = end.configuration
            if code == 0 and case.left is not None:
                left = case.left()
    except _TooLong:
        return Outcome(number, None, seconds, f"more than {seconds:g} s of processor time")
    except BaseException as error:
        return Outcome(
            number, None, time.process_time() - started, f"raised {type(error).__name__}: {str(error)[:300]}"
        )
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(kept)
        shutil.rmtree(folder, ignore_errors=True)
    said = [_text(stream) for stream in (out, err)]
    spent = time.process_time() - started
    compared = accepted is not None and bool(case.recorded)
    wrong = left or wrong_with(case, code, accepted, *said)
    return Outcome(number, code, round(spent, 3), wrong, said[1][:2000], compared)


def _text(stream: io.TextIOWrapper) -> str:
    with contextlib.suppress(ValueError):
        stream.flush()
        return stream.buffer.getvalue().decode("utf-8", errors="replace")  # type: ignore[attr-defined, no-any-return]
    return ""


def _lay(case: Case) -> None:
    for name in case.pipes:
        os.mkfifo(name)
    for name, content in case.files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            Path(name).mkdir(exist_ok=True)
        else:
            Path(name).write_bytes(content)


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """A context that raises when its processor time is over, again and again where the error is caught."""

    def end(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _warm(*, stored: bool = False) -> None:
    """Load what every child needs, so that it is loaded once; what cases of `stored` draws are compared with, too."""
    from tests.fuzz import documents, draws

    documents.evidence()
    if stored:
        draws.undisturbed(draws.STEPS)
        draws.undisturbed(draws.MORE)
    run_here(Case("", ("verify", "sgld-euler", "--quiet"), computes=True))
    run_here(Case("", ("sample", "sgld-euler", "--set", "steps=64", "--set", "chains=4"), computes=True))
    run_here(Case("", ("identify", "sgld-euler")))
    run_here(Case("", ("advise", "gaussian")))


def _child(cases: Sequence[tuple[int, Case]], seconds: float) -> Iterator[Outcome]:
    """Outcomes from one child until it ends; where it ended within a case, that case's outcome says so."""
    there, here = os.pipe()
    gc.freeze()
    process = os.fork()
    if process == 0:
        os.close(there)
        _be_child(cases, seconds, here)
    os.close(here)
    told, number = 0, -1
    try:
        with os.fdopen(there) as lines:
            for line in lines:
                found = json.loads(line)
                if "begins" in found:
                    number = found["begins"]
                    continue
                told += 1
                yield Outcome(**found)
    except GeneratorExit:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        raise
    _, status = os.waitpid(process, 0)
    if told < len(cases) and status:
        name = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
        over = (
            " (the limit of processor time, in code that no signal interrupts)"
            if os.WIFSIGNALED(status)
            else ""
        )
        yield Outcome(number, None, seconds, f"the process ended by {name}{over}")


def _be_child(cases: Sequence[tuple[int, Case]], seconds: float, here: int) -> None:
    code = 1
    try:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        os.setsid()
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        with os.fdopen(here, "w", buffering=1) as lines:
            for number, case in cases:
                spent = resource.getrusage(resource.RUSAGE_SELF)
                # A backstop for code that no signal interrupts: the system ends the process.
                most = int(spent.ru_utime + spent.ru_stime + 3 * seconds + 5)
                resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
                signal.alarm(int(20 * seconds))
                lines.write(json.dumps({"begins": number}) + "\n")
                lines.write(json.dumps(asdict(run_here(case, number, seconds))) + "\n")
        code = 0
    finally:
        os._exit(code)
