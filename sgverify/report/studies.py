"""Studies in a report: their sections, tables and remarks, and their panels, drawn on linear or logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from sgverify.errors import UserError
from sgverify.evidence import Cell, Panel, Series, Study
from sgverify.report.colours import COLOURS, INK, SOFT, STYLE
from sgverify.report.drawing import (
    ERROR_BARS,
    LINE,
    TOP,
    WIDTH,
    Frame,
    as_label,
    draw_bars,
    draw_edge_mark,
    draw_marks,
    height_of,
    height_with,
    legend_shape,
    look_of,
    place_above,
    put_legend,
    set_axes,
    widened,
)
from sgverify.report.figures import SCHEMES, scheme_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from sgverify.report.picture import Picture

FIGURES = "The paper's figures"
COMPARISONS = "Comparisons"


def sections(studies: Sequence[Study]) -> dict[str, list[Study]]:
    """The studies under the headings of a report: a paper's figures first."""
    found: dict[str, list[Study]] = {}
    for title, figures in ((FIGURES, True), (COMPARISONS, False)):
        chosen = [study for study in studies if study.id.partition("/")[2].startswith("figure") == figures]
        if chosen:
            found[title] = chosen
    return found


def study_anchor(id: str) -> str:
    """The page's name for a study."""
    return "study-" + id.replace("/", "-")


def numeric(value: Cell) -> bool:
    """Is the cell a number?"""
    return isinstance(value, int | float) and not isinstance(value, bool)


def remarks(panel: Panel) -> list[str]:
    """The remarks on the panel's series, each once, with the labels of the series concerned."""
    found: dict[str, list[str]] = {}
    for series in panel.series:
        if series.note:
            found.setdefault(series.note, []).append(series.label)
    return [f"{'; '.join(dict.fromkeys(labels))}: {note}" for note, labels in found.items()]


def notes_of(study: Study) -> list[str]:
    """Notes, and remarks on the series of panels."""
    told = (f"{panel.title}: {remark}" for panel in study.panels for remark in remarks(panel))
    return [*study.notes, *told]


MARGIN = 0.05
FEW = 12
"""The most points of an exact curve that are marked, if it has no sampled points: more marks would hide the curve."""

NOTHING = "plot: nothing of this answer is a curve to draw; expected one with curves; print it instead"
BESIDE = (5.4, 3.8)
"""The size of a panel beside another, in inches."""

WORDS = 68
"""The letters of a line above a picture."""

NEGATIVE: Any = (0, (4, 2))
CHANGING: Any = (0, (1, 2))
STACKED = 0.035
"""The vertical distance of the crosses of several curves at one place, as a share of the axes' height."""

Point = tuple[float, float, float]


def places_of(study: Study) -> dict[str, int]:
    """Colour and marker of every label, the same in all panels of the study."""
    return _places(study.panels)


def _places(panels: Iterable[Panel]) -> dict[str, int]:
    labels = [series.label for panel in panels for series in panel.series]
    if any(label.partition(",")[0].partition(" = ")[0] in SCHEMES for label in labels):
        return scheme_places(labels)
    return {label: place for place, label in enumerate(dict.fromkeys(labels))}


def draw_panel(panel: Panel, places: Mapping[str, int], above: str = "") -> Picture:
    """The panel, drawn; the curves with the label `above` lie over the others.

    Exact values are joined; sampled points carry bars of two standard errors; printed ones are stars. A logarithmic
    axis shows |value|: negative parts of a curve are dashed, negative points hollow, an upright bar marks a change of
    sign, a 0 on the axis an exact zero. A missing value leaves a gap and a cross at the top.
    """
    import matplotlib

    from sgverify.report.picture import Picture

    with matplotlib.rc_context(STYLE):
        drawing = Picture(_size_of(panel), panel.title, description_of(panel))
        _draw_panel(drawing, panel, places, above)
    return drawing


