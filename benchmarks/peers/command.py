"""Run the cells, one after the other, with every measured one written down at once: `python -m benchmarks peers`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from benchmarks.peers.bars import LAST, REFERENCE, judge, last_measured
from benchmarks.peers.cells import CELLS, COLD, COLD_QUICK, QUICK, Cell
from benchmarks.peers.comparison import FIRST_CALLERS, FULL, QUICKLY, Comparison, Measured, first_call
from benchmarks.peers.page import progress_line, tables
from benchmarks.peers.problems import PROBLEMS
from sgverify.keeping.files import write_atomically

Stored = dict[str, Any]
"""What was measured: `cells` by key, and `first_calls` by problem."""


def measure_peers(stored: Stored, *, quick: bool, only: str, write: Callable[[], None]) -> None:
    """Measure into `stored` the cells whose key has the text `only`, but for those that it holds; `write` is called after each."""
    cells, first_calls = stored.setdefault("cells", {}), stored.setdefault("first_calls", {})
    last, comparison = last_measured(), Comparison(QUICKLY if quick else FULL)
    try:
        for cell in QUICK if quick else CELLS:
            if only in cell.key and cell.key not in cells:
                measured = comparison.measure(cell)
                cells[cell.key] = [asdict(one) for one in measured]
                write()
                print(progress_line(cell, measured, judge(cell, measured, last)), flush=True)
    finally:
        comparison.close()
    for cell in COLD_QUICK if quick else COLD:
        if only in cell.key and cell.problem not in first_calls:
            first_calls[cell.problem] = {name: first_call(cell, name) for name in FIRST_CALLERS}
            write()


def measured_cells(stored: Stored) -> list[tuple[Cell, list[Measured]]]:
    """The measured cells, one problem after the other, by their number of chains."""
    places = {cell.problem: place for place, cell in reversed([*enumerate(CELLS)])}
    cells = sorted(CELLS, key=lambda cell: (places[cell.problem], cell.thinning, cell.dtype, cell.chains))
    return [
        (cell, [Measured(**one) for one in stored["cells"][cell.key]])
        for cell in cells
        if cell.key in stored["cells"]
    ]


def peers_page(stored: Stored) -> str:
    """The tables, in Markdown."""
    first = {PROBLEMS[name].said: row for name, row in stored["first_calls"].items()}
    return tables(measured_cells(stored), first, last_measured())


def fallen(stored: Stored) -> bool:
    """Whether a cell fell to half of what was last measured."""
    last = last_measured()
    return any(judge(cell, measured, last).fell for cell, measured in measured_cells(stored))


def set_bars(stored: Stored) -> None:
    """Take the measured speeds over the reference's as what no cell may fall to half of."""
    now = {cell.key: judge(cell, measured).ratios.get(REFERENCE) for cell, measured in measured_cells(stored)}
    bars = {**last_measured(), **{key: round(ratio, 3) for key, ratio in now.items() if ratio is not None}}
    write_atomically(LAST, json.dumps(bars, indent=2) + "\n")
