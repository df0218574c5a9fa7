"""What does chen2015 say of the samplers on this model, and is it so here? With standard errors over the seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.applications.result import PaperFinding, Reproduced
from reports.applications.sbn.comparison import NetworkRow, best
from reports.applications.sbn.grids import GRIDS, METHODS, printed_value
from reports.applications.statistics import CONFIDENCE, Mean, difference, sign_of

Group = tuple[int, str, str]
"""Hidden units, grid, and the label of a method."""

_SOURCE = "chen2015, section 5 and Table 1"
_PAIRS = (("SGHMC-S", "SGHMC-E"), ("SGHMC-E", "SGLD"))
_OF_GRID = {"printed": "on the printed grid", "rescaled": "on the grid rescaled to this data set's size"}


def findings(
    rows: Sequence[NetworkRow], hidden: Sequence[int], too_large: Mapping[Group, float] | None = None
) -> tuple[PaperFinding, ...]:
    """Each statement of the paper beside the numbers of the rows.

    `too_large`: by how much annealing makes the negative log-likelihood of the best setting of a group too large, as far as it is
    known. Settings share annealing's draws, but not its bias: no difference below that is told.
    """
    found = []
    biases = {} if too_large is None else too_large
    for units in hidden:
        for grid in GRIDS:
            found += [_best_of_both(rows, units, grid, *pair, biases) for pair in _PAIRS]
            found.append(_setting_by_setting(rows, units, grid, biases))
    return (*found, _more_units(rows, hidden, biases))


def _largest(biases: Mapping[Group, float], *groups: Group) -> float:
    """The largest size of the biases of these groups; 0 where none is known."""
    return max((abs(biases.get(group, 0.0)) for group in groups), default=0.0)


def _best_of_both(
    rows: Sequence[NetworkRow],
    hidden: int,
    grid: str,
    first: str,
    second: str,
    biases: Mapping[Group, float],
) -> PaperFinding:
    """Is the best setting of the first method better than that of the second?"""
    one, two = (best(rows, hidden, grid, label) for label in (first, second))
    statement = (
        f"{first} has a smaller negative log-likelihood than {second}, {_OF_GRID[grid]}, {hidden} units"
    )
    printed = _printed(first, second, hidden)
    if one is None or two is None:
        lost = " and ".join(label for label, row in ((first, one), (second, two)) if row is None)
        reason = f"chains of every setting of {lost} have diverged"
        return _finding(statement, printed, "no number", "undecided", reason)
    told = f"{one.mean} at {one.point}{_at_an_edge(rows, one)}; {two.mean} at {two.point}{_at_an_edge(rows, two)}"
    bias = _largest(biases, _group(one), _group(two))
    return _judged(statement, printed, told, difference(one.predictive, two.predictive), first, second, bias)


def _at_an_edge(rows: Sequence[NetworkRow], chosen: NetworkRow) -> str:
    """A remark where the best step is the smallest or largest of its grid: a better one may lie beyond."""
    steps = [row.point.step for row in rows if _group(row) == _group(chosen)]
    if chosen.point.step not in (min(steps), max(steps)) or len(set(steps)) == 1:
        return ""
    return f", the {'smallest' if chosen.point.step == min(steps) else 'largest'} step of its grid"


def _group(row: NetworkRow) -> Group:
    return row.hidden, row.grid, row.method.label


def _setting_by_setting(
    rows: Sequence[NetworkRow], hidden: int, grid: str, biases: Mapping[Group, float]
) -> PaperFinding:
    """Is the splitting better than Euler at the same step size and friction, with the same noise and minibatches?"""
    statement = f"SGHMC-S is better than SGHMC-E at the same h and D, {_OF_GRID[grid]}, {hidden} units"
    of = {
        label: {
            str(row.point): row
            for row in rows
            if (row.hidden, row.grid, row.method.label) == (hidden, grid, label)
        }
        for label in ("SGHMC-S", "SGHMC-E")
    }
    pairs = [(row, of["SGHMC-E"][name]) for name, row in of["SGHMC-S"].items() if name in of["SGHMC-E"]]
    gaps = [difference(one.predictive, two.predictive) for one, two in pairs]
    bias = _largest(biases, *((hidden, grid, label) for label in of))
    signs = [0 if gap is not None and abs(gap.value) <= bias else sign_of(gap) for gap in gaps]
    only_euler = sum(1 for one, two in pairs if two.diverged and not one.diverged)
    only_splitting = sum(1 for one, two in pairs if one.diverged and not two.diverged)
    known = [gap for gap in gaps if gap is not None]
    smallest, largest = (f(gap.value for gap in known) if known else 0.0 for f in (min, max))
    told = (
        f"smaller in {signs.count(-1)}, larger in {signs.count(1)} of {len(pairs)} settings; differences from {smallest:+.3g} to "
        f"{largest:+.3g}; Euler alone diverged in {only_euler}, the splitting alone in {only_splitting}"
    )
    printed = "2nd order; 'more accurate and robust'"
    better, worse = signs.count(-1) + only_euler, signs.count(1) + only_splitting
    if all(sign is None for sign in signs) and not only_euler + only_splitting:
        reason = "one chain has no standard error"
        return _finding(statement, printed, told, "undecided", reason)
    expected = (1 - CONFIDENCE) / 2 * len(pairs)
    reason = (
        f"{better} of {len(pairs)} settings speak for it and {worse} against it; without any difference about {expected:.1g} "
        "would do so each way by chance, and all together rather than one by one, for settings share their draws"
        + (f"; differences up to {bias:.2g}, the bias of annealing, are not told" if bias else "")
    )
    if better > len(pairs) / 2 and not worse:
        return _finding(statement, printed, told, "reproduced", reason)
    if worse > len(pairs) / 2 and not better:
        return _finding(statement, printed, told, "not reproduced", reason)
    return _finding(statement, printed, told, "undecided", reason)


def _more_units(
    rows: Sequence[NetworkRow], hidden: Sequence[int], biases: Mapping[Group, float]
) -> PaperFinding:
    """Is the model with more hidden units better, for the splitting on the rescaled grid?"""
    statement = "more hidden units have a smaller negative log-likelihood, SGHMC-S, best of the rescaled grid"
    printed = "103 with 100 units, 98 with 200"
    few, many = min(hidden), max(hidden)
    one, two = (best(rows, units, "rescaled", "SGHMC-S") for units in (many, few))
    if few == many:
        return _finding(
            statement,
            printed,
            "no number",
            "not tried",
            f"the run has {few} units alone; give --hidden more than once",
        )
    if one is None or two is None:
        return _finding(statement, printed, "no number", "undecided", "chains of every setting have diverged")
    told = f"{one.mean} with {many} units, {two.mean} with {few}"
    gap = difference(one.predictive, two.predictive)
    bias = _largest(biases, _group(one), _group(two))
    return _judged(statement, printed, told, gap, f"{many} units", f"{few} units", bias)


def _judged(
    statement: str, printed: str, told: str, gap: Mean | None, first: str, second: str, bias: float
) -> PaperFinding:
    sign = sign_of(gap)
    if gap is None or sign is None:
        return _finding(statement, printed, told, "undecided", "one chain has no standard error")
    size = f"{first} less {second} is {gap.value:+.3g} ± {gap.error:.2g} (standard error, {gap.count} seeds)"
    if abs(gap.value) <= bias:
        reason = f"{size}: less than what annealing makes likelihoods too small by, {bias:.2g}, which need not be the same for both"
        return _finding(statement, printed, told, "undecided", reason)
    if sign == 0:
        return _finding(
            statement, printed, told, "undecided", f"{size}: no difference at {CONFIDENCE:.0%} confidence"
        )
    return _finding(statement, printed, told, "reproduced" if sign < 0 else "not reproduced", size)


def _printed(first: str, second: str, hidden: int) -> str:
    """The numbers of both methods in Table 1, for this many units or else for all that are printed."""
    of = {method.label: method for method in METHODS}
    told = []
    for units in (hidden,) if printed_value(METHODS[0], hidden) is not None else (100, 200):
        values = [printed_value(of[label], units) for label in (first, second)]
        told.append(f"{values[0]:g} and {values[1]:g} with {units} units")
    return "MNIST: " + ", ".join(told)


def _finding(statement: str, printed: str, found: str, verdict: Reproduced, reason: str) -> PaperFinding:
    return PaperFinding(
        statement=statement,
        source=_SOURCE,
        printed=printed,
        found=found,
        verdict=verdict,
        reason=reason,
    )
