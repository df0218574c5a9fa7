"""The figures, drawn: log-log plots with the predicted slope beside every curve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sgverify.errors import escaped
from sgverify.evidence import Point
from sgverify.report.colours import COLOURS, MARKERS, PAPER, SOFT, STYLE
from sgverify.report.figures import Curve, Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from sgverify.report.picture import Picture

WIDTH = 4.4
"""Inches of a drawing: its words are read on a screen of 390 pixels too."""

HIGH, LEFT, BOTTOM, TOP, LINE = 2.7, 0.72, 0.62, 0.24, 0.178
"""Inches of the axes, what is left of them, below and above, and of a line of the legend, which stands below all."""

LETTERS = 48
"""The letters of labels that have room beside one another in a legend of two columns."""

MARGIN = 0.06
LEAST_HEIGHT = 1 / 3
"""The least height of the axes in decades, as a share of their width: a constant looks flat, and the slopes stay visible."""

ERROR_BARS = 2.0
SMALLEST = 1e-100
SHORT, FINE = (1.0, 2.0, 5.0), (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0)
VALUES = {"mse": "mean square error", "covariance": "relative error", "wasserstein-2": "distance"}
"""What the upper axis is called, where it is not |bias|."""


SLOPES = {False: "predicted slope", True: "slope of the corrected claim"}

# Left, right, low and high limit of the axes.
Frame = tuple[float, float, float, float]


def draw(figure: Figure) -> Picture:
    """The figure, drawn.

    Filled markers: positive values; hollow: negative; a bar across the curve: a change of sign in between; a
    0 on the axis: exactly zero; a cross at the top: diverged. Exact points are joined, sampled ones carry
    error bars of two standard errors; the dashed line is the slope that the printed claim predicts, through the end of
    the curve that the claim speaks of, the dotted one the corrected claim's.
    """
    import matplotlib

    from sgverify.report.picture import Picture

    with matplotlib.rc_context(STYLE):
        slopes = {guide.corrected for curve in figure.curves for guide in curve.guides}
        columns, rows = legend_shape([*map(_label_of, figure.curves), *map(SLOPES.__getitem__, slopes)])
        drawing = Picture((WIDTH, height_with(rows)), figure.title, figure.description)
        axes = drawing.add_axes(place_above(rows, WIDTH, height_with(rows)))
        frame = frame_of(figure)
        for curve in figure.curves:
            draw_curve(axes, curve, figure.x, frame)
        _dress(axes, figure, frame, columns)
    return drawing


def legend_shape(labels: Sequence[str]) -> tuple[int, int]:
    """The columns and the lines of a legend with these labels."""
    half = math.ceil(len(labels) / 2)
    widest = sum(max(map(len, part), default=0) for part in (labels[:half], labels[half:]))
    columns = 2 if widest <= LETTERS else 1
    return columns, math.ceil(len(labels) / columns)


def height_with(rows: int) -> float:
    """Inches of a drawing whose legend has so many lines."""
    return BOTTOM + LINE * rows + HIGH + TOP


def place_above(
    rows: int, width: float, height: float, top: float = TOP
) -> tuple[float, float, float, float]:
    """The axes above a legend with so many lines, as shares of a drawing of this size in inches."""
    left, bottom = LEFT / width, (BOTTOM + LINE * rows) / height
    return left, bottom, 0.98 - left, 1 - bottom - top / height


def set_log_axes(axes: Axes, figure: Figure, frame: Frame) -> None:
    """Logarithmic axes of a figure with these limits."""
    x_label = "step h" if figure.x == "step" else "length L"
    set_axes(axes, frame, ("log", "log"), (x_label, VALUES.get(figure.quantity, "|bias|")))


def set_axes(
    axes: Axes, frame: Frame, scales: tuple[str, str], labels: tuple[str, str], *, fine: bool = False
) -> None:
    """Axes with these limits, scales of x and y, and names; with a grid, and ticks of their own where they are logarithmic."""
    for axis, scale, low, high in ((axes.xaxis, scales[0], *frame[:2]), (axes.yaxis, scales[1], *frame[2:])):
        axes.set(**{f"{axis.axis_name}scale": scale, f"{axis.axis_name}lim": (low, high)})
        if scale == "log":
            set_log_ticks(axis, low, high, fine=fine)
    axes.set(xlabel=labels[0], ylabel=labels[1], axisbelow=True)
    axes.grid(True)


def as_label(text: str) -> str:
    """The text as matplotlib is to print it, which takes what stands between two dollar signs for a formula."""
    return escaped(text).replace("$", r"\$")


def put_legend(axes: Axes, columns: int) -> None:
    """The legend, in the lower left corner of the drawing."""
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.015, 0.005), bbox_transform=axes.figure.transSubfigure, ncols=columns,
        borderaxespad=0, borderpad=0, handlelength=2.6,
    )  # fmt: skip


def look_of(place: int) -> dict[str, Any]:
    """Colour and marker of the curve at a place in the legend."""
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}


def draw_bars(axes: Axes, points: Iterable[tuple[float, float, float]], colour: str) -> None:
    """The bars of errors at places and heights."""
    places, heights, errors = zip(*points, strict=True)
    axes.errorbar(
        places, heights, yerr=errors, fmt="none", ecolor=colour, elinewidth=1.0, capsize=3, capthick=1.0
    )


def draw_marks(
    axes: Axes, points: Sequence[tuple[float, float]], style: Mapping[str, Any], *, folded: bool = True
) -> None:
    """Markers of values at places; where values are `folded`, drawn by their absolute ones, those below 0 are hollow."""
    for negative in (False, True):
        chosen = [(x, height_of(y) if folded else y) for x, y in points if (folded and y < 0) == negative]
        if chosen:
            fill = {"markerfacecolor": PAPER} if negative else {}
            axes.plot(*zip(*chosen, strict=True), **{"linestyle": "none", **style, **fill})


def draw_edge_mark(axes: Axes, place: float, height: float, marker: str, colour: str, **how: Any) -> None:
    """A mark at an edge of the axes, which may lie half beyond it: a cross for a missing value, a 0 for an exact zero."""
    axes.plot(
        [place], [height], marker=marker, color=colour, clip_on=False, linestyle="none", markersize=6, **how
    )


def set_log_ticks(axis: Axis, low: float, high: float, *, fine: bool = False) -> None:
    """Few ticks on a logarithmic axis, at 1, 2 and 5 where it is short, labelled as a reader writes them.

    `fine`: at more places where the axis would have one tick alone.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    narrow = high / low < 300
    places: tuple[float, ...] = SHORT if narrow else (1.0,)
    if fine and high / low < 10:
        start = 10.0 ** math.floor(math.log10(low))
        if sum(low <= start * scale * place <= high for scale in (1, 10) for place in SHORT) == 1:
            places = FINE
    axis.set_major_locator(LogLocator(subs=places, numticks=9))
    # Ticks of a short axis stand a tenth of it apart, which their digits are to tell.
    digits = 3 + max(0, math.ceil(-math.log10(high / low - 1))) if low < high else 3
    axis.set_major_formatter(FuncFormatter(partial(_tick, digits=digits)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def frame_of(figure: Figure) -> Frame:
    """Limits of the axes, from the data alone: guides and error bars may leave the frame, points may not."""
    places = [_x(point, figure.x) for curve in figure.curves for point in curve.points]
    values = [
        _height(point)
        for curve in figure.curves
        for point in curve.points
        if point.value and not point.diverged
    ]
    left, right = min(places), max(places)
    low, high = (min(values), max(values)) if values else (0.1, 1.0)
    least = max(10.0, (right / left) ** LEAST_HEIGHT)
    if high / low < least:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = middle / math.sqrt(least), middle * math.sqrt(least)
    return (*widened(left, right, MARGIN), *widened(low, high, MARGIN))


def widened(low: float, high: float, margin: float) -> tuple[float, float]:
    """The ends of a logarithmic axis with a margin, a share of its length."""
    room = (high / low) ** margin if high > low else 2.0
    return low / room, high * room


def draw_curve(axes: Axes, curve: Curve, x: str, frame: Frame) -> None:
    """Points with their marks and errors, and the slopes that the curve's guides name."""
    style = {**look_of(curve.place), "markersize": 4.5}
    colour = style["color"]
    plain = sorted((p for p in curve.points if p.value and not p.diverged), key=lambda point: _x(point, x))
    exact = [point for point in plain if not _sampled(point)]
    sampled = [point for point in plain if _sampled(point)]
    if exact:
        axes.plot([_x(p, x) for p in exact], [_height(p) for p in exact], color=colour, linewidth=1.1)
        draw_marks(axes, [(_x(p, x), p.value or 0.0) for p in exact], style)
        _draw_sign_changes(axes, exact, x, colour)
    if sampled:
        bars = [ERROR_BARS * (p.standard_error or 0) + (p.error_bound or 0) for p in sampled]
        draw_bars(axes, [(_x(p, x), _height(p), bar) for p, bar in zip(sampled, bars, strict=True)], colour)
        draw_marks(axes, [(_x(p, x), p.value or 0.0) for p in sampled], {**style, "markersize": 5.5})
    _draw_guides(axes, curve, exact or sampled, x, frame)
    left_over = [point for point in curve.points if point.diverged or not point.value]
    for point in left_over:
        gone = point.diverged or point.value is None
        draw_edge_mark(axes, _x(point, x), frame[3 if gone else 2], "x" if gone else "$0$", colour)
    axes.plot([], [], label=_label_of(curve), linewidth=1.1 if exact else 0, **style)


def _draw_sign_changes(axes: Axes, points: list[Point], x: str, colour: str) -> None:
    for before, after in pairwise(points):
        if ((before.value or 0.0) < 0) != ((after.value or 0.0) < 0):
            place = math.sqrt(_x(before, x) * _x(after, x))
            height = math.sqrt(_height(before) * _height(after))
            axes.plot([place], [height], marker="|", markersize=15, markeredgewidth=1.6, color=colour)


def _draw_guides(axes: Axes, curve: Curve, points: list[Point], x: str, frame: Frame) -> None:
    """Through the smallest step or the greatest length: that is where the claim speaks."""
    if not points:
        return
    anchor = points[0] if x == "step" else points[-1]
    place, value = _x(anchor, x), _height(anchor)
    left, right = frame[0], frame[1]
    for guide in curve.guides:
        ends = [value * (end / place) ** guide.exponent for end in (left, right)]
        axes.plot(
            [left, right], ends, color=COLOURS[curve.place % len(COLOURS)], linewidth=0.9, alpha=0.65,
            linestyle=":" if guide.corrected else (0, (5, 3)), scalex=False, scaley=False,
        )  # fmt: skip


def _label_of(curve: Curve) -> str:
    return as_label(f"{curve.label}: found {curve.found}")


def _dress(axes: Axes, figure: Figure, frame: Frame, columns: int) -> None:
    set_log_axes(axes, figure, frame)
    guides = {guide.corrected for curve in figure.curves for guide in curve.guides}
    for corrected in sorted(guides):
        style: Any = ":" if corrected else (0, (5, 3))
        axes.plot([], [], color=SOFT, linewidth=0.9, linestyle=style, label=SLOPES[corrected])
    put_legend(axes, columns)


def _tick(value: float, _: int, digits: int = 3) -> str:
    """A value as a reader writes it; an axis of less than half a decade has ticks at other digits than 1, 2 and 5."""
    exponent = math.floor(math.log10(value) + 1e-9)
    if -3 <= exponent < 3:
        return f"{value:.{digits}g}"
    lead, power = f"{value / 10.0**exponent:.{digits}g}", "10" + str(exponent).translate(_SUPERSCRIPTS)
    return power if lead == "1" else f"{lead}·{power}"


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _sampled(point: Point) -> bool:
    return point.kind == "sampled" or bool(point.standard_error)


def _height(point: Point) -> float:
    return height_of(point.value or 0.0)


def height_of(value: float) -> float:
    """|value|, kept where a logarithmic axis can be drawn."""
    return min(max(abs(value), SMALLEST), 1 / SMALLEST)


def _x(point: Point, x: str) -> float:
    place = point.step if x == "step" else point.length
    if place is None:
        raise ValueError(f"a point of this figure has no {x}: {point}")
    return float(place)
