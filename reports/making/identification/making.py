"""Ask `identify` of every scheme in random conventions and of every scheme with one factor off; write what came of it."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from reports.making.identification.slightly_wrong import slightly_wrong
from reports.making.identification.spelled import DATA, drawn, recovered, spelled
from sgverify.advice.identification.identifying import identify
from sgverify.keeping.files import json_text, write_atomically
from sgverify.schemes import find_scheme
from sgverify.schemes.catalogue import NAMED

FOLDER = "identification"

MOST_EDITS = 16
"""The most edits of each formula, evenly spaced."""

EACH = 15
"""The random conventions of each scheme."""


def make(reports: Path) -> None:
    """Write recovery.json and recovery.md."""
    document = {
        "recovered": [_recovered(name) for name in torch_schemes()],
        "slightly_wrong": [_wrong(name) for name in NAMED],
    }
    write_atomically(reports / FOLDER / "recovery.json", json_text(document))
    render(reports)


def render(reports: Path) -> None:
    """Write recovery.md from the stored numbers."""
    stored = json.loads((reports / FOLDER / "recovery.json").read_text(encoding="utf-8"))
    write_atomically(reports / FOLDER / "recovery.md", _page(stored))


def torch_schemes() -> tuple[str, ...]:
    """The schemes that torch code can be: a black box is given no metric."""
    return tuple(name for name, found in NAMED.items() if not found.dynamics.riemannian)


def _recovered(name: str) -> dict[str, Any]:
    random, good, missed = Random(name), 0, []
    started = time.process_time()
    for _ in range(EACH):
        spelling, (h, D, T) = drawn(name, random)
        found = identify(spelled(name, spelling), schedule={"step": h}, friction=D, temperature=T, **DATA)
        if recovered(found, name, spelling, (h, D, T)):
            good += 1
        else:
            missed.append(f"{spelling.text} at h={h}, D={D}, T={T}: {found.reason}")
    seconds = round((time.process_time() - started) / EACH, 2)
    print(f"{name}: {good} of {EACH} recovered, {seconds} s each", file=sys.stderr, flush=True)
    return {
        "scheme": name,
        "tried": EACH,
        "recovered": good,
        "missed": missed,
        "cpu_seconds_each": seconds,
    }


def _wrong(name: str) -> dict[str, Any]:
    outcomes: Counter[str] = Counter()
    taken = []
    edits = list(slightly_wrong(find_scheme(name)))
    for place in sorted({round(k * (len(edits) - 1) / (MOST_EDITS - 1)) for k in range(MOST_EDITS)}):
        label, wrong = edits[place]
        found = identify(wrong)
        outcomes[found.outcome] += 1
        if found.identified:
            taken.append(f"{label}: {'; '.join(found.convention)}")
    print(f"{name}: {dict(outcomes)}", file=sys.stderr, flush=True)
    return {
        "scheme": name,
        "tried": outcomes.total(),
        "identified": outcomes["identified"],
        "other_numbers": outcomes["other-numbers"],
        "none": outcomes["none"],
        "undecided": outcomes["undecided"],
        "taken": taken,
    }


def _page(stored: dict[str, Any]) -> str:
    tried = sum(row["tried"] for row in stored["recovered"])
    good = sum(row["recovered"] for row in stored["recovered"])
    wrong = sum(row["tried"] for row in stored["slightly_wrong"])
    taken = sum(row["identified"] for row in stored["slightly_wrong"])
    lines = [
        "# What `sgverify identify` recovers",
        "",
        f"Catalogue schemes as torch code in random conventions: {good} of {tried} recovered, with h, D and T to 1e-7.",
        "The handed h is the step size, a learning rate or epsilon; the momentum has a mass and a unit of its own, the gradient",
        "a factor N/n, and in half of the cases the draws are mixed by a rotation. Torch code is given no metric: Riemannian",
        "schemes are asked as definitions alone.",
        "",
        "| scheme | recovered | CPU seconds each |",
        "|---|---|---|",
    ]
    for row in stored["recovered"]:
        lines.append(
            f"| {row['scheme']} | {row['recovered']} of {row['tried']} | {row['cpu_seconds_each']:.2f} |"
        )
    lines += [
        "",
        *(
            f"- {row['scheme']}, not recovered: {text}"
            for row in stored["recovered"]
            for text in row["missed"]
        ),
    ]
    lines += [
        "",
        f"Values that a scheme's formula computes, one at a time multiplied by 1.01: {taken} of {wrong} are identified at the",
        "handed numbers, and listed below with their convention. Other numbers: the edit is another temperature, friction or step",
        "size of the scheme, named so. Schemes that are not in the table were not asked.",
        "",
        "| scheme | edits | identified | other numbers | none | undecided |",
        "|---|---|---|---|---|---|",
    ]
    for row in stored["slightly_wrong"]:
        lines.append(
            f"| {row['scheme']} | {row['tried']} | {row['identified']} | {row['other_numbers']} | {row['none']} | "
            f"{row['undecided']} |"
        )
    lines += [
        "",
        *(
            f"- {row['scheme']}, identified: {text}"
            for row in stored["slightly_wrong"]
            for text in row["taken"]
        ),
    ]
    return "\n".join(lines).rstrip() + "\n"


__all__ = ["make", "render", "torch_schemes"]
