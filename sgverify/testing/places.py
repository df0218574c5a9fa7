"""Where a test run keeps what failed: the regression file beside the test module, and the folder of counterexamples.

The rows of the regression file as explicit examples of a hypothesis test of one's own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import example

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


def regression_examples(
    reference: str, check: str, *, file: str | Path | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a test under `@given(configurations(...))`: hypothesis tries the rows of this scheme and check first.

        @regression_examples("mine.py:heun", "stationary-bias")
        @given(configurations(dims=[1]))
        def test_heun(configuration):
            ...

    `file` is the regression file, by default that of the test run: `sgverify-regressions.jsonl` beside the test module,
    or what `--sgverify-regressions` names. Raises `UserError` with file and line for a row that cannot be read.
    """
    chosen = Regressions(Path(file)) if file else places_for(sys._getframe(1).f_globals).regressions
    rows = chosen.rows_of({reference}, check) if chosen else []

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        for _, configuration in reversed(rows):
            test = example(configuration)(test)
        return test

    return decorate
