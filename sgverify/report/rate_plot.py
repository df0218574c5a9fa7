"""How is one rate drawn: its points with their errors, the predicted slope, and the slope found?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sgverify.evidence import Evidence, Point
from sgverify.report.colours import COLOURS, SOFT, STYLE
from sgverify.report.drawing import as_label, draw_curve, frame_of, set_log_axes
from sgverify.report.figures import Curve, Figure
from sgverify.report.wording import error_name, fitted_line, fitted_text, found_text, predicted_text, variable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sgverify.report.picture import Picture

SIZE = (7.2, 5.4)
WIDTH = 112
LINE, MARGIN = 0.032, 0.018
"""The height of a line of text and of the margin, as shares of the picture's."""

STRIP, GAP = 0.2, 0.07
"""The height of the residuals with the gap above them, and of the gap."""

MOST_ROOM = 1e8
"""The largest factor by which a slope may widen the axis beyond the points."""

STEEPEST = 12
"""A bound of the exponents that are drawn, above that of every claim."""

CLAIMED: Any = (0, (5, 3))
FOUND: Any = (0, (1, 1.5))

AXES = {"h": "step", "L": "length"}


def has_rate(evidence: Evidence) -> bool:
    """Is the evidence about a rate: has it a predicted exponent of h or L, and at least two values?"""
    axis = AXES.get(variable(evidence))
    if axis is None or evidence.predicted.exponent is None:
        return False
    places = {getattr(point, axis) for point in evidence.points if point.value and not point.diverged}
    return len(places) > 1 and all(getattr(point, axis) is not None for point in evidence.points)


def rate_to_draw(evidence: Iterable[Evidence]) -> Evidence | None:
    """The rate that a picture of many answers shows: one that fails, else one that speaks of the scheme, else one of the paper.

    Of several it is the stationary bias, on which the other rates rest.
    """

    def rank(item: Evidence) -> tuple[bool, bool, bool]:
        return item.outcome != "fail", item.outcome == "refuted", item.check != "stationary-bias"

    return next(filter(has_rate, sorted(evidence, key=rank)), None)


def draw_rate(evidence: Evidence) -> Picture:
    """The points of a rate on logarithmic axes, drawn.

    |value| is shown, and its sign is not lost: filled markers are positive, hollow ones negative, an upright bar marks
    a change of sign, a 0 an exact zero, a cross at the top a diverged run. Sampled points carry bars of two standard
    errors plus their bound. The dashed line is the slope claimed, above the greater steps or the shorter lengths: points of
    a rate that holds stay along it or below. The dotted line is the slope found, through the other end, which is where
    an exponent is defined; sampled, where the points are least noisy. Below are the residuals of the regression on the points,
    where there is one. Raises `ValueError` for evidence without a rate (`has_rate`).
    """
    if not has_rate(evidence):
        raise ValueError(f"{evidence.id} has no rate to draw")
    import matplotlib

    from sgverify.report.picture import Picture

    with matplotlib.rc_context(STYLE):
        title = f"{evidence.outcome}: {evidence.claim} ({evidence.check})"
        scheme, said = fill(evidence.scheme, WIDTH), _said(evidence)
        drawing = Picture(SIZE, f"{title}, {evidence.scheme}", said)
        above = MARGIN + LINE * (3.4 + scheme.count("\n"))
        below = MARGIN + LINE * (4.2 + said.count("\n"))
        line = fitted_line(evidence)
        strip = STRIP if line else 0.0
        axes = drawing.add_axes((0.1, below + strip, 0.87, 1 - below - above - strip))
        _draw(axes, evidence)
        if line:
            axes.set_xlabel("")
            _draw_residuals(drawing.add_axes((0.1, below, 0.87, strip - GAP), sharex=axes), line, evidence)
        drawing.text(0.02, 1 - MARGIN, as_label(title), va="top", fontsize=10.5, weight="bold")
        drawing.text(0.02, 1 - MARGIN - 1.2 * LINE, as_label(scheme), va="top", fontsize=8.5)
        drawing.text(0.02, MARGIN, as_label(said), va="bottom", fontsize=8.5, color=SOFT, linespacing=1.3)
    return drawing


def _draw_residuals(axes: Axes, line: Mapping[str, Any], evidence: Evidence) -> None:
    places, residuals = line[variable(evidence)], line["residuals"]
    axes.axhline(0, color=SOFT, linewidth=0.8)
    axes.vlines(places, 0, residuals, color=COLOURS[0], linewidth=1.0)
    axes.plot(places, residuals, "o", color=COLOURS[0], markersize=4)
    axes.set_xlabel("step h" if variable(evidence) == "h" else "length L")
    unit = "s. e." if line["residuals_are"] == "standard errors" else "log"
    axes.set_ylabel(f"residuals\n[{unit}]", fontsize=7, labelpad=2)
    reach = 1.3 * max(map(abs, residuals)) or 1.0
    axes.set_ylim(-reach, reach)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-3, 3))
    axes.grid(True)
    axes.tick_params(labelsize=8)


