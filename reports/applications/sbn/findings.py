"""The statements of chen2015 about the belief network, beside the numbers of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reports.applications.judging import Statement, Test, decide, signed
from reports.applications.optimum import slack_against, unlocated
from reports.applications.result import PaperFinding
from reports.applications.sbn.comparison import NetworkRow, best, optimum
from reports.applications.sbn.grids import GRIDS, METHODS, REFINED, printed_value
from reports.applications.statistics import difference

Group = tuple[int, str, str]
"""Hidden units, grid, and the label of a method."""

_SOURCE = "chen2015, section 5 and Table 1"
_PAIRS = (("SGHMC-S", "SGHMC-E"), ("SGHMC-E", "SGLD"))
_OF_GRID = {
    "printed": "on the printed grid",
    "rescaled": "on the grid rescaled to this data set's size",
    REFINED: "each at its best step",
}


def findings(
    rows: Sequence[NetworkRow], hidden: Sequence[int], too_large: Mapping[Group, float] | None = None
) -> tuple[PaperFinding, ...]:
    """Each statement of the paper beside the numbers of the rows.

    `too_large`: by how much annealing makes the negative log-likelihood of the best setting of a group too large, as far as it is
    known. Settings share annealing's draws, but not its bias: no difference below that is told. A statement on a grid whose best
    setting lies at its edge is open: the steps of the grid are then too small, or too large.
    """
    biases = {} if too_large is None else too_large
    statements = []
    for units in hidden:
        for grid in (GRIDS[0], REFINED):
            statements += [_best_of_both(rows, units, grid, *pair, biases) for pair in _PAIRS]
        statements += [_setting_by_setting(rows, units, grid, biases) for grid in GRIDS]
    return decide((*statements, _more_units(rows, hidden, biases)))


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
) -> Statement:
    """Is the best setting of the first method better than that of the second?"""
    statement = (
        f"{first} has a smaller negative log-likelihood than {second}, {_OF_GRID[grid]}, {hidden} units"
    )
    groups = [(hidden, grid, label) for label in (first, second)]
    return _compared(rows, statement, _printed(first, second, hidden), groups, biases)


def _compared(
    rows: Sequence[NetworkRow],
    statement: str,
    printed: str,
    groups: Sequence[Group],
    biases: Mapping[Group, float],
) -> Statement:
    """Is the best setting of the first group better than that of the second?"""
    one, two = (best(rows, *group) for group in groups)
    first, second = (optimum(rows, *group) for group in groups)
    if one is None or two is None or first is None or second is None:
        lost = " and ".join(group[2] for group, row in zip(groups, (one, two), strict=True) if row is None)
        return _statement(statement, printed, "no number", f"chains of every setting of {lost} have diverged")
    told = "; ".join(
        f"{row.method.label}, {row.hidden} units: {row.mean} at {row.point}" for row in (one, two)
    )
    gap = difference(one.predictive, two.predictive)
    test = signed(
        gap,
        -1,
        margin=_largest(biases, *groups) + slack_against(gap, first, second),
        bias="the bias of annealing, or what a finer grid gains",
    )
    return _statement(statement, printed, told, test, _open(rows, groups))


def _open(rows: Sequence[NetworkRow], groups: Sequence[Group]) -> str:
    return unlocated([(group[2], optimum(rows, *group)) for group in groups])


def _setting_by_setting(
    rows: Sequence[NetworkRow], hidden: int, grid: str, biases: Mapping[Group, float]
) -> Statement:
    """Is the splitting better than Euler at the same step size and friction, with the same noise and minibatches?

    By the mean over the settings at which no chain of either diverges, seed by seed.
    """
    statement = f"SGHMC-S is better than SGHMC-E at the same h and D, {_OF_GRID[grid]}, {hidden} units"
    groups = [(hidden, grid, label) for label in ("SGHMC-S", "SGHMC-E")]
    of = [
        {str(row.point): row for row in rows if (row.hidden, row.grid, row.method.label) == group}
        for group in groups
    ]
    pairs = [(row, of[1][name]) for name, row in of[0].items() if name in of[1]]
    gaps = [one.predictive - two.predictive for one, two in pairs if not one.diverged and not two.diverged]
    only_euler = sum(1 for one, two in pairs if two.diverged and not one.diverged)
    only_splitting = sum(1 for one, two in pairs if one.diverged and not two.diverged)
    printed = "2nd order; 'more accurate and robust'"
    if not gaps:
        return _statement(
            statement, printed, "no number", "chains of every setting of SGHMC-S or SGHMC-E have diverged"
        )
    means = [float(gap.mean()) for gap in gaps]
    told = (
        f"differences of {len(gaps)} settings from {min(means):+.3g} to {max(means):+.3g}; Euler alone diverged in {only_euler}, "
        f"the splitting alone in {only_splitting} of {len(pairs)}"
    )
    whole = np.mean(gaps, axis=0)
    test = signed(
        difference(whole, np.zeros_like(whole)),
        -1,
        margin=_largest(biases, *groups),
        bias="the bias of annealing",
        told="the mean difference over the settings is",
    )
    against = only_splitting - only_euler
    contrary = isinstance(test, Test) and test.speaks * against > 0
    reasons = [_open(rows, groups), "chains that diverge speak the other way" if contrary else ""]
    return _statement(statement, printed, told, test, "; ".join(filter(None, reasons)))


def _more_units(
    rows: Sequence[NetworkRow], hidden: Sequence[int], biases: Mapping[Group, float]
) -> Statement:
    """Is the model with more hidden units better, for the splitting?"""
    statement = "more hidden units have a smaller negative log-likelihood, SGHMC-S, each at its best step"
    printed = "103 with 100 units, 98 with 200"
    few, many = min(hidden), max(hidden)
    if few == many:
        return Statement(
            statement=statement,
            source=_SOURCE,
            printed=printed,
            found="no number",
            test=f"the run has {few} units alone; give --hidden more than once",
            settled="not tried",
        )
    return _compared(rows, statement, printed, [(units, REFINED, "SGHMC-S") for units in (many, few)], biases)


def _printed(first: str, second: str, hidden: int) -> str:
    """The numbers of both methods in Table 1, for this many units or else for all that are printed."""
    of = {method.label: method for method in METHODS}
    told = []
    for units in (hidden,) if printed_value(METHODS[0], hidden) is not None else (100, 200):
        values = [printed_value(of[label], units) for label in (first, second)]
        told.append(f"{values[0]:g} and {values[1]:g} with {units} units")
    return "MNIST: " + ", ".join(told)


def _statement(
    statement: str, printed: str, found: str, test: Test | str, open_reason: str = ""
) -> Statement:
    return Statement(
        statement=statement, source=_SOURCE, printed=printed, found=found, test=test, open=open_reason
    )
