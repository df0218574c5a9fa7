"""pytest run inside a test, in the test's own process, which has loaded already what a new one would load first."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest


def run_inside(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> pytest.RunResult:
    """`pytest *arguments` in `folder`.

    What the run imports stays imported, but for the modules of `folder`. `Pytester.runpytest` drops all of it, and
    neither torch nor parts of numpy can be loaded a second time.
    """
    came_from, path = Path.cwd(), list(sys.path)
    capsys.readouterr()
    started = time.perf_counter()
    os.chdir(folder)
    try:
        code = pytest.main([f"--rootdir={folder}", "--color=no", "-p", "no:cacheprovider", *arguments])
    finally:
        os.chdir(came_from)
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if Path(getattr(module, "__file__", None) or sys.prefix).is_relative_to(folder):
                del sys.modules[name]
    captured = capsys.readouterr()
    took = time.perf_counter() - started
    return pytest.RunResult(code, captured.out.splitlines(), captured.err.splitlines(), took)
