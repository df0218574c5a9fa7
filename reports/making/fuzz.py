"""Thousands of broken, extreme and hostile inputs of the command line: what came of them. Writes fuzz/fuzz.json.

The inputs are those of `tests.fuzz`, whose docstring says how they are drawn. `python -m tests.fuzz --seed S --only NUMBER` shows
one of them and runs it alone.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COUNT, SEED = 5000, 0


def make(folder: Path) -> None:
    """Run the inputs in processes of their own, and write how many came to which outcome."""
    words = ["--count", str(COUNT), "--seed", str(SEED), "--out", str(folder / "fuzz")]
    # What is wrong is in the file, and the exit code is 1 then.
    subprocess.run([sys.executable, "-m", "tests.fuzz", *words], check=False)
