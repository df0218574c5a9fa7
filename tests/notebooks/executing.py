"""A notebook run from top to bottom: in this process, or in a new kernel as `notebooks/execute.py` does it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import select_figure_formats
from IPython.display import display
from IPython.utils.capture import capture_output
from matplotlib_inline.config import InlineBackend
from traitlets import Type
from traitlets.config import Config

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


class Shown(DisplayHook):
    """The value of a cell's last line is rendered like what the cell displays."""

    def __call__(self, result: object = None) -> None:
        """Display what is there."""
        if result is not None:
            display(result)


class Shell(InteractiveShell):
    """IPython without a kernel around it, which has no event loop of a window to enter."""

    displayhook_class = Type(Shown)

    def enable_gui(self, gui: str | None = None) -> None:
        """Figures are drawn into the page."""


@contextmanager
def shell() -> Iterator[Shell]:
    """A shell with a namespace of its own, without a history; matplotlib is given back as it was found."""
    settings = Config()
    settings.HistoryManager.enabled = False
    backend = plt.get_backend()
    with plt.rc_context():
        try:
            here = Shell.instance(config=settings)
            # As a kernel has it. A tight box would draw every figure twice; once is enough to see that it can be drawn.
            here.run_line_magic("matplotlib", "inline")
            select_figure_formats(here, {"png"})
            yield here
        finally:
            InlineBackend.clear_instance()
            Shell.clear_instance()
            plt.switch_backend(backend)


def executed(path: Path) -> dict[str, Any]:
    """The notebook with what its cells print and render here, in this process, which has loaded torch already."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    with pytest.MonkeyPatch.context() as patch, shell() as here:
        patch.chdir(path.parent)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                with capture_output() as captured:
                    here.run_cell("".join(cell["source"])).raise_error()
                printed = [{"output_type": "stream", "text": captured.stdout}] if captured.stdout else []
                shown = [{"output_type": "display_data", "data": output.data} for output in captured.outputs]
                assert not captured.stderr, captured.stderr
                cell["outputs"] = [*printed, *shown]
    return notebook


def executed_in_a_kernel(path: Path, folder: Path) -> dict[str, Any]:
    """The notebook as `notebooks/execute.py` writes it into `folder`, in a process that exits with the cell that errs."""
    command = [sys.executable, str(NOTEBOOKS / "execute.py"), str(path), "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / path.name).read_text(encoding="utf-8"))


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in a Markdown text, row by row without the heads, as they are read."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [
        [re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in lines
    ]
    heads = [place - 1 for place, row in enumerate(cells) if set("".join(row)) == {"-"}]
    return [row for place, row in enumerate(cells) if place not in heads and place - 1 not in heads]


def texts(notebook: dict[str, Any]) -> list[str]:
    """What the cells print and render, in order; figures are counted, not compared."""
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if data.keys() & {"image/png", "image/svg+xml"}:
                found.append("figure")
            else:
                found.append("".join(output.get("text", data.get("text/markdown", []))))
    return found
