"""The formulas under examination, paper by paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sgverify.checks.errata import (
    awsgld_laws,
    awsgld_noise,
    awsgld_rates,
    awsgld_weights,
    control_variates,
    densities,
    dissipativity,
    flows,
    generators,
    products,
    sums,
    swaps,
    telescoping,
    theorems,
    updates,
)
from sgverify.checks.errata.formula import Formula, check_formula
from sgverify.errors import UnknownNameError
from sgverify.evidence import Erratum

Progress = Callable[[str, int, int], None]
"""Told which formula is at work, how many are done and how many there are."""


def formulas(paper: str | None = None) -> tuple[Formula, ...]:
    """Every formula that is examined, those of one paper where one is named."""
    found = (
        *densities.FORMULAS,
        *generators.FORMULAS,
        *products.FORMULAS,
        *updates.FORMULAS,
        *telescoping.FORMULAS,
        *sums.FORMULAS,
        *flows.FORMULAS,
        *theorems.formulas(),
        *awsgld_weights.FORMULAS,
        *awsgld_laws.FORMULAS,
        *awsgld_noise.FORMULAS,
        *awsgld_rates.FORMULAS,
        *control_variates.FORMULAS,
        *swaps.FORMULAS,
        *dissipativity.FORMULAS,
    )
    return tuple(formula for formula in found if paper is None or formula.id.startswith(f"{paper}/"))


def check_errata(
    ids: Sequence[str] = (), paper: str | None = None, *, progress: Progress | None = None
) -> list[Erratum]:
    """Examine the formulas of these ids, or of papers named by themselves, by default all; what stands is among the answers.

    Raises `UnknownNameError` for an id or a paper that there is not.
    """
    known = {formula.id: formula for formula in formulas(paper)}
    papers = dict.fromkeys(id.partition("/")[0] for id in known)
    chosen = []
    for id in ids or papers:
        if id not in known and id not in papers:
            near = known if id.partition("/")[0] in papers else papers
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
