"""Which statements do the papers print, in which form are they computed, and how severe are their errors?

The statements are data, the rows of `PAPER/errata/printed.toml`. A row has its place `where`; `printed`, a quotation of the paper
(formulas in symbols between dollars: a/b is a fraction, U~ has a tilde; ` [...] ` for omissions); `read_as`, the form that is
computed; and
`holds`, the corrected form. The severity of an error is a judgement with a reason: `severity`, `affects` (the consequence for the
results), `because`, and `elsewhere`, the place where the paper itself has the right form. An error that shows in several rows
counts once: these rows name one `root`, from which they inherit the severity unless they state their own. Whether a row fails is
computed and never stated here. A statement about a limit fails along a family (`Examination.family`) or in a part that takes none,
which the row names (`finite`).

The formulas under examination, paper by paper.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from typing import Any

from sgverify.claims.loading import unmarked
from sgverify.errors import UnknownNameError, UserError, find_named
from sgverify.evidence import Erratum
from sgverify.evidence.erratum import WEIGHT, ErratumError, RefutingFamily, Rung
from sgverify.papers.paper import papers


@dataclass(frozen=True, kw_only=True)
class PrintedRow:
    """One printed statement; a row that holds as printed has neither `holds` nor a severity."""

    where: str
    printed: str
    read_as: str = ""
    holds: str = ""
    severity: str = ""
    root: str = ""
    affects: str = ""
    because: str = ""
    elsewhere: str = ""
    finite: str = ""

    def weight(self) -> dict[str, str]:
        """The weight of its failure, and the reason."""
        return {key: getattr(self, key) for key in (*WEIGHT, "elsewhere")}


def row_of(id: str) -> PrintedRow:
    """The row of `paper/name`."""
    paper, _, name = id.partition("/")
    return rows(paper)[name]


@cache
def rows(paper: str) -> dict[str, PrintedRow]:
    """The rows of a paper, by name."""
    package = find_named("paper", paper, {known.id: known for known in papers()}).package
    text = resources.files(package).joinpath("errata", "printed.toml").read_text("utf-8")
    data = tomllib.loads(unmarked(text))
    roots = data.get("roots", {})
    return {name: _row(paper, name, row, roots) for name, row in data["rows"].items()}


def _row(paper: str, name: str, row: Mapping[str, Any], roots: Mapping[str, Any]) -> PrintedRow:
    shared = roots[row["root"]] if "root" in row else {}
    given = {**shared, **row}
    if "severity" in given:
        given["root"] = f"{paper}/{row.get('root', name)}"
    known = [one.name for one in fields(PrintedRow)]
    if unknown := [key for key in given if key not in known]:
        raise UserError(
            f"{paper}/{name}: {', '.join(unknown)} is no key of a row; expected {', '.join(known)}"
        )
    return PrintedRow(**given)


class UnconfirmedError(UserError):
    """The replacement of a failing formula does not hold either, or the weight of the failure is not stated."""


@dataclass(frozen=True)
class Examination:
    """The difference of a printed formula, and of its replacement, from the computation; "" where there is none.

    `family` is the one along which a printed statement about a limit fails.
    """

    printed: str
    holds: str
    certificate: dict[str, Any]
    method: Rung = "proof"
    family: RefutingFamily | None = None


@dataclass(frozen=True)
class Formula:
    """A printed statement with its place, its computed form, its corrected form, and the computation that decides.

    `examine` decides whether the printed statement fails. `row.holds` is empty if no corrected form is known.
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
    failing weighs: that is for the author of the row.
    """
    started = time.perf_counter()
    row = formula.row
    try:
        found = formula.examine()
    except ErratumError as error:
        raise ErratumError(f"{formula.id}: {error}") from error
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
        family=found.family if fails else None,
        finite=row.finite if fails else "",
        fails=fails,
        method=found.method,
        certificate=certificate,
        seconds=round(time.perf_counter() - started, 6),
    )


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
