"""A picture of the gallery: its name, title and caption, and the function that draws its panels from the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from sgverify.report.colours import SOFT, STYLE
from sgverify.report.drawing import set_log_ticks

Numbers = Mapping[str, Any]

RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
"""Digits as exponents."""


@dataclass(frozen=True)
class Picture:
    """`draw` puts the numbers on `rows` times `columns` axes, shape (rows, columns), of `size` inches."""

    name: str
    title: str
    caption: str
    draw: Callable[[Any, Numbers], None]
    rows: int = 1
    columns: int = 2
    size: tuple[float, float] = (8.4, 3.6)


def drawn(picture: Picture, numbers: Numbers) -> Figure:
    """The picture as a matplotlib figure."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=picture.size, layout="constrained")
        FigureCanvasSVG(figure)
        picture.draw(figure.subplots(picture.rows, picture.columns, squeeze=False), numbers)
    return figure


def log_log(axes: Axes, x: str, y: str) -> None:
    """Logarithmic axes with few ticks and these names, once all curves are drawn."""
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        set_log_ticks(axis, *ends)
    axes.grid(True)
    axes.set_axisbelow(True)


def label(
    axes: Axes,
    place: tuple[float, float],
    text: str,
    colour: str,
    shift: tuple[float, float] = (4, 0),
    **style: Any,
) -> None:
    """A word beside a curve, in its colour; `shift` in points."""
    given = {"ha": "left", "va": "center", "fontsize": 8, **style}
    axes.annotate(
        text, place, xytext=shift, textcoords="offset points", color=colour, annotation_clip=False, **given
    )


def slope(axes: Axes, start: tuple[float, float], ratio: float, exponent: float, text: str) -> None:
    """A slope triangle on logarithmic axes: from `start` to `ratio` times its x, of this exponent."""
    (x, y), end = start, start[1] * ratio**exponent
    axes.plot([x, x * ratio, x * ratio, x], [y, y, end, y], color=SOFT, linewidth=0.8)
    label(axes, (x * ratio, (y * end) ** 0.5), text, SOFT, fontsize=7.5)


def pairs(x: Sequence[float], y: Sequence[float | None]) -> tuple[list[float], list[float]]:
    """The places with a value that is not 0, and its size."""
    kept = [(a, abs(b)) for a, b in zip(x, y, strict=True) if b]
    return [a for a, _ in kept], [b for _, b in kept]
