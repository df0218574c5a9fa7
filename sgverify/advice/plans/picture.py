"""The picture of an advice: errors and cost of the cheapest plan of each scheme, against the step size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgverify.advice.plans.model import Advice, Plan, first_sentence
from sgverify.errors import ConfigurationError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

MOST = 6
"""Plans in one picture: the cheapest of each scheme."""

SIZE = (7.2, 7.6)
WIDTH = 108

OF_SD: Any = "solid"
OF_MEAN: Any = (0, (1, 1.3))
OF_CHANCE: Any = (0, (5, 3))
"""Lines of the bias of a standard deviation, of a mean, and of the Monte Carlo error."""

LOWEST = 1e-4
"""The smallest error that is drawn, as a share of a standard deviation: below, it matters to no one."""


def shown(advice: Advice) -> list[Plan]:
    """The plans in the picture: of each scheme the cheapest."""
    found: dict[str, Plan] = {}
    for plan in advice.plans:
        found.setdefault(plan.scheme, plan)
    return list(found.values())[:MOST]


def draw_advice(advice: Advice) -> Drawing:
    """Above, the largest biases and the Monte Carlo error against the step size; below, the gradients that the error takes.

    The Monte Carlo error is that after as many gradients as the advised plan takes. A star marks the step of each plan, the largest
    one the advised. Raises `ConfigurationError` where there is no plan.
    """
    plans = shown(advice)
    if not plans:
        raise ConfigurationError(f"no plan to draw: {advice.distrust}; expected an advice with plans")
    # They bring matplotlib, which `sgverify --help` does without.
    from textwrap import fill

    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing

    from sgverify.report.drawing import COLOURS, MARKERS, SOFT, STYLE

    with matplotlib.rc_context(STYLE):
        drawing = Drawing(figsize=SIZE, facecolor="white")
        FigureCanvasAgg(drawing)
        errors = drawing.add_axes((0.1, 0.46, 0.87, 0.46))
        costs = drawing.add_axes((0.1, 0.2, 0.87, 0.22), sharex=errors)
        budget = plans[0].gradients
        for place, plan in enumerate(plans):
            style = {"color": COLOURS[place], "marker": MARKERS[place], "markersize": 3.5, "linewidth": 1.2}
            _draw_plan(errors, costs, plan, budget, style, advised=place == 0)
        errors.axhline(advice.error, color=SOFT, linewidth=0.9)
        _dress(errors, "error, in sd of the target", plans, advice.error)
        _dress(costs, "gradients for the error", plans, None)
        costs.set_xlabel("step h")
        errors.tick_params(labelbottom=False)
        drawing.text(0.02, 0.985, fill(first_sentence(advice), WIDTH), va="top", fontsize=8.5)
        _legend(drawing, plans, advice)
    return drawing


def write_picture(advice: Advice, path: str | Path) -> None:
    """Draw an advice into an SVG or PNG file; the same advice gives the same bytes.

    Raises `ConfigurationError` for another kind of file and where there is no plan, `UserError` where it cannot be written.
    """
    from sgverify.report.rate_plot import check_plot_path, write_drawing

    check_plot_path(path)
    write_drawing(draw_advice(advice), path)


def _draw_plan(
    errors: Axes, costs: Axes, plan: Plan, budget: float, style: dict[str, Any], *, advised: bool
) -> None:
    steps = [tried.step for tried in plan.tried]
    length = max(1.0, budget / plan.gradients_per_step)
    curves = (
        (OF_SD, [tried.sd_bias for tried in plan.tried]),
        (OF_MEAN, [tried.mean_bias for tried in plan.tried]),
        (OF_CHANCE, [math.sqrt(tried.variance / length) for tried in plan.tried]),
    )
    for line, heights in curves:
        marks = style if line == OF_SD else {**style, "marker": ""}
        errors.plot(
            steps, [value if value > LOWEST else math.nan for value in heights], linestyle=line, **marks
        )
    costs.plot(steps, [tried.gradients for tried in plan.tried], **style)
    star = {"color": style["color"], "marker": "*", "markersize": 17 if advised else 9, "linestyle": "none"}
    errors.plot([plan.step], [max(plan.bias, LOWEST)], zorder=3, **star)
    costs.plot([plan.step], [plan.gradients], zorder=3, **star)


def _dress(axes: Axes, name: str, plans: Sequence[Plan], error: float | None) -> None:
    from sgverify.report.drawing import set_log_ticks

    steps = [step for plan in plans for step in (plan.step, *(tried.step for tried in plan.tried))]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(min(steps) / 1.1, max(steps) * 1.1)
    if error is not None:
        low = min(axes.get_ylim()[0], error / 3)
        axes.set_ylim(max(low, LOWEST / 1.5), max(axes.get_ylim()[1], error * 1.5))
    set_log_ticks(axes.xaxis, *axes.get_xlim())
    set_log_ticks(axes.yaxis, *axes.get_ylim())
    axes.grid(True)
    axes.set_axisbelow(True)
    axes.set_ylabel(name)


def _legend(drawing: Drawing, plans: Sequence[Plan], advice: Advice) -> None:
    """Below the axes: the plans by colour, and the errors by their lines."""
    from matplotlib.lines import Line2D

    from sgverify.report.drawing import COLOURS, INK, MARKERS, SOFT

    entries: list[tuple[Any, str]] = [
        (
            Line2D([], [], color=COLOURS[place], marker=MARKERS[place], markersize=4, linewidth=1.2),
            f"{plan.scheme}, {plan.label}{'' if plan.friction is None else f', friction {plan.friction:.2g}'}",
        )
        for place, plan in enumerate(plans)
    ]
    lines = (
        (OF_SD, "bias of the worst sd"),
        (OF_MEAN, "bias of the worst mean"),
        (OF_CHANCE, "Monte Carlo error after the gradients of the advised plan"),
    )
    entries += [(Line2D([], [], color=INK, linestyle=line, linewidth=1.2), name) for line, name in lines]
    entries.append((Line2D([], [], color=SOFT, linewidth=0.9), f"the error asked for, {advice.error:g}"))
    entries.append(
        (Line2D([], [], color=INK, marker="*", linestyle="none"), "step of each plan; large: advised")
    )
    handles, labels = zip(*entries, strict=True)
    drawing.legend(
        handles, labels, loc="lower left", bbox_to_anchor=(0.03, 0.005), ncols=2, borderaxespad=0, fontsize=7.5,
        handlelength=2.6, columnspacing=1.2,
    )  # fmt: skip


__all__ = ["draw_advice", "write_picture"]
