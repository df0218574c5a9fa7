"""The picture of a run: traces, marginals beside the Gaussian of exp(-U/T), and widths as predicted and as found."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from sgverify.advice.widths import StepBias
from sgverify.draws.summary import diagnosed, labels_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sgverify.report.picture import Picture

MOST = 8
"""Coordinates with a trace and a marginal; of the others the widths alone are drawn."""

TRACED, LONGEST = 4, 1000
"""Chains of a trace, and the draws of each: more are one band of ink."""

ROW, FOOT, WIDE = 1.5, 2.6, 9.0
"""Inches: of a coordinate, of the widths below, and from left to right."""

WORDS = 120
"""Letters of a line above the picture."""


def draw_run(draws: Any, bias: StepBias | None) -> Picture:
    """A row of a trace and a marginal for each coordinate, and below the found widths beside the predicted ones.

    `bias` is what was predicted of the run; its Gaussian is drawn where it is known.
    """
    import matplotlib

    from sgverify.report.colours import STYLE
    from sgverify.report.drawing import as_label
    from sgverify.report.picture import Picture

    part = diagnosed(draws.posterior)
    values = np.concatenate(
        [value.values.reshape(*value.shape[:2], -1) for value in part.data_vars.values()], axis=2
    )
    labels = list(labels_of(part))
    known = bias if bias is not None and len(bias.sd) == len(labels) else None
    rows = min(MOST, len(labels))
    verdict = str(draws.attrs.get("verdict", "")).partition(";")[0]
    title = f"{draws.attrs['scheme']} on {draws.attrs['target']}"
    with matplotlib.rc_context(STYLE):
        drawing = Picture((WIDE, ROW * rows + FOOT), title, verdict, layout="constrained")
        grid = drawing.add_gridspec(rows + 1, 2, width_ratios=(2, 1), height_ratios=(*[ROW] * rows, FOOT))
        for i in range(rows):
            _trace(drawing.add_subplot(grid[i, 0]), values[..., i], np.asarray(part["draw"]), labels[i])
            centre = known.mean[i] if known is not None and known.mean else float(values[..., i].mean())
            _marginal(
                drawing.add_subplot(grid[i, 1]),
                values[..., i],
                centre,
                known.sd[i] if known is not None else None,
            )
        _widths(drawing.add_subplot(grid[rows, :]), values, labels, known)
        drawing.suptitle(as_label(fill(f"{title}. {verdict}", WORDS)), fontsize=8)
    return drawing


def _trace(axes: Axes, values: np.ndarray, numbers: np.ndarray, label: str) -> None:
    from sgverify.report.colours import COLOURS

    every = -(-len(numbers) // LONGEST)
    for chain, colour in zip(values[:TRACED, ::every], COLOURS, strict=False):
        axes.plot(numbers[::every], chain, color=colour, linewidth=0.4, rasterized=True)
    axes.set_xlabel("step", fontsize=7, labelpad=1)
    axes.set_ylabel(label, fontsize=8)
    axes.tick_params(labelsize=7)


def _marginal(axes: Axes, values: np.ndarray, centre: float, sd: float | None) -> None:
    from sgverify.report.colours import COLOURS, INK

    axes.hist(values.ravel(), bins=50, density=True, color=COLOURS[0], alpha=0.4)
    if sd:
        x = np.linspace(centre - 4 * sd, centre + 4 * sd, 201)
        axes.plot(
            x, np.exp(-(((x - centre) / sd) ** 2) / 2) / (sd * np.sqrt(2 * np.pi)), color=INK, linewidth=1
        )
    axes.set_yticks([])
    axes.tick_params(labelsize=7)


def _widths(axes: Axes, values: np.ndarray, labels: list[str], known: StepBias | None) -> None:
    """Standard deviations over those of exp(-U/T), with the spread of those of single chains as the error; else as they are."""
    from sgverify.report.colours import COLOURS, INK

    places, unit = np.arange(len(labels)), np.asarray(known.sd) if known is not None else 1.0
    found = values.std((0, 1), ddof=1) / unit
    error = 2 * values.std(1).std(0, ddof=1) / np.sqrt(len(values)) / unit if len(values) > 1 else None
    if known is not None and known.factors and known.distrust is None:
        axes.plot(places, known.factors, "_", color=INK, markersize=16, label="predicted")
    axes.errorbar(places, found, error, fmt="o", color=COLOURS[1], markersize=4, linewidth=1, label="found")
    if known is not None:
        axes.axhline(1.0, color=INK, linewidth=0.5)
    axes.set_ylabel("sd" if known is None else "sd / sd of exp(-U/T)", fontsize=8)
    axes.set_xticks(places, labels, rotation=30 if len(labels) > 4 else 0, fontsize=7)
    axes.legend(ncols=2, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
