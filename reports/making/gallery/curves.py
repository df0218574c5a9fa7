"""Work-precision and stability regions, drawn from the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.making.gallery.frame import Numbers, Picture, log_log
from reports.making.gallery.settings import DRAWN
from sgverify.report.drawing import COLOURS, INK, SOFT

COLOUR = dict(zip(DRAWN, COLOURS, strict=False))
SHADE = COLOURS[0]
LEVELS = (0.5, 0.9)
APART = 0.055
"""The least distance of two labels, as a share of the height."""


def work_precision(axes: Any, numbers: Numbers) -> None:
    """The least error against gradients, one panel for each gradient; names stand at the right, apart from one another."""
    budgets = numbers["settings"]["budgets"]
    panels = zip(axes[0], numbers["gaussian"].items(), strict=True)
    named = {"full": "full gradients", "minibatch": f"minibatches of {numbers['settings']['batch']}"}
    errors = [e for rows in numbers["gaussian"].values() for row in rows for e in row.get("errors", ())]
    low, high = min(errors) / 2, 2.0
    for axis, (kind, rows) in panels:
        ends = []
        for row in rows:
            if row["scheme"] in DRAWN:
                axis.plot(budgets, row["errors"], color=COLOUR[row["scheme"]], linewidth=1.4)
                ends.append((row["errors"][-1], row["scheme"]))
        axis.set(title=named[kind], xlim=(budgets[0], budgets[-1]), ylim=(low, high))
        log_log(axis, "gradients of single data", "")
        for place, (value, scheme) in zip(
            _apart([np.log(e / low) / np.log(high / low) for e, _ in sorted(ends)]), sorted(ends), strict=True
        ):
            axis.annotate(
                scheme, (budgets[-1], value), xytext=(1.03, place), textcoords="axes fraction", fontsize=8, va="center",
                color=COLOUR[scheme], annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": COLOUR[scheme], "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0},
            )  # fmt: skip
    axes[0][0].set_ylabel("relative error of E θ²")


def _apart(places: list[float]) -> list[float]:
    """Heights of labels, in ascending order, no two nearer than APART, moved down by half of what they were moved up."""
    found: list[float] = []
    for place in places:
        found.append(max(place, found[-1] + APART) if found else place)
    moved = max(b - a for a, b in zip(places, found, strict=True)) / 2
    return [place - moved for place in found]


def stability(axes: Any, numbers: Numbers) -> None:
    """For each scheme the steps below the limit, shaded, and the spectral radius within, by friction and step size."""
    found = numbers["stability"]
    frictions, steps = np.array(found["frictions"]), np.array(found["steps"])
    for axis, row in zip(axes.flat, found["schemes"], strict=True):
        limits = np.array([steps[-1] if x is None else min(x, steps[-1]) for x in row["limits"]])
        axis.fill_between(frictions, steps[0], limits, color=SHADE, alpha=0.15, linewidth=0)
        axis.plot(frictions, limits, color=SHADE, linewidth=1.5)
        inside = np.where(steps[:, None] < limits, np.array(row["radii"]).T, np.nan)
        lines = axis.contour(frictions, steps, inside, levels=LEVELS, colors=[INK, SOFT], linewidths=0.8)
        axis.set(title=row["scheme"], ylim=(steps[0], steps[-1]), xlim=(frictions[0], frictions[-1]))
        log_log(axis, "", "")
        axis.clabel(lines, fmt="radius %g", fontsize=7)
    for axis in axes[-1]:
        axis.set_xlabel("friction D / ω")
    for axis in axes[:, 0]:
        axis.set_ylabel("step size h ω")


PICTURES = (
    Picture(
        "work-precision",
        "Work and precision on a Gaussian posterior",
        "The least root mean square error of the average of θ² over all step sizes, as a share of its true value, that a number of "
        "gradients buys: exact, after burn-in. A line falls the faster, the higher the order of the bias at its best steps.",
        work_precision,
        size=(8.8, 4.0),
    ),
    Picture(
        "stability",
        "Where a step contracts",
        "Steps below the stability limit are shaded, by friction D and step size h, on a harmonic potential of frequency ω; "
        "lines show the exact spectral radius of one step, with whose powers the start is forgotten.",
        stability,
        rows=2,
        columns=3,
        size=(8.8, 5.6),
    ),
)
