"""What the papers print, row by row, with what is read in it and how much it weighs: data, in `printed/PAPER.toml`.

A row has `where` it stands, `printed`, a quotation of the paper (formulas in symbols: a/b for a fraction, U~ for a tilde;
` [...] ` for what is left out), `read_as`, what is derived from it in a form that computes, and `holds`, what is in its
place. How much it weighs is a judgement with a reason: `severity`, `affects` (what becomes of the results), `because`, and
`elsewhere`, where the paper itself has the right form. An error that shows in several rows is one error: these rows name one
`root`, whose weight is theirs where they say nothing else. Whether a row fails is computed and never stated here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from sgverify.evidence.erratum import WEIGHT


@dataclass(frozen=True, kw_only=True)
class PrintedRow:
    """One printed statement; a row that stands has neither `holds` nor a weight."""

    where: str
    printed: str
    read_as: str = ""
    holds: str = ""
    severity: str = ""
    root: str = ""
    affects: str = ""
    because: str = ""
    elsewhere: str = ""

    def weight(self) -> dict[str, str]:
        """How much its failing weighs, and why."""
        return {key: getattr(self, key) for key in (*WEIGHT, "elsewhere")}


def row_of(id: str) -> PrintedRow:
    """The row of `paper/name`."""
    paper, _, name = id.partition("/")
    return rows(paper)[name]


@cache
def rows(paper: str) -> dict[str, PrintedRow]:
    """Every row of a paper, by name."""
    text = (
        resources.files("sgverify.checks.errata")
        .joinpath("printed", f"{paper}.toml")
        .read_text(encoding="utf-8")
    )
    data = tomllib.loads(text)
    roots = data.get("roots", {})
    return {name: _row(paper, name, row, roots) for name, row in data["rows"].items()}


def _row(paper: str, name: str, row: Mapping[str, Any], roots: Mapping[str, Any]) -> PrintedRow:
    shared = roots[row["root"]] if "root" in row else {}
    given = {**shared, **row}
    if "severity" in given:
        given["root"] = f"{paper}/{row.get('root', name)}"
    return PrintedRow(**given)
