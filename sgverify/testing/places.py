"""Where a test run keeps what failed: the regression file beside the test module, and the folder of counterexamples."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgverify.evidence import DEFAULT_FILE
from sgverify.testing.regressions import Regressions
from sgverify.testing.shrinking.counterexample import DEFAULT_FOLDER

PLUGIN = "sgverify.pytest_plugin"
OFF = "off"


@dataclass(frozen=True)
class Places:
    """The regression file, None where there is none, and the folder of counterexamples."""

    regressions: Regressions | None
    counterexamples: Path


def places_for(namespace: Mapping[str, Any]) -> Places:
    """The places for a test module with these globals, as the options of the pytest run have them.

    Without an option the file is `sgverify-regressions.jsonl` beside the test module. It is read everywhere; new
    rows are written to it except where the environment has `CI`, whose checkout is thrown away: they are shown there.
    A file that an option names is always written; `off` is neither read nor written.
    """
    plugin = sys.modules.get(PLUGIN)
    file, folder = plugin.chosen_places() if plugin is not None else (None, None)
    here = Path(folder or DEFAULT_FOLDER)
    if file == OFF:
        return Places(None, here)
    if file:
        return Places(Regressions(Path(file)), here)
    module = namespace.get("__file__")
    beside = Path(module).parent if module else Path()
    return Places(Regressions(_short(beside / DEFAULT_FILE), writes=not os.environ.get("CI")), here)


def _short(path: Path) -> Path:
    path, here = Path(os.path.abspath(path)), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
