"""The rows of the regression file as explicit examples of a hypothesis test of one's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import example

from sgverify.testing.places import places_for
from sgverify.testing.regressions import Regressions


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


__all__ = ["regression_examples"]