def draw_panels(
    panels: Sequence[Panel], stars: Sequence[tuple[float, float]] = (), above: str = ""
) -> Picture:
    """Panels in two columns, each under its title; a label has one colour and marker in all of them.

    `stars` mark points of the first panel, in the colours of its curves, the first one large; `above` are words above it.
    Raises `UserError` where there are no panels.
    """
    if not panels:
        raise UserError(NOTHING)
    import matplotlib

    from sgverify.report.picture import Picture

    places = _places(panels)
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    with matplotlib.rc_context(STYLE):
        words = wrap(above, WORDS)
        width, height = _size_of(panels[0], len(words)) if len(panels) == 1 else BESIDE
        size = (width * columns, height * rows)
        drawing = Picture(size, panels[0].title, " ".join(map(description_of, panels)))
        parts = [drawing] if len(panels) == 1 else drawing.subfigures(rows, columns, squeeze=False).flat
        for part, panel in zip(parts, panels, strict=False):
            _draw_panel(part, panel, places, titled=len(panels) > 1)
        for place, (x, y) in enumerate(stars):
            own = [*_places(panels[:1]).values()]
            colour = COLOURS[own[place % len(own)] % len(COLOURS)]
            drawing.axes[0].plot([x], [y], "*", color=colour, markersize=9 if place else 17, zorder=3)
        if above:
            left, low, wide, high = drawing.axes[0].get_position().bounds
            drawing.axes[0].set_position((left, low, wide, high - LINE * len(words) / height))
            drawing.text(0.02, 1 - 0.06 / height, as_label("\n".join(words)), va="top", fontsize=8)
    return drawing


def draw_into(axes: Axes, panels: Sequence[Panel]) -> Axes:
    """The first panel, drawn into axes that somebody made; raises `UserError` where there is none."""
    if not panels:
        raise UserError(NOTHING)
    import matplotlib

    with matplotlib.rc_context(STYLE):
        _draw_curves(axes, panels[0], _places(panels[:1]))
        axes.legend()
    return axes


def _draw_panel(
    drawing: Figure | SubFigure,
    panel: Panel,
    places: Mapping[str, int],
    above: str = "",
    *,
    titled: bool = False,
) -> None:
    columns, rows = legend_shape(_labels(panel))
    width, height = (points / 72 for points in _points_of(drawing))
    axes = drawing.add_axes(place_above(rows, width, height, 2 * TOP if titled else TOP))
    _draw_curves(axes, panel, places, above)
    put_legend(axes, columns)
    if titled:
        # Above the crosses of missing values.
        drawing.text(0.03, 0.99, as_label(panel.title), va="top", fontsize=9)


def _points_of(drawing: Figure | SubFigure) -> tuple[float, float]:
    """Width and height in points."""
    scale = 72 / drawing.get_figure(root=True).dpi
    return drawing.bbox.width * scale, drawing.bbox.height * scale


def _draw_curves(axes: Axes, panel: Panel, places: Mapping[str, int], above: str = "") -> None:
    frame = _frame(panel)
    y_label = f"|{panel.y_label}|" if _folded(panel) else panel.y_label
    set_axes(axes, frame, (panel.x_scale, panel.y_scale), (panel.x_label, y_label), fine=True)
    for series in sorted(panel.series, key=lambda series: series.label == above):
        plain = series.kind == "exact" and "sampled" in _kinds(panel.series)[series.label]
        _draw_series(axes, series, places[series.label], panel.y_scale == "log", frame, plain)
    _draw_missing(axes, panel, places)
    _label(axes, panel, places)


def description_of(panel: Panel) -> str:
    """A description of the panel in words, for readers who do not see it."""
    lines = "; ".join(f"{series.label} ({series.kind}, {len(series.x)} values)" for series in panel.series)
    return f"{panel.title}. {panel.y_label} against {panel.x_label}. {lines}."


def _draw_series(axes: Axes, series: Series, place: int, log: bool, frame: Frame, plain: bool) -> None:
    """Draw one series; a `plain` curve has no markers, since its sampled points carry them."""
    look = look_of(place)
    errors = series.error or (None,) * len(series.x)
    points = [
        None if y is None or (log and y == 0) else (x, y, error or 0.0)
        for x, y, error in zip(series.x, series.y, errors, strict=True)
    ]
    if series.kind == "exact":
        for there, run in groupby(points, key=lambda point: point is not None):
            if there:
                _draw_curve(axes, [point for point in run if point], look["color"], log)
    marked = [point for point in points if point]
    if series.kind != "exact":
        _mark(axes, marked, series.kind, look, log)
    elif not plain:
        _mark(axes, marked[:: math.ceil(len(marked) / FEW) or 1], series.kind, look, log)
    for x, y in zip(series.x, series.y, strict=True):
        if log and y == 0:
            draw_edge_mark(axes, x, frame[2], "$0$", look["color"])


def _draw_missing(axes: Axes, panel: Panel, places: Mapping[str, int]) -> None:
    """A cross above the axes for every missing value, those of several curves over one another."""
    stacked: dict[float, list[str]] = {}
    for series in panel.series:
        for x, y in zip(series.x, series.y, strict=True):
            if y is None and series.label not in stacked.setdefault(x, []):
                stacked[x].append(series.label)
    for x, labels in stacked.items():
        for rank, label in enumerate(labels):
            colour, above = COLOURS[places[label] % len(COLOURS)], axes.get_xaxis_transform()
            draw_edge_mark(axes, x, 1 + rank * STACKED, "x", colour, transform=above)


