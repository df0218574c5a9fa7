"""Figures 2, 5 and 7: bias and mean square error over the number of steps, for several rates of the step size."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Literal

import numpy as np

from reports.experiments.chen2015 import settings
from reports.experiments.chen2015.effort import EFFORTS, Effort, draws_note
from reports.experiments.chen2015.experiment import (
    Crossing,
    DataDraws,
    SampledErrors,
    crossing,
    experiment,
    smaller,
)
from reports.experiments.chen2015.settings import (
    GRADIENTS,
    MODEL_ROWS,
    QUANTITIES,
    TITLES,
    Y_LABELS,
    listed,
    number,
)
from sgverify.errors import find_named
from sgverify.evidence import Cell, Panel, Series, Study, Table
from sgverify.samplers import Row, horizon, power

SCHEME = "sghmc-aboba"
SCALES = {"horizon": settings.HORIZON_SCALE, "power": settings.POWER_SCALE}
FORMULAS = {
    "horizon": f"h = {settings.HORIZON_SCALE:g} L^-alpha",
    "power": f"h_l = {settings.POWER_SCALE:g} l^-alpha",
}
FARTHEST = {"horizon": 10**12, "power": settings.LONGEST}
"""The largest length at which a crossing is sought: a decreasing schedule is computed step by step."""

Kind = Literal["horizon", "power"]
Value = Callable[[int], float | None]


def figure_5(effort: str) -> Study:
    """Bias and MSE of SGHMC with fixed steps, chen2015 Figure 5 and Figure 2 (right)."""
    return _study(
        "horizon",
        find_named("effort", effort, EFFORTS),
        id="chen2015/figure-5",
        title="Figures 2 (right) and 5: fixed steps by the length of the run",
        source="chen2015 Figure 2 (right: MSE of SGHMC-F) and Figure 5 (bias, MSE)",
    )


def figure_7(effort: str) -> Study:
    """Bias and MSE of SGHMC with decreasing steps, chen2015 Figure 7 and Figure 2 (left)."""
    return _study(
        "power",
        find_named("effort", effort, EFFORTS),
        id="chen2015/figure-7",
        title="Figures 2 (left) and 7: decreasing steps",
        source="chen2015 Figure 2 (left: bias of SGHMC-D) and Figure 7 (bias, MSE)",
    )


@cache
def trace(kind: Kind, quantity: str, gradient: str, friction: float, alpha: str, data_seed: int = 0) -> Value:
    """The exact error as a function of L, signed; None where it diverges."""
    chain = experiment(SCHEME, gradient, friction, data_seed)
    return cache(partial(chain.error, kind, quantity, SCALES[kind], Fraction(alpha)))


@cache
def shown_friction(effort: Effort) -> float:
    """The printed friction that is shown: the smallest whose curves with minibatches stay above the printed axes' ends."""
    for friction in settings.FRICTIONS:
        if all(_lowest(kind, quantity, friction, effort) >= low for kind, quantity, low in _floors()):
            return friction
    return settings.FRICTIONS[0]


def _study(kind: Kind, effort: Effort, *, id: str, title: str, source: str) -> Study:
    friction = shown_friction(effort)
    sampled = {gradient: _sampled(kind, gradient, friction, effort) for gradient in GRADIENTS if effort.runs}
    panels = [
        _panel(kind, quantity, gradient, friction, effort, sampled.get(gradient))
        for quantity in QUANTITIES
        for gradient in GRADIENTS
    ]
    return Study(
        id=id,
        title=title,
        source=source,
        summary=(
            f"How fast does the error fall with the number of steps, if the step size is {FORMULAS[kind]}? A small alpha means "
            "large steps: fast at first, until their bias shows. The paper's best alpha is 1/3 for the bias and 1/5 for the "
            "mean square error, for a second-order integrator. Minibatch noise makes the bias first order in h, and then "
            "larger exponents win in the end."
        ),
        panels=tuple(panels),
        tables=(_printed(kind, friction, effort), _claims(kind, friction, effort.draws)),
        notes=(
            f"D is not printed. Of {listed(settings.FRICTIONS)}, which Figures 3, 6 and 8 print, D = {friction:g} is shown: the "
            "first whose curves with minibatches do not fall below the lower ends of the printed axes.",
            "The legend prints alpha = 0.33 where the text has 1/3; 0.33 is used.",
            f"Crossings are looked for up to L = {FARTHEST[kind]:.0e}; a verdict is about L = {settings.LONGEST}, where the "
            "printed curves end.",
            *draws_note(effort),
        ),
    )


