"""One contender in a process of its own: `python -m benchmarks.peers.worker NAME`, a request and an answer a line, in JSON.

`make` builds a task, `check` says where its chains are after so many steps, `time` takes steps and says the CPU time, `peak` the
most memory since `make`. CPU time is that of all threads, and of child processes that have ended, such as a compiler's.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.contenders import CONTENDERS
from benchmarks.peers.problems import PROBLEMS, Absent, Answer, Task

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Worker:
    """A contender, and the run of the task that it was given last."""

    def __init__(self, name: str) -> None:
        self._contender = CONTENDERS[name]
        self._fresh = True
        self._run: Callable[[int], Answer] | None = None
        self._before = 0.0

    def make(self, task: dict[str, Any]) -> dict[str, Any]:
        """Build the run of a task; `cpu` is the seconds that this took."""
        self._run = None
        wanted = Task(**{**task, "problem": PROBLEMS[task["problem"]]})
        if self._fresh:
            # Everything is imported before memory is measured.
            self._contender.make(wanted)
            self._fresh = False
        self._task = wanted
        gc.collect()
        with suppress(OSError):
            # Linux starts the count of the peak anew.
            _CLEAR.write_text("5", encoding="ascii")
        self._before, started = peak_memory(), cpu_seconds()
        self._run = self._contender.make(wanted)
        return {"cpu": cpu_seconds() - started, "note": getattr(self._run, "note", "")}

    def check(self, steps: int) -> dict[str, Any]:
        """Mean and variance over chains after `steps` steps: of each coordinate less its start, its square, the averages."""
        found = self._taken(steps)
        if found.steps != steps:
            raise ValueError(f"{found.steps} steps were taken, {steps} were asked for")
        start = self._task.problem.start
        moved = np.asarray(found.last, dtype=np.float64)
        # Replicas lie side by side, each with the one start.
        moved = moved - np.tile(start, moved.shape[1] // len(start))
        values = np.column_stack([moved, moved**2, found.averages])
        return {
            "count": len(values),
            "mean": values.mean(0).tolist(),
            "variance": values.var(0, ddof=1).tolist(),
        }

    def time(self, steps: int) -> dict[str, Any]:
        """Take at least `steps` steps."""
        gc.collect()
        started = cpu_seconds()
        found = self._taken(steps)
        return {"cpu": cpu_seconds() - started, "steps": found.steps}

    def first(self, task: dict[str, Any], steps: int) -> dict[str, Any]:
        """The first call of this process: CPU seconds of the `imports`, and of making and running a task (`cpu`)."""
        import_module(f"benchmarks.peers.{self._contender.module}")
        for library in self._contender.imports:
            with suppress(Exception):
                import_module(library)
        imports = cpu_seconds()
        self._fresh = False
        self.make(task)
        self._taken(steps)
        return {"imports": imports, "cpu": cpu_seconds() - imports}

    def peak(self) -> dict[str, Any]:
        """The most memory since `make` beyond what the process held then, in bytes."""
        return {"bytes": max(0.0, peak_memory() - self._before), "total": peak_memory()}

    def _taken(self, steps: int) -> Answer:
        assert self._run is not None
        return self._run(steps)


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_memory() -> float:
    """The most resident memory so far, in bytes."""
    with suppress(OSError, StopIteration):
        line = next(line for line in _STATUS.read_text(encoding="ascii").splitlines() if "VmHWM" in line)
        return float(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Answer until stdin ends."""
    # What a library prints goes to stderr; stdout is for answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    if hasattr(os, "sched_setaffinity"):
        # One core: a thread pool that a library starts has no other either.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Absent as reason:
            answer = {"absent": str(reason)}
        except Exception:
            answer = {"failed": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
