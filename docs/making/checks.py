"""The page of checks: what each proves, what it cannot see, which claims it judges, and how many planted bugs it refutes."""

from __future__ import annotations

import json
from collections import Counter

from docs.making.markdown import page, plain, table
from docs.making.places import ROOT
from reports.making.power.kill_matrix import KillMatrix, decode_kill_matrix
from sgverify.checks import CHECKS
from sgverify.checks.check import Check
from sgverify.claims import claims
from sgverify.evidence import METHODS

MATTERS = {
    "method": "Is the method right?",
    "code": "Does the code do what its definition says?",
    "paper": "Is the paper right?",
}

OPENING = """\
# Every check

A check answers one quantity of a claim for a scheme under one setting. It returns evidence: a verdict, the method behind it,
numbers with their errors, and the command that repeats it. What a check settles and what it cannot see are the words of its own
code. `sgverify verify SCHEME --checks local-order,white-noise` asks the checks that are named, `sgverify list checks` lists them.

The planted bugs are those of the [kill matrix](../reports/power/kill_matrix.md), where each of {planted} bugs in schemes and in
running code is tried on every check: all are refuted by some check, and the numbers say by which. Bugs in sgverify's own sampler
are refuted by its own tests (`tests/self_checks`), which are no part of a verdict. Checks of something else, such as a density or
an assumption, have their planted bugs in their own tests."""


def checks_page() -> str:
    """Every check, by the question that its answer is printed under."""
    stored = json.loads((ROOT / "reports" / "power" / "kill_matrix.json").read_text(encoding="utf-8"))
    matrix = decode_kill_matrix(stored)
    if matrix.survivors:
        raise ValueError(f"the page says that every planted bug is refuted; {len(matrix.survivors)} survive")
    parts = [OPENING.format(planted=len(matrix.mutants))]
    for matter, question in MATTERS.items():
        checks = [check for check in CHECKS.values() if check.matter == matter]
        parts += [f"## {question}", _summary(checks, matrix)]
        for check in checks:
            parts += _check(check, matrix)
    return page(*parts)


def refuted(matrix: KillMatrix, check: str) -> Counter[str]:
    """How many planted bugs a check refutes, each by the strongest of its methods."""
    found = Counter[str]()
    for mutant in matrix.mutants:
        methods = [trial.method for trial in mutant.kills if trial.check == check]
        if methods:
            found[methods[0]] += 1
    return found


def _check(check: Check, matrix: KillMatrix) -> list[str]:
    said = check.description
    kills = refuted(matrix, check.name)
    by = ", ".join(f"{kills[method]} by {method}" for method in METHODS if kills[method])
    cards = [claim.id for claim in claims().values() if check.name in claim.quantities]
    linked = ", ".join(f"[{id}](claims.md#{id.replace('/', '-')})" for id in cards)
    return [
        f"### {check.name}",
        *(plain(text) for text in (said.summary, *said.details)),
        f"**Cannot see**: {plain(said.cannot_see)}",
        f"Judges {linked}. Source: {plain(check.source)}. Planted bugs that it refutes: {by or 'none'}.",
    ]


def _summary(checks: list[Check], matrix: KillMatrix) -> str:
    rows = [
        [
            f"[{check.name}](#{check.name})",
            plain(check.description.summary),
            str(refuted(matrix, check.name).total()),
        ]
        for check in checks
    ]
    return table(["check", "what it settles", "planted bugs refuted"], rows)
