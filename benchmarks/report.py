"""Benchmark: `sgverify report` in a process of its own, from its start to the last file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.measuring import Row, Setting, compare

BAR = 60.0
IMPORTS = "import sgverify.checks, sgverify.report, matplotlib.figure"


def run(setting: Setting) -> Iterator[Row]:
    """The report of chen2015 beside the imports alone; a tiny run stops at the command's help."""
    arguments = ["report", "--help"] if setting.tiny else ["report"]
    timing, floor = compare(
        lambda: _command(arguments),
        lambda: _run([sys.executable, "-c", IMPORTS]),
        setting,
        same=lambda ours, theirs: ours == theirs == 0,
    )
    name = "sgverify report --help" if setting.tiny else "sgverify report"
    yield Row(
        name,
        timing,
        BAR,
        "the imports alone, in a process of their own",
        floor,
        note="the bar is for 2 cores",
    )


def _command(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        out = [] if "--help" in arguments else ["--out", folder]
        return _run([sys.executable, "-m", "sgverify", *arguments, *out])


def _run(command: list[str]) -> int:
    return subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    ).returncode
