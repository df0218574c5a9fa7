"""The picture of an advice: the cost of the cheapest plan of each scheme, against the step size.

Of a network: how wide the stiffest direction is at each step and batch.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from sgverify.advice.networks.model import NetworkAdvice
from sgverify.advice.plans.model import Advice, first_sentence
from sgverify.errors import ConfigurationError
from sgverify.evidence import Panel, Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MOST = 6
"""Plans in one picture: the cheapest of each scheme."""

WIDTH = 96


def draw_advice(advice: Advice) -> Drawing:
    """Of each plan the gradients until its bias and its Monte Carlo error together are within the error, by its step.

    A star marks the step of each plan, the largest one the advised. Raises `ConfigurationError` where there is no plan.
    """
    cheapest = {plan.scheme: plan for plan in reversed(advice.plans)}
    plans = sorted(cheapest.values(), key=advice.plans.index)[:MOST]
    if not plans:
        raise ConfigurationError(f"no plan to draw: {advice.distrust}; expected an advice with plans")
    # They bring matplotlib, which `sgverify --help` does without.
    from textwrap import fill

    import matplotlib

    from sgverify.report.drawing import COLOURS, STYLE, as_label
    from sgverify.report.studies import draw_panel

    curves = []
    for plan in plans:
        friction = "" if plan.friction is None else f", friction {plan.friction:.2g}"
        steps, costs = zip(*((tried.step, tried.gradients) for tried in plan.tried), strict=True)
        curves.append(Series(f"{plan.scheme}, {plan.label}{friction}", "exact", steps, costs))
    cost = f"gradients for an error of {advice.error:g}"
    panel = Panel("Cost against the step", "step h", cost, tuple(curves))
    drawing = draw_panel(panel, {curve.label: place for place, curve in enumerate(curves)})
    (axes,) = drawing.axes
    x, y, width, height = axes.get_position().bounds
    axes.set_position((x, y, width, height - 0.05))
    with matplotlib.rc_context(STYLE):
        for place, plan in enumerate(plans):
            size, colour = 9 if place else 17, COLOURS[place % len(COLOURS)]
            axes.plot([plan.step], [plan.gradients], "*", color=colour, markersize=size, zorder=3)
        told = (
            f"{first_sentence(advice)}. Curves: until bias and Monte Carlo error are within it; stars: the step of each plan, "
            "large: advised"
        )
        drawing.text(0.02, 0.985, as_label(fill(told, WIDTH)), va="top", fontsize=8)
    return drawing


def write_picture(advice: Advice, path: str | Path) -> None:
    """Draw an advice into an SVG or PNG file; the same advice gives the same bytes.

    Raises `ConfigurationError` for another kind of file and where there is no plan, `UserError` where it cannot be written.
    """
    from sgverify.report.rate_plot import check_plot_path, write_drawing

    check_plot_path(path)
    network = advice.network
    write_drawing(draw_advice(advice) if network is None else draw_network(network, advice.target), path)


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
