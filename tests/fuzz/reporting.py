"""The counts of a run, by command and by what was varied, as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sgverify.cli.main import cli
from sgverify.keeping.files import json_text, write_atomically
from tests.fuzz.case import Case
from tests.fuzz.running import MEMORY, SECONDS, Outcome


def write(folder: Path, seed: int, outcomes: Sequence[tuple[Case, Outcome]]) -> None:
    """Write `fuzz.json`: how many inputs came to which outcome, and what is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "seed": seed,
        "inputs": len(outcomes),
        "computed": sum(case.computes for case, _ in outcomes),
        "compared_with_the_configuration": sum(outcome.compared for _, outcome in outcomes),
        "wrong": [
            {"number": outcome.number, "what": outcome.wrong} for _, outcome in outcomes if outcome.wrong
        ],
        "limits": {"processor_seconds": SECONDS, "bytes": MEMORY},
        "seconds": round(sum(outcome.seconds for _, outcome in outcomes), 1),
        "longest_seconds": max(outcome.seconds for _, outcome in outcomes),
        "outcomes": _counts(outcome.word for _, outcome in outcomes),
        "by_command": _tables(
            [(case.command if case.command in cli.commands else "unknown", o.word) for case, o in outcomes]
        ),
        "by_format": _tables([(case.format, outcome.word) for case, outcome in outcomes]),
    }
    write_atomically(folder / "fuzz.json", json_text(document))


def _counts(words: object) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))  # type: ignore[arg-type]


def _tables(pairs: Sequence[tuple[str, str]]) -> dict[str, dict[str, int]]:
    return {
        name: _counts(word for other, word in pairs if other == name)
        for name in sorted({name for name, _ in pairs})
    }
