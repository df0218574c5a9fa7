"""How does the measuring process talk to the processes of the contenders?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from benchmarks.peers.problems import Absent

_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}


class Failed(Exception):
    """A contender raised an exception, or its process ended."""


class Conversation:
    """A worker's process, started at the first request, and started anew after it has ended."""

    def __init__(self, name: str, environment: dict[str, str] | None = None) -> None:
        self._name, self._environment = name, environment or {}
        self._process: subprocess.Popen[str] | None = None

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """The answer to a request of `worker`; raises `Absent` or `Failed`."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.peers.worker", self._name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, **_ONE_THREAD, **self._environment},
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        line = ""
        try:
            process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            pass
        if not line:
            code, self._process = process.wait(), None
            raise Failed(f"its process ended with the code {code}")
        answer: dict[str, Any] = json.loads(line)
        if "absent" in answer:
            raise Absent(answer["absent"])
        if "failed" in answer:
            raise Failed(answer["failed"])
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