def _panel(
    kind: Kind, quantity: str, gradient: str, friction: float, effort: Effort, sampled: SampledErrors | None
) -> Panel:
    series = []
    for alpha in settings.RATES[quantity]:
        value = trace(kind, quantity, gradient, friction, alpha)
        label = f"alpha = {alpha}"
        values = tuple(value(length) for length in effort.lengths)
        gone = [length for length, v in zip(effort.lengths, values, strict=True) if v is None]
        note = f"diverged at L = {listed(gone)}" if gone else ""
        series.append(Series(label, "exact", effort.lengths, values, note=note))
        if sampled is not None:
            series.append(_points(label, kind, quantity, alpha, sampled, effort.sampled_lengths))
    return Panel(
        f"{TITLES[quantity]}, {GRADIENTS[gradient]}, D = {friction:g} (best in theory: {settings.OPTIMAL[quantity]})",
        "number of steps L",
        Y_LABELS[quantity],
        tuple(series),
    )


def _rows(kind: Kind, lengths: tuple[int, ...]) -> tuple[dict[str, int], tuple[Row, ...]]:
    """The sampled rows of every exponent that either quantity uses, and the first row of each."""
    first: dict[str, int] = {}
    rows: list[Row] = []
    for alpha in dict.fromkeys(a for rates in settings.RATES.values() for a in rates):
        first[alpha] = len(rows)
        make = (
            horizon(SCALES[kind], float(alpha), lengths)
            if kind == "horizon"
            else power([SCALES[kind]], float(alpha), lengths)
        )
        rows += make
    return first, tuple(rows)


def _sampled(kind: Kind, gradient: str, friction: float, effort: Effort) -> SampledErrors:
    _, rows = _rows(kind, effort.sampled_lengths)
    return experiment(SCHEME, gradient, friction).sampled(rows, effort.runs)


def _points(
    label: str, kind: Kind, quantity: str, alpha: str, sampled: SampledErrors, lengths: tuple[int, ...]
) -> Series:
    first, _ = _rows(kind, lengths)
    at = [(first[alpha] + k, 0) if kind == "horizon" else (first[alpha], k) for k in range(len(lengths))]
    points = [sampled.at(quantity, row, place) for row, place in at]
    return Series(
        label,
        "sampled",
        lengths,
        tuple(point and point[0] for point in points),
        tuple(point and point[1] for point in points),
    )


def _floors() -> list[tuple[Kind, str, float]]:
    """The lower ends of the printed axes of Figure 2."""
    return [
        ("power", "bias", settings.TICKS["power", "bias"][0]),
        ("horizon", "mse", settings.TICKS["horizon", "mse"][0]),
    ]


def _lowest(kind: Kind, quantity: str, friction: float, effort: Effort, gradient: str = "iid") -> float:
    return min(_range(kind, quantity, friction, effort, gradient))