def _draw_curve(axes: Axes, points: list[Point], colour: str, log: bool) -> None:
    """One unbroken curve; on a logarithmic axis its negative stretches are dashed and its changes of sign marked."""
    if not log:
        axes.plot([x for x, _, _ in points], [y for _, y, _ in points], color=colour, linewidth=1.2)
        return
    for negative, stretch in groupby(points, key=lambda point: point[1] < 0):
        _draw_line(axes, list(stretch), colour, NEGATIVE if negative else "-")
    for before, after in pairwise(points):
        if (before[1] < 0) != (after[1] < 0):
            _draw_line(axes, [before, after], colour, CHANGING)
            place = (
                math.sqrt(before[0] * after[0]) if axes.get_xscale() == "log" else (before[0] + after[0]) / 2
            )
            height = math.sqrt(height_of(before[1]) * height_of(after[1]))
            axes.plot([place], [height], marker="|", markersize=13, markeredgewidth=1.5, color=colour)


def _draw_line(axes: Axes, points: list[Point], colour: str, style: Any) -> None:
    heights = [height_of(y) for _, y, _ in points]
    axes.plot([x for x, _, _ in points], heights, color=colour, linewidth=1.2, linestyle=style)


def _mark(axes: Axes, points: list[Point], kind: str, style: dict[str, Any], log: bool) -> None:
    bars = [(x, height_of(y) if log else y, ERROR_BARS * error) for x, y, error in points if error]
    if kind == "sampled" and bars:
        draw_bars(axes, bars, style["color"])
    if kind == "printed":
        style = {"color": INK, "marker": "*", "markersize": 9}
    size = {"markersize": 4.0 if kind == "exact" else 5.5}
    draw_marks(axes, [(x, y) for x, y, _ in points], {**size, **style}, folded=log)


def _label(axes: Axes, panel: Panel, places: Mapping[str, int]) -> None:
    """Entries of the legend: one for each label, and one for each kind of points."""
    for label, kinds in _kinds(panel.series).items():
        style = {**look_of(places[label]), "markersize": 4.5, "linewidth": 1.2 if "exact" in kinds else 0}
        if kinds == {"printed"}:
            style |= {"color": INK, "marker": "*", "markersize": 8}
        axes.plot([], [], label=as_label(label), **style)
    for kind, label in _kind_labels(panel.series).items():
        axes.plot([], [], label=label, linewidth=0, color=SOFT, marker="o" if kind == "sampled" else "*")


def _kinds(series: Iterable[Series]) -> dict[str, set[str]]:
    """The kinds of series under each label: exact and sampled values of one label share colour and legend entry."""
    found: dict[str, set[str]] = {}
    for one in series:
        found.setdefault(one.label, set()).add(one.kind)
    return found


def _labels(panel: Panel) -> list[str]:
    """The entries of the legend."""
    return [*_kinds(panel.series), *_kind_labels(panel.series).values()]


def _kind_labels(series: Iterable[Series]) -> dict[str, str]:
    kinds = {one.kind for one in series}
    labels = {"sampled": "points with bars: sampled", "printed": "stars: printed"}
    return {kind: label for kind, label in labels.items() if kind in kinds}


def _size_of(panel: Panel, above: int = 0) -> tuple[float, float]:
    """Inches of a drawing of the panel, with so many lines of words above it."""
    return WIDTH, height_with(legend_shape(_labels(panel))[1]) + LINE * above


def _folded(panel: Panel) -> bool:
    """Are negative values drawn by their absolute values?"""
    values = (y for series in panel.series for y in series.y if y is not None)
    return panel.y_scale == "log" and any(y < 0 for y in values) and not panel.y_label.startswith("|")


def _frame(panel: Panel) -> Frame:
    """Limits of the axes, from the values alone: error bars may leave the frame, points may not."""
    places = [x for series in panel.series for x in series.x]
    values = [y for series in panel.series for y in series.y if y is not None]
    values = [height_of(y) for y in values if y] if panel.y_scale == "log" else [*values, 0.0]
    return (*_widened(places, panel.x_scale), *_widened(values, panel.y_scale))


def _widened(values: list[float], scale: str) -> tuple[float, float]:
    low, high = (min(values), max(values)) if values else (0.1, 1.0)
    if scale == "log":
        return widened(low, high, MARGIN)
    gap = MARGIN * (high - low) if high > low else 1.0
    return low - gap, high + gap
