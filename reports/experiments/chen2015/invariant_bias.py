"""Figure 1: the bias after a million steps, splitting against Euler, over the step size."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
from scipy.optimize import bisect

from reports.experiments.chen2015 import settings
from reports.experiments.chen2015.effort import EFFORTS, Effort, draws_note
from reports.experiments.chen2015.experiment import DataDraws, Experiment, experiment, smaller
from reports.experiments.chen2015.settings import (
    CLAIM_COLUMNS,
    GRADIENTS,
    MODEL_ROWS,
    Y_LABELS,
    listed,
    number,
)
from sgverify.errors import find_named
from sgverify.evidence import Cell, Panel, Series, Study, Table
from sgverify.exact.affine.stability import spectral_radii
from sgverify.samplers import fixed

SPLITTING, EULER = "sghmc-aboba", ("sghmc-euler", "sghmc-euler-explicit")
NAMES = {
    "sghmc-aboba": "splitting (ABOBA)",
    "sghmc-euler": "Euler as Algorithm 2",
    "sghmc-euler-explicit": "Euler as Appendix I.1",
}

GRID = tuple(float(d) for d in np.geomspace(1e-1, 1e5, 61))
"""Ten values of D a decade: a window of stability narrower than a quarter of its place may be missed."""


def figure_1(effort: str) -> Study:
    """Bias of theta^2 at L = 10^6 for six step sizes, chen2015 Figure 1."""
    chosen = find_named("effort", effort, EFFORTS)
    friction = shown_friction()
    panels = [_panel(gradient, friction, settings.LONG) for gradient in GRADIENTS]
    if chosen.runs:
        panels += [_panel(gradient, friction, chosen.longest, chosen) for gradient in GRADIENTS]
    return Study(
        id="chen2015/figure-1",
        title="Figure 1: splitting and Euler integrators over the step size",
        source="chen2015 Figure 1 and section 5, L = 10^6",
        summary=(
            "How far is the average of theta^2 off after a million steps, if the step size is large? With minibatches the "
            "noise of the gradient heats the chain, and the bias of each scheme shown falls like h; with full gradients the "
            "splitting is second order. At large steps Euler explodes first."
        ),
        panels=tuple(panels),
        tables=(_printed(friction), _stability(), _orders(friction), _claims(friction, chosen.draws)),
        notes=(
            f"D is not printed for this figure. At h = {max(settings.STEPS):g} ABOBA contracts only for D > "
            f"{smallest_friction(SPLITTING, max(settings.STEPS)):.4g}; Figures 3, 6 and 8 print {listed(settings.FRICTIONS)}. "
            f"Shown is D = {friction:g}, the smallest value printed anywhere in the paper at which the splitting is stable at "
            "all six steps.",
            'Which scheme "Euler" is, is not printed: Algorithm 2 moves theta with the new momentum, Appendix I.1 with the old '
            "one. Both are shown; the tables tell them apart.",
            *draws_note(chosen),
        ),
    )


def shown_friction() -> float:
    """The smallest friction printed in the paper at which the splitting is stable at every step of the figure."""
    printed = (*settings.FRICTIONS, *settings.OTHER_FRICTIONS)
    return min(
        friction
        for friction in printed
        if max(settings.STEPS) < experiment(SPLITTING, "full", friction).limit
    )


def bias_at(scheme: str, gradient: str, friction: float, length: int) -> list[float | None]:
    """The exact biases at the six steps; None where the step is unstable."""
    chain = experiment(scheme, gradient, friction)
    found = [chain.at_step("bias", step, length) for step in settings.STEPS]
    return [None if value is None else value.value for value in found]


def contracts(scheme: str, step: float, friction: float) -> bool:
    """Whether the spectral radius of one step is below 1."""
    subject = experiment(scheme, "full", 1.0).subject
    given = {**subject.model.parameters, "D": Fraction(friction)}
    (radius,) = spectral_radii(subject.scheme, given, subject.step_sizes.eigenvalues, [step])
    return bool(radius < 1)


@cache
def windows(scheme: str, step: float) -> tuple[tuple[float, float], ...]:
    """The intervals of D, within the grid, in which one step contracts; their ends are bisected."""
    stable = [contracts(scheme, step, friction) for friction in GRID]
    found, low = [], GRID[0] if stable[0] else None
    for k in range(1, len(GRID)):
        if stable[k] and not stable[k - 1]:
            low = _edge(scheme, step, GRID[k - 1], GRID[k])
        elif stable[k - 1] and not stable[k] and low is not None:
            found.append((low, _edge(scheme, step, GRID[k], GRID[k - 1])))
            low = None
    if low is not None:
        found.append((low, GRID[-1]))
    return tuple(found)


def smallest_friction(scheme: str, step: float) -> float:
    """The smallest D from which one step contracts."""
    return windows(scheme, step)[0][0]


def frictions_that_contract(scheme: str, step: float) -> str:
    """The windows in words; an end of the grid is no end of the window."""
    texts = []
    for low, high in windows(scheme, step):
        below = "" if low == GRID[0] else f"{low:.4g} < "
        texts.append(
            f"{below}D" + ("" if high == GRID[-1] else f" < {high:.4g}")
            if below or high != GRID[-1]
            else "every D"
        )
    return " or ".join(texts) or "none"


def _panel(gradient: str, friction: float, length: int, sampling: Effort | None = None) -> Panel:
    series = []
    for scheme, name in NAMES.items():
        values = bias_at(scheme, gradient, friction, length)
        gone = [step for step, value in zip(settings.STEPS, values, strict=True) if value is None]
        limit = experiment(scheme, gradient, friction).limit
        note = f"diverges at h = {listed(gone)}, beyond its stability limit {limit:.4g}" if gone else ""
        series.append(Series(name, "exact", settings.STEPS, tuple(values), note=note))
        if sampling is not None:
            series.append(_sampled(name, experiment(scheme, gradient, friction), length, sampling.runs, note))
    sampled = "" if sampling is None else ", exact and sampled"
    return Panel(
        f"Bias, {GRADIENTS[gradient]}, D = {friction:g}, L = {length}{sampled}",
        "step size h",
        Y_LABELS["bias"],
        tuple(series),
    )


def _sampled(name: str, chain: Experiment, length: int, runs: int, note: str) -> Series:
    errors = chain.sampled(fixed(list(settings.STEPS), [length]), runs)
    points = [errors.at("bias", row, 0) for row in range(len(settings.STEPS))]
    return Series(
        name,
        "sampled",
        settings.STEPS,
        tuple(point and point[0] for point in points),
        tuple(point and point[1] for point in points),
        note,
    )


def _printed(friction: float) -> Table:
    low, high = settings.TICKS["invariant", "bias"]
    rows: list[tuple[Cell, ...]] = [*MODEL_ROWS]
    rows.append(
        (
            "D",
            "not printed",
            f"D = {friction:g}",
            "see the stability limits below",
        )
    )
    for gradient, label in GRADIENTS.items():
        values = [v for v in bias_at(SPLITTING, gradient, friction, settings.LONG) if v is not None]
        rows.append(
            (
                f"splitting, {label}",
                f"axis from {low:g} to {high:g}",
                f"|bias| from {min(map(abs, values)):.2g} to {max(map(abs, values)):.2g}",
                "within a decade of the axis"
                if low / 10 <= min(map(abs, values)) and max(map(abs, values)) <= 10 * high
                else "off the printed axis",
            )
        )
    return Table("Printed and reproduced", ("quantity", "printed", "reproduced", "comment"), tuple(rows))


def _stability() -> Table:
    rows: list[tuple[Cell, ...]] = []
    for step in settings.STEPS:
        cells = [frictions_that_contract(scheme, step) for scheme in NAMES]
        rows.append((step, *cells))
    return Table("Frictions D at which one step contracts", ("h", *NAMES.values()), tuple(rows))


def _orders(friction: float) -> Table:
    """The leading power of h in the bias of the invariant law, from its expansion at h = 0."""
    rows: list[tuple[Cell, ...]] = []
    for scheme, name in NAMES.items():
        orders = []
        for gradient in GRADIENTS:
            coefficients = experiment(scheme, gradient, friction).answers.expansion.values
            orders.append(next((place for place, value in enumerate(coefficients) if value), None))
        rows.append((name, *orders))
    title = "Order in h of the bias of the invariant law, as h goes to 0"
    return Table(title, ("scheme", *GRADIENTS.values()), tuple(rows))


def _claims(friction: float, draws: DataDraws) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for gradient, label in GRADIENTS.items():
        ours = bias_at(SPLITTING, gradient, friction, settings.LONG)
        for scheme in EULER:
            theirs = bias_at(scheme, gradient, friction, settings.LONG)
            both = [
                (step, abs(a), abs(b))
                for step, a, b in zip(settings.STEPS, ours, theirs, strict=True)
                if a is not None and b is not None
            ]
            larger = [step for step, a, b in both if b > a]
            step, a, b = both[-1]
            answers = [
                smaller(*(_over(draws, name, gradient, friction, at) for name in (SPLITTING, scheme)))
                for at, _, _ in both
            ]
            rows.append(
                (
                    f"{NAMES[scheme]} has larger biases than the splitting",
                    label,
                    f"at h = {listed(larger)} of {listed([s for s, _, _ in both])}; "
                    f"at h = {step:g} {number(b)} against {number(a)}",
                    *draws.judged(answers),
                )
            )
    for scheme in EULER:
        gone = [step for step in settings.STEPS if step >= experiment(scheme, "full", friction).limit]
        rows.append(
            (
                f"{NAMES[scheme]} explodes when the step size becomes large, the splitting does not",
                f"D = {friction:g}",
                f"explodes at h = {listed(gone)}; the splitting at none",
                *draws.judged([bool(gone)]),
            )
        )
    return Table("What the text says", CLAIM_COLUMNS, tuple(rows))


def _over(draws: DataDraws, scheme: str, gradient: str, friction: float, step: float) -> np.ndarray:
    """The biases at one step size over draws of the data."""

    def bias(estimator: str, seed: int) -> float | None:
        found = experiment(scheme, estimator, friction, seed).at_step("bias", step, settings.LONG)
        return None if found is None else found.value

    return draws.errors("bias", gradient, bias)


def _edge(scheme: str, step: float, outside: float, inside: float) -> float:
    """The end of a window between a friction outside and one inside."""
    return float(bisect(lambda friction: contracts(scheme, step, friction) - 0.5, outside, inside))
