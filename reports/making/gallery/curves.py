"""Stability regions, drawn from the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.making.gallery.frame import Numbers, Picture, log_log
from sgverify.report.colours import COLOURS, INK, SOFT

SHADE = COLOURS[0]
LEVELS = (0.5, 0.9)


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
