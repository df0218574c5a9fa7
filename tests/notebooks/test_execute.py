"""`notebooks/execute.py`: a new kernel for each notebook, a file that holds nothing of the machine, an error that is told."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from tests.notebooks.executing import NOTEBOOKS, executed_in_a_kernel, texts

CELLS = [
    "import sys; print('torch' in sys.modules)",
    "%matplotlib inline\nimport matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()",
    "from IPython.display import Markdown; Markdown('**bold**')",
]


def written(path: Path, *cells: str) -> Path:
    """A notebook of these cells."""
    made = [nbformat.v4.new_code_cell(cell, metadata={"collapsed": True}) for cell in cells]
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)
    return path


def test_a_notebook_runs_in_a_new_kernel_and_keeps_nothing_of_the_machine(tmp_path: Path) -> None:
    (out := tmp_path / "out").mkdir()
    run = executed_in_a_kernel(written(tmp_path / "small.ipynb", *CELLS), out)
    assert texts(run) == ["False\n", "figure", "**bold**"]
    assert [cell["execution_count"] for cell in run["cells"]] == [1, 2, 3]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert run["metadata"] == {"kernelspec": kernel, "language_info": {"name": "python"}}
    assert [(cell["id"], cell["metadata"]) for cell in run["cells"]] == [(f"cell-{k}", {}) for k in range(3)]


@pytest.mark.power  # every notebook runs in the tests' own process by default; the committed ones are what this writes
@pytest.mark.parametrize("name", sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")))
def test_a_committed_notebook_runs_in_a_new_kernel(name: str, tmp_path: Path) -> None:
    run, committed = (
        executed_in_a_kernel(NOTEBOOKS / name, tmp_path),
        json.loads((NOTEBOOKS / name).read_text()),
    )
    assert all(cell["execution_count"] for cell in run["cells"] if cell["cell_type"] == "code")
    # Tables of short runs of float32 differ with the rounding of the machine; the tests of each notebook say how far.
    assert len(texts(run)) == len(texts(committed))
    assert texts(run).count("figure") == texts(committed).count("figure")
