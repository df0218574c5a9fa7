"""The picture of an advice for a network: how wide the stiffest direction is at each step and batch."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from sgverify.advice.networks.model import NetworkAdvice
from sgverify.evidence import Panel, Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

WIDTH = 96


def draw_network(network: NetworkAdvice, target: str) -> Drawing:
    """The standard deviation of the stiffest direction over that of exp(-U/T), by step and batch; a star marks the advice."""
    # They bring matplotlib, which `sgverify --help` does without.
    from sgverify.report.drawing import COLOURS
    from sgverify.report.studies import draw_panel

    curves = []
    for batch in dict.fromkeys(row.batch for row in network.rows):
        rows = [row for row in reversed(network.rows) if row.batch == batch and row.stiffest is not None]
        label = "all data" if batch is None else f"batches of {batch}"
        widths = [row.stiffest for row in rows if row.stiffest is not None]
        curves.append(Series(label, "exact", tuple(row.step for row in rows), tuple(widths)))
    panel = Panel("Width against the step", "step h", "sd of the stiffest direction", tuple(curves))
    drawing = draw_panel(panel, {curve.label: place for place, curve in enumerate(curves)})
    (axes,) = drawing.axes
    x, y, wide, high = axes.get_position().bounds
    axes.set_position((x, y, wide, high - 0.1))
    axes.axvline(network.limits[1], color=COLOURS[-1], linestyle=":")
    axes.set_xlim(right=1.2 * network.limits[1])
    axes.plot([network.best.step], [network.factors[0]], "*", color=COLOURS[0], markersize=17, zorder=3)
    keys = "Curves: over the sd under exp(-U/T); star: the advice; dotted: the stability limit with all data"
    told = f"{network.sentence(target)}. {keys}"
    drawing.text(0.02, 0.985, fill(told, WIDTH), va="top", fontsize=8)
    return drawing
