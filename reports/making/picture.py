"""The README's picture: one range of step sizes for all schemes, computed again under the settings of the committed report."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from reports.making.gallery.frame import RAISED, log_log, slope
from sgverify import rate
from sgverify.evidence import Evidence, read_evidence
from sgverify.keeping.files import write_atomically
from sgverify.report.colours import COLOURS, STYLE
from sgverify.report.figures import scheme_places
from sgverify.report.svg import file_svg

CLAIM = "chen2015/theorem-4"
SCHEMES = ("sgld-euler", "sghmc-euler-explicit", "sghmc-aboba")
PANELS = (("full", "full gradients"), ("iid", "minibatches of 10 out of 1000"))
COLOUR = {scheme: COLOURS[place] for scheme, place in scheme_places(SCHEMES).items()}
TITLE = "Bias of the invariant law by step size"


def make(folder: Path) -> None:
    """Compute FOLDER/picture.json at the steps of the first scheme in FOLDER/chen2015/report.json, and draw."""
    found = reported(folder)
    steps = sorted(p.step for p in found[SCHEMES[0], "full"].points if p.kind == "exact" and p.step)
    curves = [curve(found[scheme, kind], steps) for kind, _ in PANELS for scheme in SCHEMES]
    text = json.dumps({"claim": CLAIM, "steps": steps, "curves": curves}, indent=1) + "\n"
    write_atomically(folder / "picture.json", text)
    render(folder)


def reported(folder: Path) -> dict[tuple[str, str], Evidence]:
    """The committed evidence about the stationary bias of theta^2, by scheme and kind of gradient."""
    return {
        (item.scheme, item.configuration["gradient"]["kind"]): item
        for item in read_evidence(folder / "chen2015" / "report.json").evidence
        if (item.claim, item.check) == (CLAIM, "stationary-bias")
        and item.configuration["test_function"] == "theta**2"
    }


def curve(item: Evidence, steps: list[float]) -> dict[str, Any]:
    """The exact bias at these steps, the exponents found and predicted, and the sampled points that lie within the steps."""
    settings = {**item.configuration, "sweep": {"steps": steps}}
    again = rate(item.scheme, config=settings, quantity="stationary-bias", method="exact")
    sampled = [
        {"step": p.step, "value": p.value, "standard_error": p.standard_error}
        for p in item.points
        if p.kind == "sampled" and p.step and steps[0] <= p.step <= steps[-1] * 1.01
    ]
    return {
        "scheme": item.scheme,
        "gradient": item.configuration["gradient"]["kind"],
        "found": None if again.found.exponent is None else float(again.found.exponent),
        "predicted": None if item.predicted.exponent is None else float(item.predicted.exponent),
        "values": [p.value for p in again.points if p.step in steps],
        "sampled": sampled,
    }


def render(folder: Path) -> None:
    """Draw FOLDER/picture.svg from FOLDER/picture.json."""
    numbers = json.loads((folder / "picture.json").read_text(encoding="utf-8"))
    write_atomically(folder / "picture.svg", file_svg(draw(numbers), TITLE, described(numbers)))


def described(numbers: dict[str, Any]) -> str:
    """The picture in words."""
    told = [
        f"{one['scheme']}, {dict(PANELS)[one['gradient']]}: found {power(one['found'])}, predicted {power(one['predicted'])}"
        for one in numbers["curves"]
    ]
    return "; ".join(told) + ". Lines are exact, diamonds sampled with three standard errors."


def found_in(numbers: dict[str, Any]) -> str:
    """The orders in a sentence, of the schemes that were computed and of no others; the README's picture has it as its words."""
    told = []
    for kind, title in PANELS:
        rows = [one for one in numbers["curves"] if one["gradient"] == kind]
        orders = [
            f"{', '.join(one['scheme'] for one in rows if one['found'] == exponent)} as {power(exponent)}"
            for exponent in sorted({one["found"] for one in rows if one["found"]}, reverse=True)
        ]
        told.append(f"{title}: {', '.join(orders)}")
    return f"Bias of theta^2 against the step size. {'; '.join(told)}"


def draw(numbers: dict[str, Any]) -> Figure:
    """Stationary bias of theta^2 against the step size, exact lines and sampled points, one panel per gradient."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.4, 6.4), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(2, 1)
        for axis, (kind, title) in zip(axes, PANELS, strict=True):
            rows = [one for one in numbers["curves"] if one["gradient"] == kind]
            for one in rows:
                _draw(axis, numbers["steps"], one)
            axis.set_title(title)
            for exponent in sorted({one["found"] for one in rows if one["found"]}):
                same = [one for one in rows if one["found"] == exponent]
                low = min(abs(one["values"][1]) for one in same)
                slope(axis, (numbers["steps"][1], low / 4), 4, exponent, power(exponent))
        for axis in axes:
            log_log(axis, "step size h", "bias of θ² under the law")
            axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.2))
    return figure


def _draw(axis: Axes, steps: list[float], one: dict[str, Any]) -> None:
    """One scheme: its exact points as a line, its sampled points with three standard errors where they are seen."""
    colour, values = COLOUR[one["scheme"]], [abs(value) for value in one["values"]]
    text = f"{one['scheme']}: found {power(one['found'])}, predicted {power(one['predicted'])}"
    axis.plot(steps, values, "o-", ms=3.5, color=colour, label=text)
    for point in one["sampled"]:
        error = 3 * (point["standard_error"] or 0.0)
        if abs(point["value"] or 0.0) > error:
            axis.errorbar(
                point["step"], abs(point["value"]), error, fmt="D", ms=5, mfc="none", capsize=3, color=colour
            )


def power(exponent: float | None) -> str:
    """h with an exponent raised; "nothing" where there is none."""
    if exponent is None:
        return "nothing"
    return "h" if exponent == 1 else f"h{Fraction(exponent)}".translate(RAISED)
