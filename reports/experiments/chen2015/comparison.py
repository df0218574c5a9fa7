"""Figures 3, 6 and 8: SGHMC with the splitting integrator against SGLD, each with its own tuned constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.experiments.chen2015 import settings
from reports.experiments.chen2015.effort import EFFORTS, Effort, draws_note, thinned_note
from reports.experiments.chen2015.experiment import experiment, smaller
from reports.experiments.chen2015.settings import (
    CLAIM_COLUMNS,
    GRADIENTS,
    KINDS,
    MODEL_ROWS,
    QUANTITIES,
    TITLES,
    Y_LABELS,
    listed,
    number,
)
from reports.experiments.chen2015.tuning import (
    CONTENDERS,
    SGHMC,
    SGLD,
    Tuned,
    TunedOver,
    tuned,
    tuned_over,
)
from sgverify.errors import find_named
from sgverify.evidence import Cell, Panel, Series, Study, Table
from sgverify.samplers import Row, horizon, power

Found = Mapping[tuple[str, str, str], tuple[Tuned, ...]]
"""Kind of schedule, quantity and gradient estimator to the tuned contenders."""

SYMBOLS = {"horizon": "C", "power": "h_1"}


def figure_3(effort: str) -> Study:
    """Biases of SGHMC and SGLD with fixed and decreasing steps, chen2015 Figure 3."""
    return _study(
        find_named("effort", effort, EFFORTS),
        (("horizon", "bias"), ("power", "bias")),
        "main",
        id="chen2015/figure-3",
        title="Figure 3: biases of SGHMC and SGLD with tuned constants",
        source="chen2015 Figure 3 and section 5",
    )


def figure_6(effort: str) -> Study:
    """Bias and MSE of SGHMC and SGLD with fixed steps, chen2015 Figure 6."""
    return _study(
        find_named("effort", effort, EFFORTS),
        (("horizon", "bias"), ("horizon", "mse")),
        "appendix",
        id="chen2015/figure-6",
        title="Figure 6: bias and MSE of SGHMC and SGLD, fixed steps",
        source="chen2015 Figure 6 and Appendix K.1",
    )


def figure_8(effort: str) -> Study:
    """Bias and MSE of SGHMC and SGLD with decreasing steps, chen2015 Figure 8."""
    return _study(
        find_named("effort", effort, EFFORTS),
        (("power", "bias"), ("power", "mse")),
        "appendix",
        id="chen2015/figure-8",
        title="Figure 8: bias and MSE of SGHMC and SGLD, decreasing steps",
        source="chen2015 Figure 8 and Appendix K.1",
    )


def printed(found: Found, length: int, place: str) -> Table:
    """Settings and axes, printed and reproduced."""
    rows: list[tuple[Cell, ...]] = [
        *MODEL_ROWS,
        ("selected constants", "not printed", "in the next table", f"by the exact error at L = {length}"),
        (
            "L of the search over h_1",
            "not printed",
            str(length),
            'as for the fixed steps; the appendix says "the same procedure"',
        ),
    ]
    rows += [
        _axis_row(axis, kind, quantity, gradient, best)
        for (kind, quantity, gradient), contenders in found.items()
        if (axis := settings.TICKS.get((place, kind, quantity)))
        for best in contenders
    ]
    if len(rows) == len(MODEL_ROWS) + 2:
        rows.append(
            ("vertical axes", "not in the text of the paper", "the panels above", "nothing to compare with")
        )
    return Table("Printed and reproduced", ("quantity", "printed", "reproduced", "comment"), tuple(rows))


def constants(found: Found) -> Table:
    """The constants that the grid searches select, and the grid points that diverge."""
    rows: list[tuple[Cell, ...]] = [
        (
            f"{QUANTITIES[quantity]}, {_kind(kind)}",
            GRADIENTS[gradient],
            best.contender.name,
            f"{SYMBOLS[kind]} = {float(best.scale):g}" + (", at the grid's end" if best.on_the_edge else ""),
            best.friction if _searched(best) else None,
            best.error,
            _gone(best),
        )
        for (kind, quantity, gradient), contenders in found.items()
        for best in contenders
    ]
    columns = ("search", "gradients", "method", "selected", "D", "|error| there", "diverging on the grid")
    return Table("What the grid searches select", columns, tuple(rows))


def claims(found: Found, effort: Effort) -> Table:
    """Whether SGHMC has the smaller error, against both readings of SGLD, over draws of the data."""
    rows: list[tuple[Cell, ...]] = []
    for (kind, quantity, gradient), contenders in found.items():
        ours, *others = contenders
        mine, *drawn = (_over(best, quantity, effort) for best in contenders)
        for theirs, over in zip(others, drawn, strict=True):
            pairs = [(n, ours.value(quantity, n), theirs.value(quantity, n)) for n in settings.LENGTHS]
            better = [n for n, a, b in pairs if _smaller(a, b)]
            where = f"at L = {listed(better)}" if better else "at no L of the axis"
            last, a, b = pairs[-1]
            answers = [smaller(mine.values(quantity, n), over.values(quantity, n)) for n in settings.LENGTHS]
            rows.append(
                (
                    f"{ours.contender.name} has a smaller {QUANTITIES[quantity]} than {theirs.contender.name}, {_kind(kind)}",
                    GRADIENTS[gradient],
                    f"{where}; at L = {last} {number(a)} against {number(b)}",
                    *effort.draws.judged(answers),
                )
            )
    return Table("What the text says", CLAIM_COLUMNS, tuple(rows))


def benefit(found: Found, length: int, effort: Effort) -> Table:
    """Whether decreasing steps gain less than fixed ones: the ratio SGLD to SGHMC at the last length."""
    rows: list[tuple[Cell, ...]] = []
    last = settings.LENGTHS[-1]
    for (_, quantity, gradient), decreasing in found.items():
        fixed = [
            tuned(best.contender, gradient, "horizon", quantity, length, effort.thinning)
            for best in decreasing
        ]
        for falling, steady in list(zip(decreasing, fixed, strict=True))[1:]:
            gains = [_ratio(a, b, quantity, last) for a, b in ((falling, decreasing[0]), (steady, fixed[0]))]
            judged = ("not asked", "not asked")
            if None not in gains:
                of_falling, of_steady = (
                    abs(_over(a, quantity, effort).values(quantity, last))
                    / abs(_over(b, quantity, effort).values(quantity, last))
                    for a, b in ((falling, decreasing[0]), (steady, fixed[0]))
                )
                judged = effort.draws.judged([of_falling < of_steady])
            rows.append((QUANTITIES[quantity], GRADIENTS[gradient], falling.contender.name, *gains, *judged))
    columns = (
        *("error", "asked of", "against", "gain, decreasing", "gain, fixed"),
        *("over draws of the data", "verdict"),
    )
    title = f"The benefit of SGHMC is not as large as with fixed steps: error of SGLD / error of SGHMC, L = {last}"
    return Table(title, columns, tuple(rows))


def _study(
    effort: Effort, questions: Sequence[tuple[str, str]], place: str, *, id: str, title: str, source: str
) -> Study:
    length = settings.TUNED_AT[place]
    found = {
        (kind, quantity, gradient): tuple(
            tuned(contender, gradient, kind, quantity, length, effort.thinning) for contender in CONTENDERS
        )
        for kind, quantity in questions
        for gradient in GRADIENTS
    }
    panels = [_panel(*question, best, effort) for question, best in found.items()]
    tables = [printed(found, length, place), constants(found), claims(found, effort)]
    decreasing = any(kind == "power" for kind, _ in questions)
    if place == "appendix" and decreasing:
        tables.append(benefit(found, length, effort))
    return Study(
        id=id,
        title=title,
        source=source,
        summary=(
            f"Which method is the more accurate after a few hundred steps, if each has the constants that a grid search at "
            f"L = {length} finds best? SGLD uses alpha = 1/2 for the bias and 1/3 for the mean square error, SGHMC with the "
            "splitting integrator 1/3 and 1/5. The search is made on exact errors, where the paper had 200 runs."
        ),
        panels=tuple(panels),
        tables=tuple(tables),
        notes=(
            "Equation (10) prints SGLD with the drift -1/2 grad U, Algorithm 1 with -grad U; a step h of the first is a step "
            "h/2 of the second. Which one the figures use is not printed: both are shown, on the same grid of h.",
            *(_grid_note() if decreasing else ()),
            "Where the exact bias changes its sign within the grid, the search for the smallest |bias| finds that zero: an "
            f"error which is small at L = {length} and nowhere else. A search on 200 sampled runs sees it through noise.",
            f"A constant that is selected at L = {length} gives larger steps at smaller L; where a step is beyond the stability "
            "limit there is no value.",
            *thinned_note(effort),
            *draws_note(effort),
            *_drawn_note(effort),
        ),
    )


def _drawn_note(effort: Effort) -> tuple[str, ...]:
    """How the constants of the other draws are found."""
    if effort.drawn == 1:
        return ()
    return (
        "Every draw of the data has constants of its own, tuned on it. Over the scale the mean square error is taken to have "
        "one valley: around the best of every fifth value of the grid all are searched.",
    )


def _grid_note() -> tuple[str, ...]:
    """Where the printed grid of first steps lies against the stability limit of SGLD."""
    limit = experiment(SGLD.scheme, "full", settings.FRICTIONS[0]).limit
    first = float(min(settings.FIRST_STEPS))
    place = "above" if first > limit else "below"
    return (
        f"The smallest first step of the printed grid, h_1 = {first:g}, is {place} the stability limit of SGLD on this "
        f"posterior, {limit:.4g} (Algorithm 1), so that its first steps amplify the start.",
    )


def _panel(kind: str, quantity: str, gradient: str, found: tuple[Tuned, ...], effort: Effort) -> Panel:
    series = []
    for best in found:
        values = tuple(best.value(quantity, length) for length in settings.LENGTHS)
        gone = [n for n, value in zip(settings.LENGTHS, values, strict=True) if value is None]
        note = (
            f"diverged at L = {listed(gone)} with the constants selected at L = {best.length}" if gone else ""
        )
        series.append(Series(best.contender.name, "exact", settings.LENGTHS, values, note=note))
        if effort.runs and gradient in effort.sampled:
            series.append(_sampled(best, quantity, effort))
    return Panel(
        f"{TITLES[quantity]}, {KINDS[kind]}, {GRADIENTS[gradient]}",
        "number of steps L",
        Y_LABELS[quantity],
        tuple(series),
        x_scale="linear",
        y_scale="log",
    )


def _sampled(best: Tuned, quantity: str, effort: Effort) -> Series:
    """One row a length on a horizon, of those with a value; one row with all lengths for decreasing steps."""
    short = [n for n in settings.LENGTHS if n <= effort.longest]
    lengths = [n for n in short if best.value(quantity, n) is not None]
    alpha, scale = float(best.alpha), float(best.own_scale)
    rows: tuple[Row, ...]
    if best.kind == "horizon":
        rows, places = horizon(scale, alpha, lengths), [(k, 0) for k in range(len(lengths))]
    else:
        rows, places = power([scale], alpha, short), [(0, short.index(n)) for n in lengths]
    errors = best.chain.sampled(rows, effort.runs)
    points = [errors.at(quantity, row, place) for row, place in places]
    return Series(
        best.contender.name,
        "sampled",
        tuple(lengths),
        tuple(point and point[0] for point in points),
        tuple(point and point[1] for point in points),
    )


def _over(best: Tuned, quantity: str, effort: Effort) -> TunedOver:
    """The same contender, tuned for each draw of the data."""
    return tuned_over(
        best.contender, best.gradient, best.kind, quantity, best.length, effort.draws, effort.thinning
    )


def _axis_row(
    axis: tuple[float, float], kind: str, quantity: str, gradient: str, best: Tuned
) -> tuple[Cell, ...]:
    values = [best.value(quantity, n) for n in settings.LENGTHS]
    seen = [abs(v) for v in values if v is not None]
    comment = "on the printed axis" if max(seen) <= axis[1] else "beyond the printed axis"
    if None in values:
        comment += "; diverged at small L"
    return (
        f"{QUANTITIES[quantity]} of {best.contender.name}, {_kind(kind)}, {GRADIENTS[gradient]}",
        f"axis from {axis[0]:g} to {axis[1]:g}",
        f"|value| from {min(seen):.2g} to {max(seen):.2g}",
        comment,
    )


def _kind(kind: str) -> str:
    return KINDS[kind].partition(",")[0]


def _searched(best: Tuned) -> bool:
    return best.contender == SGHMC


def _gone(best: Tuned) -> str:
    texts = []
    for friction, scales in best.diverging:
        if scales:
            place = f"D = {friction:g}: " if _searched(best) else ""
            spread = f"from {float(min(scales)):g} to {float(max(scales)):g}"
            texts.append(f"{place}{len(scales)} values of {SYMBOLS[best.kind]} {spread}")
    return "; ".join(texts) or "none"


def _smaller(ours: float | None, theirs: float | None) -> bool:
    """A diverged error is larger than every other."""
    return ours is not None and (theirs is None or abs(ours) < abs(theirs))


def _ratio(theirs: Tuned, ours: Tuned, quantity: str, length: int) -> float | None:
    above, below = theirs.value(quantity, length), ours.value(quantity, length)
    return None if above is None or not below else abs(above / below)