def _range(kind: Kind, quantity: str, friction: float, effort: Effort, gradient: str) -> list[float]:
    values = (
        trace(kind, quantity, gradient, friction, alpha)(length)
        for alpha in settings.RATES[quantity]
        for length in (effort.lengths[0], effort.lengths[len(effort.lengths) // 2], effort.lengths[-1])
    )
    return [abs(value) for value in values if value is not None]


def _printed(kind: Kind, friction: float, effort: Effort) -> Table:
    rows: list[tuple[Cell, ...]] = [
        *MODEL_ROWS,
        (
            "step size",
            FORMULAS[kind],
            FORMULAS[kind],
            "the prefactor of the paper's grid search, used as printed",
        ),
        ("D", "not printed", f"D = {friction:g}", "see the notes"),
    ]
    for quantity in QUANTITIES:
        if (kind, quantity) not in settings.TICKS:
            rows.append(
                (
                    f"axis of the {QUANTITIES[quantity]}",
                    "not in the text of the paper",
                    "",
                    "nothing to compare with",
                )
            )
            continue
        low, high = settings.TICKS[kind, quantity]
        for gradient, label in GRADIENTS.items():
            values = _range(kind, quantity, friction, effort, gradient)
            inside = low <= min(values) and max(values) <= high
            rows.append(
                (
                    f"{QUANTITIES[quantity]} with {label}, L = {settings.SHORTEST} to {settings.LONGEST}",
                    f"axis from {low:g} to {high:g}",
                    f"from {min(values):.2g} to {max(values):.2g}",
                    "on the printed axis"
                    if inside
                    else "below the printed axis"
                    if min(values) < low
                    else "above it",
                )
            )
    return Table("Printed and reproduced", ("quantity", "printed", "reproduced", "comment"), tuple(rows))


def _claims(kind: Kind, friction: float, draws: DataDraws) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for quantity, best in settings.OPTIMAL.items():
        for gradient in GRADIENTS:
            for alpha in settings.RATES[quantity]:
                if alpha != best:
                    rows.append(_row(kind, quantity, gradient, friction, alpha, draws))
    columns = ("printed", "asked of", "at first", "in the end", "over draws of the data", "verdict")
    return Table("What the text says", columns, tuple(rows))


def _row(
    kind: Kind, quantity: str, gradient: str, friction: float, alpha: str, draws: DataDraws
) -> tuple[Cell, ...]:
    """Whether the optimal exponent is worse at first (than a smaller one) and better in the end."""
    best = settings.OPTIMAL[quantity]
    optimal, other = (trace(kind, quantity, gradient, friction, rate) for rate in (best, alpha))
    start, end = settings.SHORTEST, settings.LONGEST
    found = crossing(optimal, other, start, FARTHEST[kind])

    def better(first: str, second: str, length: int) -> np.ndarray:
        return smaller(
            *(over_draws(kind, quantity, gradient, friction, rate, length, draws) for rate in (first, second))
        )

    answers = [better(best, alpha, end)]
    printed = f"the optimal {best} is better than alpha = {alpha}"
    if float(alpha) < float(best):
        answers.append(better(alpha, best, start))
        printed = f"alpha = {alpha} is faster at first and surpassed by {best}"
    return (
        f"{QUANTITIES[quantity]}: {printed}",
        GRADIENTS[gradient],
        f"L = {start}: {number(other(start))} against {number(optimal(start))}",
        _ending(found, best, alpha, kind),
        *draws.judged(answers),
    )


@cache
def over_draws(
    kind: Kind, quantity: str, gradient: str, friction: float, alpha: str, length: int, draws: DataDraws
) -> np.ndarray:
    """One error of a curve over draws of the data."""
    return draws.errors(
        quantity,
        gradient,
        lambda estimator, seed: trace(kind, quantity, estimator, friction, alpha, seed)(length),
    )


def _ending(found: Crossing, best: str, alpha: str, kind: Kind) -> str:
    if found.since is None:
        return f"{best} is not below alpha = {alpha} by L = {FARTHEST[kind]:.0e}"
    since = "from the start" if found.since <= settings.SHORTEST else f"from L of about {found.since:.3g}"
    until = "" if found.until is None else f", until L of about {found.until:.3g}"
    return f"{best} is below alpha = {alpha} {since}{until}"
