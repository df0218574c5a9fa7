"""A calibration written down: bars, tables, a plot."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.making.calibration.document import Bar, Calibration, Counted, Tally, write_calibration
from sgverify.keeping.files import write_atomically
from sgverify.report.colours import GRID, INK, PAPER, SOFT, STYLE
from sgverify.report.svg import file_svg
from sgverify.report.writing import prepare_folder

NAME = "calibration"
SYMBOLS = {"met": "✓", "missed": "✗", "undecided": "?"}


def write_calibration_report(calibration: Calibration, folder: str | Path) -> Path:
    """Write calibration.json, .svg and .md into `folder` and return the path of the last; the JSON comes first.

    Raises UserError when the folder cannot be written.
    """
    folder = prepare_folder(folder)
    write_calibration(folder / f"{NAME}.json", calibration)
    picture = file_svg(
        draw_calibration(calibration),
        "Calibration",
        "How often each check errs, beside the rate that it states.",
    )
    write_atomically(folder / f"{NAME}.svg", picture)
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


def draw_calibration(calibration: Calibration) -> Drawing:
    """The tables of the first claimed order at one look, a panel for each truth.

    Stacked bars: shares of the three verdicts, one bar for each way of sampling side by side. A diamond: the share that the
    habit accepts on the same points.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Drawing

    claim = calibration.tables[0].cells[0].claim
    cells = [cell for table in calibration.tables[:2] for cell in table.cells if cell.claim == claim]
    truths = list(dict.fromkeys(cell.name for cell in cells))
    ways = list(dict.fromkeys(cell.sampling for cell in cells))
    noises = sorted({cell.noise for cell in cells})
    rows = math.ceil((len(truths) + 1) / COLUMNS)
    with matplotlib.rc_context({**STYLE, "figure.facecolor": PAPER, "axes.facecolor": PAPER}):
        drawing = Drawing(figsize=(PANEL[0] * COLUMNS, PANEL[1] * rows), layout="constrained")
        FigureCanvasSVG(drawing)
        panels = drawing.subplots(rows, COLUMNS, squeeze=False).flatten().tolist()
        for axes, truth in zip(panels, truths, strict=False):
            _draw_truth(axes, [cell for cell in cells if cell.name == truth], ways, noises)
        for axes in panels[len(truths) :]:
            axes.set_axis_off()
        for axes in panels[::COLUMNS]:
            axes.set_ylabel("% of samples")
        _explain(panels[len(truths)], ways, claim)
    return drawing


def _bars(bars: Sequence[Bar]) -> str:
    rows = [["met", "promise", "bar", "cells", "worst", "95 % interval", "which"]]
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
    texts = len(columns) - 2
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
    return _table(rows, "l" * texts + "r" * (len(columns) - texts))


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


if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

COLOURS = {"conforms": "#0b6aa8", "inconclusive": "#dfe2e4", "violates": "#c8501e"}
COLUMNS = 4
PANEL = (2.45, 1.95)
BAR, GAP = 0.38, 0.04
HOLDS = {"keeps": "keeps the claim", "breaks": "breaks the claim", "either": "on the margin"}


def _draw_truth(axes: Axes, cells: Sequence[Tally], ways: Sequence[str], noises: Sequence[float]) -> None:
    for cell in cells:
        side = ways.index(cell.sampling) - (len(ways) - 1) / 2
        place = noises.index(cell.noise) + side * (BAR + GAP)
        base = 0.0
        for verdict, colour in COLOURS.items():
            height = 100 * getattr(cell, verdict) / cell.replications
            axes.bar(place, height, BAR, bottom=base, color=colour, linewidth=0)
            base += height
        if cell.habit is not None:
            _mark_habit(axes, place, 100 * cell.habit / cell.replications)
    axes.set_title(f"{cells[0].name}\n({HOLDS[cells[0].truth]})", fontsize=8.5, color=INK)
    axes.set_ylim(0, 100)
    axes.set_xlim(-0.6, len(noises) - 0.4)
    axes.set_yticks([0, 50, 100])
    shown = {cell.noise for cell in cells}
    axes.set_xticks(range(len(noises)), [f"{100 * noise:g}%" if noise in shown else "" for noise in noises])
    axes.tick_params(length=2, labelsize=8)
    axes.grid(True, axis="y", color=GRID)
    axes.set_axisbelow(True)


def _mark_habit(axes: Axes, place: float, height: float) -> None:
    style: dict[str, Any] = {"marker": "D", "markersize": 4.5, "clip_on": False, "zorder": 5}
    axes.plot([place], [height], color=INK, markerfacecolor="white", markeredgewidth=1.0, **style)


def _explain(axes: Axes, ways: Sequence[str], claim: str) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Any] = [Patch(color=colour, label=verdict) for verdict, colour in COLOURS.items()]
    entries.append(
        Line2D(
            [], [], linestyle="none", marker="D", markersize=4.5, color=INK, markerfacecolor="white",
            label="accepted by the slope",
        )
    )  # fmt: skip
    sides = " ".join(f"{side}: {way}." for side, way in zip(("Left bar", "Right bar"), ways, strict=False))
    text = (
        f"Claimed: {claim}.\n"
        + sides.replace(". ", ".\n")
        + "\nBelow: noise, relative to\nthe error at the largest step."
    )
    axes.text(0.02, 0.98, text, transform=axes.transAxes, va="top", fontsize=8, color=SOFT)
    axes.legend(handles=entries, loc="lower left", bbox_to_anchor=(-0.03, -0.2), fontsize=8, labelspacing=0.3)
