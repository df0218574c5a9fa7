"""The tables of Figures 3, 6 and 8: what is printed, what the searches select, what the text concludes."""

from __future__ import annotations

from collections.abc import Mapping

from sgverify.checks.studies import settings
from sgverify.checks.studies.draws import smaller
from sgverify.checks.studies.effort import Effort
from sgverify.checks.studies.tuning import SGHMC, Tuned, TunedOver, tuned, tuned_over
from sgverify.checks.studies.wording import (
    CLAIM_COLUMNS,
    GRADIENTS,
    KINDS,
    MODEL_ROWS,
    QUANTITIES,
    listed,
    number,
)
from sgverify.evidence import Cell, Table

Found = Mapping[tuple[str, str, str], tuple[Tuned, ...]]
"""Kind of schedule, quantity and gradient estimator to the tuned contenders."""

SYMBOLS = {"horizon": "C", "power": "h_1"}


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
    """What the grid searches select, and what of the grid diverges."""
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
