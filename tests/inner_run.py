"""pytest run inside a test, in the test's own process, which has loaded already what a new one would load first."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest


def run_inside(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> pytest.RunResult:
    """`pytest *arguments` in `folder`.

    What the run imports stays imported, but for the modules of `folder`. `Pytester.runpytest` drops all of it, and
    neither torch nor parts of numpy can be loaded a second time.
    """
    # zarr has a plugin too, which makes marks that the outer run has not declared.
    plain = (f"--rootdir={folder}", "--color=no", "-p", "no:cacheprovider", "-p", "no:zarr")
    # Among the folders of outer runs, an inner run would take a place and remove those of runs before.
    own = f"--basetemp={folder.with_name(folder.name + '-inner')}"
    path = list(sys.path)
    capsys.readouterr()
    started = time.perf_counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        # How the outer run was called is no matter of the inner one.
        for variable in ("PYTEST_ADDOPTS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
            patch.delenv(variable, raising=False)
        try:
            code = pytest.main([*plain, own, *arguments])
        finally:
            sys.path[:] = path
            for name, module in list(sys.modules.items()):
                if Path(getattr(module, "__file__", None) or sys.prefix).is_relative_to(folder):
                    del sys.modules[name]
    captured = capsys.readouterr()
    took = time.perf_counter() - started
    return pytest.RunResult(code, captured.out.splitlines(), captured.err.splitlines(), took)
