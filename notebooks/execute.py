"""Execute the notebooks in this folder: `python notebooks/execute.py [NAME.ipynb ...] [--out FOLDER]`.

What is written holds nothing of the machine and nothing of the moment: no times, no versions, no paths.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

FOLDER = Path(__file__).resolve().parent
TIMEOUT = 120
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class ThisInterpreter(KernelSpecManager):
    """Whatever kernels are installed: the one of the running interpreter."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The kernel, without a history file and without remarks about its transport."""
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(
            argv=[*command, "--HistoryManager.enabled=False", "--log-level=ERROR"],
            display_name="Python 3",
            language="python",
        )


def executed(path: Path) -> NotebookNode:
    """The notebook, run from top to bottom in a new kernel; raises `CellExecutionError` where a cell errs."""
    notebook = nbformat.read(path, as_version=4)
    manager = AsyncKernelManager(kernel_spec_manager=ThisInterpreter(), kernel_name="python3")
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=TIMEOUT,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            # The line of progress, empty at the end, which is there only where a question took longer than a second.
            cell.outputs = [item for item in cell.outputs if item.get("data") != {"text/plain": ""}]
    return notebook


def main(arguments: Sequence[str] | None = None) -> int:
    """Execute the notebooks that are named, or all; in place, or into another folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME.ipynb")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER")
    given = parser.parse_args(arguments)
    for path in [FOLDER / name for name in given.names] or sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(executed(path), given.out / path.name)
        print(path.name, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
