"""The plot of a calibration: for each truth, what was answered at each noise level, beside what the habit accepts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sgverify.evidence import Calibration, Tally
from sgverify.report.drawing import GRID, INK, PAPER, SOFT, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

COLOURS = {"conforms": "#0b6aa8", "inconclusive": "#dfe2e4", "violates": "#c8501e"}
COLUMNS = 4
PANEL = (2.45, 1.95)
BAR, GAP = 0.38, 0.04
HOLDS = {"keeps": "keeps the claim", "breaks": "breaks the claim", "either": "on the margin"}


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
