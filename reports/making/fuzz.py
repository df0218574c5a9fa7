"""Thousands of broken, extreme and hostile inputs of the command line: what came of them. Writes fuzz/fuzz.json, numbers.json.

The inputs are those of `tests.fuzz`, whose docstring says how they are drawn. `python -m tests.fuzz --seed S --only NUMBER` shows
one of them and runs it alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sgverify.keeping.files import json_text, write_atomically

COUNT, SEED = 5000, 0

SEEDS, EACH = range(204, 218), 400
"""Of the inputs that compute, with numbers as they come."""


def make(folder: Path) -> None:
    """Run the inputs in processes of their own, and write how many came to which outcome."""
    words = ["--count", str(COUNT), "--seed", str(SEED), "--out", str(folder / "fuzz")]
    # What is wrong is in the file, and the exit code is 1 then.
    subprocess.run([sys.executable, "-m", "tests.fuzz", *words], check=False)
    write_numbers(folder / "fuzz")


def write_numbers(folder: Path) -> None:
    """Run the inputs with numbers as they come, which compute, and write numbers.json."""
    found = []
    for seed in SEEDS:
        with TemporaryDirectory() as place:
            words = ["--numbers", "--count", str(EACH), "--seed", str(seed), "--out", place]
            subprocess.run([sys.executable, "-m", "tests.fuzz", *words], check=False)
            found.append(json.loads((Path(place) / "fuzz.json").read_text(encoding="utf-8")))
    write_atomically(folder / "numbers.json", json_text(together(found)) + "\n")


def together(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The outcomes of several seeds as one document."""
    outcomes: Counter[str] = Counter()
    for one in found:
        outcomes.update(one["outcomes"])
    return {
        "seeds": [one["seed"] for one in found],
        "inputs_of_each": EACH,
        "inputs": sum(one["inputs"] for one in found),
        "computed": sum(one["computed"] for one in found),
        "outcomes": dict(sorted(outcomes.items())),
        "wrong": [{"seed": one["seed"], **wrong} for one in found for wrong in one["wrong"]],
        "seconds": round(sum(one["seconds"] for one in found), 1),
        "longest_seconds": max(one["longest_seconds"] for one in found),
    }
