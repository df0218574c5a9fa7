"""A formula of a paper under examination: printed and mended in a form that computes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sgverify.checks.errata.rows import PrintedRow, row_of
from sgverify.errors import SgverifyError
from sgverify.evidence import Erratum
from sgverify.evidence.erratum import WEIGHT, Rung


class UnconfirmedError(SgverifyError):
    """What is put in a failing formula's place does not hold either, or it is not said how much the failure weighs."""


@dataclass(frozen=True)
class Examination:
    """What separates a printed formula from what is computed, and the one in its place; "" where nothing does."""

    printed: str
    holds: str
    certificate: dict[str, Any]
    method: Rung = "proof"


@dataclass(frozen=True)
class Formula:
    """A statement where it stands, as it is printed and read, what is to hold, and the computation about both.

    Whether the printed one falls is for `examine` to say; `row.holds` is empty where nothing is known to put in its place.
    """

    id: str
    examine: Callable[[], Examination] = field(repr=False)
    row: PrintedRow


def formula(id: str, examine: Callable[[], Examination]) -> Formula:
    """The computation `examine` about the row of that id."""
    return Formula(id, examine, row_of(id))


def check_formula(formula: Formula) -> Erratum:
    """The verdict on one formula.

    Raises `UnconfirmedError` where the formula that is to hold is not confirmed, or there is none, or it is not said how much its
    failing weighs: that is a fault of ours.
    """
    started = time.perf_counter()
    row, found = formula.row, formula.examine()
    if found.holds:
        raise UnconfirmedError(f"{formula.id}: `{row.holds}` is off by {found.holds}")
    fails = bool(found.printed)
    if fails and not row.holds:
        raise UnconfirmedError(f"{formula.id} is off by {found.printed}, and nothing is put in its place")
    if fails and (missing := [key for key in WEIGHT if not getattr(row, key)]):
        raise UnconfirmedError(f"{formula.id} is off by {found.printed}, and not said: {', '.join(missing)}")
    certificate = {"difference": found.printed, **found.certificate} if fails else found.certificate
    return Erratum(
        id=formula.id,
        where=row.where,
        printed=row.printed,
        read_as=row.read_as,
        holds=row.holds if fails else "",
        **(row.weight() if fails else {}),
        fails=fails,
        method=found.method,
        certificate=certificate,
        seconds=round(time.perf_counter() - started, 6),
    )
