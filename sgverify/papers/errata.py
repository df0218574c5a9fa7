"""The formulas under examination, paper by paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sgverify.errors import UnknownNameError
from sgverify.evidence import Erratum
from sgverify.papers.formula import Formula, check_formula
from sgverify.papers.paper import papers

Progress = Callable[[str, int, int], None]
"""Told which formula is at work, how many are done and how many there are."""


def formulas(paper: str | None = None) -> tuple[Formula, ...]:
    """All examined formulas; only those of one paper if it is named."""
    chosen = [entry for entry in papers() if paper is None or entry.id == paper]
    return tuple(
        formula for entry in chosen for place in entry.errata for formula in entry.load(place).FORMULAS
    )


def check_errata(
    ids: Sequence[str] = (), paper: str | None = None, *, progress: Progress | None = None
) -> list[Erratum]:
    """Examine the formulas of these ids, or of papers named by themselves, by default all; what stands is among the answers.

    Raises `UnknownNameError` for an id or a paper that there is not.
    """
    known = {formula.id: formula for formula in formulas(paper)}
    named = dict.fromkeys(id.partition("/")[0] for id in known)
    chosen = []
    for id in ids or named:
        if id not in known and id not in named:
            near = known if id.partition("/")[0] in named else named
            raise UnknownNameError("formula or paper", id, near, "See `sgverify errata` for all.")
        chosen += [
            formula for formula in known.values() if formula.id == id or formula.id.startswith(f"{id}/")
        ]
    found = []
    for number, formula in enumerate(chosen):
        if progress:
            progress(formula.id, number, len(chosen))
        found.append(check_formula(formula))
    return found
