"""A calibration written down: bars, tables, a plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from sgverify.evidence import Bar, Calibration, Counted, Tally, write_atomically, write_calibration
from sgverify.report.calibration_drawing import draw_calibration
from sgverify.report.svg import standalone_svg
from sgverify.report.writing import prepare_folder

NAME = "calibration"
SYMBOLS = {"met": "✓", "missed": "✗", "undecided": "?"}


def write_calibration_report(calibration: Calibration, folder: str | Path) -> Path:
    """Write calibration.json, .svg and .md into `folder` and return the path of the last; the JSON comes first.

    Raises UserError when the folder cannot be written.
    """
    folder = prepare_folder(folder)
    write_calibration(folder / f"{NAME}.json", calibration)
    write_atomically(folder / f"{NAME}.svg", standalone_svg(draw_calibration(calibration)))
    page = folder / f"{NAME}.md"
    write_atomically(page, render_calibration(calibration))
    return page


def counted_bars(calibration: Calibration) -> str:
    """The bars on a terminal, one line each."""
    return "\n".join(
        f"{SYMBOLS[bar.outcome]} {bar.outcome:<10} {bar.statement}: {_limits(bar)}; worst {bar.count} of "
        f"{bar.replications} samples, {_rate(bar)}, {bar.worst}"
        for bar in calibration.bars
    )


def render_calibration(calibration: Calibration) -> str:
    """The whole calibration as Markdown; the same input gives the same bytes."""
    first = calibration.tables[0]
    blocks = [
        "# How often verdicts from samples are false",
        "Biases with known rates are sampled with known noise and judged by the functions that judge the samples of `sgverify`; "
        f"the verdicts are counted. Each promises false verdicts in at most {first.level:.0%} of all samples here. A verdict is "
        f"false that says `conforms` where an order below the claimed one carries more than {calibration.margin:.0%} of the error "
        "at the largest step, or `violates` where every such order carries less. Where one carries exactly that, both "
        "answers are right and neither is counted as false: no procedure can tell one side of a boundary from the other. "
        "`inconclusive` is never false, and what it costs is to be seen beside it. "
        f"The habit of the field, on the same points, accepts {calibration.habit}.",
        "## Bars",
        _bars(calibration.bars),
        "A bar is met if the 95 % interval (Clopper and Pearson) of *every* cell lies inside, missed if that of one lies "
        "outside at a level that allows for the number of cells, and undecided in between, which more replications settle.",
        f"![Verdicts against noise, for each truth]({NAME}.svg)",
    ]
    for table in calibration.tables:
        blocks += [f"## {table.title}", f"{table.note} In per cent; false verdicts in bold.", _cells(table)]
    made = calibration.provenance
    blocks.append(f"Made by sgverify {made.version} with `{made.command}`, seed {calibration.seed}.")
    return "\n\n".join(blocks) + "\n"


def _bars(bars: Sequence[Bar]) -> str:
    rows = [["", "promise", "bar", "cells", "worst", "95 % interval", "which"]]
    rows += [
        [
            f"{SYMBOLS[bar.outcome]} {bar.outcome}",
            bar.statement,
            _limits(bar),
            str(bar.cells),
            f"{100 * bar.count / bar.replications:.2f} %",
            f"{100 * bar.interval[0]:.2f} to {100 * bar.interval[1]:.2f} %",
            bar.worst,
        ]
        for bar in bars
    ]
    return _table(rows, "llrrrrl")


def _cells(table: Counted) -> str:
    """Columns that say the same in every row are left out; the title and the note speak of them."""
    columns: dict[str, Callable[[Tally], str]] = {"truth": lambda cell: cell.name}
    for title, value in _QUALITIES.items():
        if len({value(cell) for cell in table.cells}) > 1:
            columns[title] = value
    columns["noise"] = lambda cell: f"{cell.noise:.1%}".replace("%", " %")
    columns["samples"] = lambda cell: str(cell.replications)
    words = len(columns) - 2
    columns["conforms"] = lambda cell: _share(cell, cell.conforms, cell.truth == "breaks")
    columns["violates"] = lambda cell: _share(cell, cell.violates, cell.truth == "keeps")
    columns["inconclusive"] = lambda cell: _share(cell, cell.inconclusive)
    if any(cell.covered is not None for cell in table.cells):
        if any(cell.intervals < cell.replications for cell in table.cells):
            columns["exponent given"] = lambda cell: _share(cell, cell.intervals)
        columns["interval covers"] = lambda cell: _share(cell, cell.covered, among=cell.intervals)
    if any(cell.habit is not None for cell in table.cells):
        columns["habit accepts"] = lambda cell: _share(cell, cell.habit, cell.truth == "breaks")
    rows = [list(columns), *([text(cell) for text in columns.values()] for cell in table.cells)]
    return _table(rows, "l" * words + "r" * (len(columns) - words))


_QUALITIES: dict[str, Callable[[Tally], str]] = {
    "claim": lambda cell: cell.claim,
    "sampling": lambda cell: cell.sampling,
    "chains": lambda cell: cell.errors,
    "holds": lambda cell: {"keeps": "yes", "breaks": "no", "either": "on the margin"}[cell.truth],
}


def _share(cell: Tally, count: int | None, wrong: bool = False, among: int | None = None) -> str:
    if count is None:
        return "-"
    printed = f"{100 * count / (cell.replications if among is None else among):.1f}"
    if count and printed == "0.0":
        printed = "< 0.1"
    return f"**{printed}**" if wrong and count else printed


def _limits(bar: Bar) -> str:
    if bar.low is None:
        return f"at most {_percent(bar.high or 0.0)}"
    return f"at least {bar.low:.0%}" if bar.high is None else f"{bar.low:.0%} to {bar.high:.0%}"


def _percent(chance: float) -> str:
    return f"{chance:.0%}" if chance >= 0.01 else f"{chance:.2%}"


def _rate(bar: Bar) -> str:
    low, high = bar.interval
    return f"{bar.count / bar.replications:.2%} ({low:.2%} to {high:.2%})"


def _table(rows: Sequence[Sequence[str]], sides: str) -> str:
    head, *rest = rows
    lines = [head, ["--:" if side == "r" else "---" for side in sides], *rest]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
