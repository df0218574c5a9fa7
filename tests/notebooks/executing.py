"""A notebook executed as `notebooks/execute.py` does it, in a process that exits with the cell that errs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def executed(path: Path, folder: Path) -> dict[str, Any]:
    """The notebook, run from top to bottom into `folder`."""
    command = [sys.executable, str(path.parent / "execute.py"), path.name, "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / path.name).read_text(encoding="utf-8"))
