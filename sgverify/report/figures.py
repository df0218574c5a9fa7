"""Which evidence appears in which log-log figure? Data only; `drawing` draws them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, count
from typing import Any

from sgverify.claims import claims
from sgverify.evidence import Evidence, Point
from sgverify.report.matrix import groups
from sgverify.report.wording import OF_THE_LAW, exponent_text, found_text, predicted_text

MOST_CURVES = 8
QUANTITIES = {
    "stationary-bias": "Stationary bias against h",
    "covariance": "Relative error of the invariant covariance against h",
    "wasserstein-2": "Wasserstein-2 distance of the invariant law against h",
    "bias": "Bias against L",
    "mse": "Mean square error against L",
}
SCHEDULES = {
    "horizon": "h = C L^-alpha",
    "power": "decreasing h_l = C l^-alpha",
    "fixed": "fixed step",
}


SCHEMES = (
    "sghmc-baoab", "sghmc-aboba", "sgld-euler", "sghmc-ubu", "sghmc-euler", "sghmc-obabo", "sghmc-oabao", "sghmc-nogin",
)  # fmt: skip
"""The schemes that have a colour and a marker of their own on every page, by their places."""

PLACES = 10
"""The number of colours."""


@dataclass(frozen=True)
class Guide:
    """A predicted slope; `corrected` if it belongs to a corrected claim and not to the printed one."""

    exponent: float
    corrected: bool


@dataclass(frozen=True)
class Curve:
    """One scheme's points; `place` is its colour and marker, the same in the whole report.

    `corrected`: no printed claim was asked on these points, only corrected ones.
    """

    scheme: str
    label: str
    place: int
    points: tuple[Point, ...]
    guides: tuple[Guide, ...]
    found: str
    predicted: str
    corrected: bool = False


@dataclass(frozen=True)
class Figure:
    """One log-log plot of |value| against the step (`x` = "step") or the length (`x` = "length")."""

    title: str
    group: str
    x: str
    quantity: str
    curves: tuple[Curve, ...]

    @property
    def description(self) -> str:
        """A description of the figure in words, for readers who do not see it."""
        lines = [f"{curve.label}: found {curve.found}, predicted {curve.predicted}" for curve in self.curves]
        return f"{self.title}. {self.group}. Logarithmic axes. {'; '.join(lines)}."


def figures(evidence: Iterable[Evidence]) -> list[Figure]:
    """One figure for each group, quantity and schedule, with at most eight curves; more are continued in another."""
    evidence = tuple(evidence)
    places = scheme_places(item.scheme for item in evidence)
    drawn = []
    for group in groups(evidence):
        plots: dict[tuple[str, str], list[Evidence]] = {}
        for item in group.evidence:
            if _drawable(item):
                plots.setdefault((item.check, _schedule(item)), []).append(item)
        ordered = sorted(plots.items(), key=lambda plot: _place(plot[0]))
        for (quantity, schedule), items in ordered:
            drawn += _figures(group.title, quantity, schedule, items, places)
    return drawn


def scheme_places(labels: Iterable[str]) -> dict[str, int]:
    """The colour and the marker of every curve: those of its scheme in `SCHEMES`, else the first that no other has."""
    every = list(dict.fromkeys(labels))
    # Of two curves of one scheme the first.
    first = {label.partition(",")[0].partition(" = ")[0]: label for label in reversed(every)}
    own = {label: SCHEMES.index(name) for name, label in first.items() if name in SCHEMES}
    free = chain((place for place in reversed(range(PLACES)) if place not in own.values()), count(PLACES))
    return {label: own[label] if label in own else next(free) for label in every}


def _figures(
    group: str, quantity: str, schedule: str, items: list[Evidence], places: dict[str, int]
) -> list[Figure]:
    title = QUANTITIES[quantity]
    if quantity not in OF_THE_LAW and schedule in SCHEDULES:
        title += f", {SCHEDULES[schedule]}"
    curves = _curves(items, places)
    drawn = []
    for name, part in _parts(curves):
        chunks = [part[start : start + MOST_CURVES] for start in range(0, len(part), MOST_CURVES)]
        for number, chunk in enumerate(chunks, start=1):
            counted = f" ({number} of {len(chunks)})" if len(chunks) > 1 else ""
            drawn.append(Figure(f"{title}{name}{counted}", group, _axis(quantity), quantity, tuple(chunk)))
    return drawn


def _parts(curves: list[Curve]) -> list[tuple[str, list[Curve]]]:
    """The curves in one part if they fit into one figure; else those on schedules of corrected claims separately."""
    printed = [curve for curve in curves if not curve.corrected]
    corrected = [curve for curve in curves if curve.corrected]
    if len(curves) <= MOST_CURVES or not printed or not corrected:
        return [("", curves)]
    return [("", printed), (", alpha of the corrected claims", corrected)]


def _curves(items: list[Evidence], places: dict[str, int]) -> list[Curve]:
    """Evidence on the same points (a printed and a corrected claim) is one curve with several guides."""
    together: dict[tuple[str, tuple[Point, ...]], list[Evidence]] = {}
    for item in items:
        together.setdefault((item.scheme, item.points), []).append(item)
    often = {scheme: sum(other == scheme for other, _ in together) for scheme, _ in together}
    return [
        Curve(
            scheme=scheme,
            label=scheme if often[scheme] == 1 else f"{scheme}, {_distinction(same[0])}",
            place=places[scheme],
            points=points,
            guides=_guides(same),
            found=found_text(same[0]),
            predicted=", ".join(dict.fromkeys(predicted_text(item) for item in same)),
            corrected=all(_corrected(item) for item in same),
        )
        for (scheme, points), same in together.items()
    ]


def _drawable(item: Evidence) -> bool:
    """Is the evidence about a quantity that is drawn, and have all its points a coordinate on the axis?"""
    if not item.points or item.check not in QUANTITIES:
        return False
    return all(getattr(point, _axis(item.check)) is not None for point in item.points)


def _axis(quantity: str) -> str:
    return "step" if quantity in OF_THE_LAW else "length"


def _guides(items: list[Evidence]) -> tuple[Guide, ...]:
    exponents: dict[float, bool] = {}
    for item in items:
        if item.predicted.exponent is not None:
            exponents.setdefault(float(item.predicted.exponent), _corrected(item))
    return tuple(Guide(exponent, corrected) for exponent, corrected in exponents.items())


def _corrected(item: Evidence) -> bool:
    card = claims().get(item.claim)
    return card is not None and card.corrects is not None


def _distinction(item: Evidence) -> str:
    chosen = _schedule_of(item).get("alpha")
    alpha = None if chosen is None else Fraction(str(chosen))
    if all(point.kind == "sampled" for point in item.points):
        return "sampled" if alpha is None else f"alpha = {exponent_text(alpha)}, sampled"
    return item.claim if alpha is None else f"alpha = {exponent_text(alpha)}"


def _schedule(item: Evidence) -> str:
    if item.check in OF_THE_LAW:
        return "fixed"
    card = claims().get(item.claim)
    own = card.schedule if card is not None else None
    return own or str(_schedule_of(item).get("kind", "fixed"))


def _schedule_of(item: Evidence) -> dict[str, Any]:
    """The configured schedule; keys that it leaves open have the values that the check chose."""
    chosen = item.certificate.get("schedule")
    configured = item.configuration.get("schedule")
    return {
        **(chosen if isinstance(chosen, dict) else {}),
        **(configured if isinstance(configured, dict) else {}),
    }


def _place(plot: tuple[str, str]) -> tuple[int, int]:
    quantity, schedule = plot
    return list(QUANTITIES).index(quantity), [*SCHEDULES, schedule].index(schedule)
