"""The README's picture, drawn from the committed report."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from sgverify.evidence import Evidence, read_evidence
from sgverify.report.drawing import STYLE, set_log_ticks
from sgverify.report.svg import standalone_svg

CLAIM = "chen2015/theorem-4"
SCHEMES = ("sgld-euler", "sghmc-euler-explicit", "sghmc-aboba")
PANELS = (("full", "full gradients"), ("iid", "minibatches of 10 out of 1000"))
COLOURS = dict(zip(SCHEMES, ("#b5532a", "#5b7f2b", "#2a5fb5"), strict=True))
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def render(folder: Path) -> None:
    """Draw FOLDER/picture.svg from FOLDER/chen2015/report.json."""
    picture = standalone_svg(draw(folder / "chen2015" / "report.json"))
    (folder / "picture.svg").write_text(picture, encoding="utf-8")


def draw(report: Path) -> Figure:
    """Stationary bias of theta^2 against the step size, exact lines and sampled points, one panel per gradient."""
    found = {
        (item.scheme, item.configuration["gradient"]["kind"]): item
        for item in read_evidence(report).evidence
        if (item.claim, item.check) == (CLAIM, "stationary-bias")
        and item.configuration["test_function"] == "theta**2"
    }
    with mpl.rc_context(STYLE | {"figure.facecolor": "white"}):
        figure = Figure(figsize=(8.4, 4.2), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (kind, title) in zip(axes, PANELS, strict=True):
            for scheme in SCHEMES:
                curve(axis, found[scheme, kind])
            axis.set(xscale="log", yscale="log", xlabel="step size h", title=title)
            set_log_ticks(axis.xaxis, *axis.get_xlim())
            axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.2))
        set_log_ticks(axes[0].yaxis, *axes[0].get_ylim())
        axes[0].set_ylabel("bias of θ² under the invariant law")
    return figure


def curve(axis: Axes, item: Evidence) -> None:
    """One scheme: its exact points as a line, its sampled points with three standard errors where they are seen."""
    colour = COLOURS[item.scheme]
    exact = [(p.step, abs(p.value)) for p in item.points if p.kind == "exact" and p.value]
    label = f"{item.scheme}: found {power(item.found.exponent)}, predicted {power(item.predicted.exponent)}"
    axis.plot(*zip(*exact, strict=True), "o-", ms=3.5, color=colour, label=label)
    for point in item.points:
        error = 3 * (point.standard_error or 0.0)
        if point.kind == "sampled" and point.step and abs(point.value or 0.0) > error:
            axis.errorbar(
                point.step, abs(point.value or 0.0), error, fmt="D", ms=5, mfc="none", capsize=3, color=colour
            )


def power(exponent: float | Fraction | None) -> str:
    """h with a whole exponent raised."""
    return f"h{exponent}".translate(RAISED)