def _draw(axes: Axes, evidence: Evidence) -> None:
    x = AXES[variable(evidence)]
    found, claimed = found_text(evidence), predicted_text(evidence)
    shown = _without_dips(evidence.points, x)
    curve = Curve("", "", 0, shown, guides=(), found=found, predicted=claimed)
    figure = Figure("", "", x, evidence.check, (curve,))
    exponent = float(evidence.predicted.exponent or 0)
    slopes = [_Slope(f"claimed: {claimed}", exponent, _through(shown, x, exponent), CLAIMED, SOFT)]
    if evidence.found.exponent is not None:
        # An exponent describes the limit; but a sampled point near the limit is mostly noise.
        anchor = _places(shown, x)[0 if evidence.method == "monte-carlo" else -1]
        slopes.append(_Slope(f"found: {found}", float(evidence.found.exponent), anchor, FOUND, COLOURS[1]))
    frame = frame_of(figure)
    heights = [slope.height(end) for slope in slopes for end in frame[:2]]
    low, high = (min([*frame[2:], *heights]), max([*frame[2:], *heights]))
    # A steeper slope would compress the points into a line.
    frame = (*frame[:2], max(low, frame[2] / MOST_ROOM), min(high, frame[3] * MOST_ROOM))
    draw_curve(axes, curve, x, frame)
    (points,), _ = axes.get_legend_handles_labels()
    set_log_axes(axes, figure, frame)
    drawn = [slope.draw(axes) for slope in slopes]
    axes.legend(
        [points, *drawn], ["points", *(as_label(slope.label) for slope in slopes)], loc="lower left", bbox_to_anchor=(-0.01, 1.0),
        ncols=3, borderaxespad=0.2, handlelength=2.4,
    )  # fmt: skip


@dataclass(frozen=True)
class _Slope:
    """A power of h or L through a point, its anchor."""

    label: str
    exponent: float
    anchor: tuple[float, float]
    style: Any
    colour: str

    def height(self, place: float) -> float:
        return self.anchor[1] * (place / self.anchor[0]) ** self.exponent

    def draw(self, axes: Axes) -> Any:
        ends = axes.get_xlim()
        (line,) = axes.plot(
            ends, [self.height(end) for end in ends], color=self.colour, linewidth=1.3, linestyle=self.style,
            scalex=False, scaley=False,
        )  # fmt: skip
        return line


def _through(points: Sequence[Point], x: str, exponent: float) -> tuple[float, float]:
    """The point of the coarser half, greater steps or shorter lengths, through which a slope passes above the others."""
    places = _places(points, x)
    half = places[: (len(places) + 1) // 2]
    return max(half, key=lambda place: place[1] / place[0] ** exponent)


def _places(points: Sequence[Point], x: str) -> list[tuple[float, float]]:
    """The pairs (h or L, |value|), from the largest step or the shortest length on."""
    places = [(float(getattr(p, x)), abs(p.value)) for p in points if p.value and not p.diverged]
    return sorted(places, reverse=x == "step")


def _without_dips(points: Sequence[Point], x: str) -> tuple[Point, ...]:
    """The points, those beside a change of sign at 0: lower than any power of h or L would take them from a neighbour."""
    places = _places(points, x)
    dips = set()
    for number, (place, value) in enumerate(places):
        beside = [places[other] for other in (number - 1, number + 1) if 0 <= other < len(places)]
        if all(value < height * _ratio(place, where) ** -STEEPEST for where, height in beside):
            dips.add(place)
    return tuple(replace(p, value=0.0) if float(getattr(p, x)) in dips else p for p in points)


def _ratio(a: float, b: float) -> float:
    return max(a / b, b / a)


def _said(evidence: Evidence) -> str:
    heard = [
        evidence.reason,
        *filter(None, [fitted_text(evidence)]),
        *_legend(evidence, AXES[variable(evidence)]),
    ]
    if evidence.method == "monte-carlo" and evidence.found.exponent is not None:
        heard.append(
            "The slope found describes the points; the verdict is that of the test which the reason names."
        )
    return "\n".join(fill(text, WIDTH) for text in heard)


def _legend(evidence: Evidence, x: str) -> list[str]:
    """The meaning of the marks that occur in the picture."""
    points = evidence.points
    dips = sum(p.value == 0 for p in _without_dips(points, x)) - sum(p.value == 0 for p in points)
    values = [point.value for point in points if point.value is not None and not point.diverged]
    said = []
    if any(value < 0 for value in values):
        said.append("hollow: negative")
    if min(values) < 0 < max(values):
        said.append("|: changes sign")
    if any(value == 0 for value in values):
        said.append("0: exactly zero")
    if dips:
        least = min(abs(value) for value in values if value)
        said.append(f"0: too small to show ({least:.0e})")
    if any(point.diverged or point.value is None for point in points):
        said.append("x: diverged or unknown")
    if any(point.standard_error for point in points):
        said.append("bars: two standard errors")
    else:
        bound = max((p.error_bound or 0.0) / abs(p.value) for p in points if p.value)
        if error_name(evidence) == "error estimate":
            said.append(f"on grids or by quadrature, relative error estimated at {bound:.0e}")
        else:
            said.append(f"exact, relative error at most {bound:.0e}" if bound else "exact")
    falls = "h falls" if x == "step" else "L grows"
    return [
        f"{'; '.join(said)}. Where the claim holds, points stay on the dashed line or below it as {falls}."
    ]
