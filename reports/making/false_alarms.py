"""Correct schemes under generated configurations: which checks raise an alarm. Writes power/false_alarms.json and .md.

`python -m reports.making.false_alarms exact 2000` judges 2,000 pairs of scheme and configuration by every check with a proof or an
exact method, `sampled 300` another 300 by everything that samples and by the self-checks of `tests`. A run goes on where the last
one ended (`exact 2000` after `exact 500` makes 1,500 more), so that it can be cut anywhere; `--minutes 5` ends one early, and
`exact 2000 --first 1000` is a piece of its own, for another core. Every scheme is correct by construction (the catalogue, words
over exact flows, schemes with memory), so every `violates` is a false alarm, save where a printed claim fails by an error of its
own (`refuted`). An error that is none of the user's is an alarm as well.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from pathlib import Path
from typing import Any

from reports.making.generated_cases import SETTINGS, complete, judged
from reports.making.sources import sources
from sgverify.campaigns.engines import LocalProcesses, Lost
from sgverify.campaigns.tasks import Task, answered
from sgverify.keeping.files import write_atomically
from sgverify.keeping.store import Store

FOLDER = Path(__file__).parents[1] / "power"

PIECES = (("exact", 0, 1000), ("exact", 1000, 2000), ("sampled", 0, 150), ("sampled", 150, 300))
"""The committed pieces: kind, first case and the number after the last."""


def write_piece(
    kind: str, first: int, end: int, folder: Path, *, minutes: float = math.inf, again: bool = False
) -> None:
    """Judge the cases from `first` to `end`, on from where an earlier run ended unless `again`, and write piece and page."""
    path = folder / f"false_alarms_{kind}_{first}.json"
    known: dict[str, Any] = {"cases": 0, "seconds": 0.0}
    if path.exists() and not again:
        known = json.loads(path.read_text())
    counts: Counter[str] = Counter(known.get("counts", {}))
    of: Counter[str] = Counter(known.get("of", {}))
    alarms = list(known.get("alarms", []))
    number, began, seconds = first + known["cases"], time.process_time(), known["seconds"]
    store, here = Store.open(), LocalProcesses(1)

    def keep() -> None:
        _write(path, number - first, seconds, counts, of, alarms)

    while number < end and time.process_time() - began < 60 * minutes:
        ((_, found),) = answered([_task(kind, number)], here, store, fresh=again)
        if isinstance(found, Lost):
            raise SystemExit(f"case {number}: {found.reason}")
        seconds += found["seconds"]
        counts.update(found["counts"])
        of.update(found["of"])
        alarms += found["alarms"]
        number += 1
        if number % 5 == 0:
            keep()
    keep()
    write_atomically(folder / "false_alarms.md", page(folder))


def _task(kind: str, number: int) -> Task:
    """The task that judges one case, which is drawn by its number."""
    return Task(
        kind="false-alarms",
        question={"kind": kind, "case": number},
        title=f"{kind} {number}",
        function=judged,
        arguments=(kind, number),
        files=sources("reports/making/generated_cases.py"),
        kept=complete,
    )


def render(folder: Path) -> None:
    """Write FOLDER/power/false_alarms.md from the pieces beside it."""
    write_atomically(folder / "power" / "false_alarms.md", page(folder / "power"))


def main() -> None:
    """Go on with a run, and write what is known of all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(SETTINGS))
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0, help="the first case of a piece")
    parser.add_argument("--minutes", type=float, default=math.inf, help="processor time after which to stop")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    chosen = parser.parse_args()
    write_piece(chosen.kind, chosen.first, chosen.count, chosen.folder, minutes=chosen.minutes)


def _write(
    path: Path, number: int, seconds: float, counts: Counter[str], of: Counter[str], alarms: list[Any]
) -> None:
    tree = {"cases": number, "seconds": round(seconds, 1), "counts": counts, "of": of, "alarms": alarms}
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, json.dumps(tree, indent=1, sort_keys=True) + "\n")


def page(folder: Path) -> str:
    """The table of every kind of run that was made."""
    lines = ["# Alarms that correct schemes raise", "", *_wrapped(str(__doc__)), ""]
    for kind in SETTINGS:
        pieces = [json.loads(path.read_text()) for path in sorted(folder.glob(f"false_alarms_{kind}_*.json"))]
        if pieces:
            lines += _section(kind, _together(pieces))
    return "\n".join(lines)


def _together(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    counts, of = (sum((Counter(piece[name]) for piece in pieces), Counter()) for name in ("counts", "of"))
    alarms = [alarm for piece in pieces for alarm in piece["alarms"]]
    cases_, seconds = (sum(piece[name] for piece in pieces) for name in ("cases", "seconds"))
    return {"cases": cases_, "seconds": seconds, "counts": counts, "of": of, "alarms": alarms}


def _wrapped(text: str) -> list[str]:
    return [" ".join(text.split("\n\n", 1)[1].split())]


def _section(kind: str, known: dict[str, Any]) -> list[str]:
    table: dict[str, Counter[str]] = {}
    for name, number in known["counts"].items():
        check, _, outcome = name.partition(": ")
        table.setdefault(check, Counter())[outcome] += number
    columns = ["conforms", "inconclusive", "refuted as printed", "not-applicable", "violates"]
    columns += sorted({name for row in table.values() for name in row} - set(columns))
    cases_, alarms = known["cases"], known["alarms"]
    lines = [
        f"## {kind}: {cases_} cases, {len(alarms)} alarms",
        "",
        f"{known['seconds'] / 60:.1f} minutes of processor time. Of each case the checks are asked for every claim that speaks of "
        "it; pieces of evidence by check and outcome:",
        "",
        f"| check | {' | '.join(columns)} |",
        "|---" * (len(columns) + 1) + "|",
    ]
    lines += [f"| {c} | {' | '.join(str(table[c][name]) for name in columns)} |" for c in sorted(table)]
    lines += ["", f"What the cases are, of {cases_}: "]
    lines[-1] += ", ".join(f"{name} {number}" for name, number in sorted(known["of"].items())) + "."
    for alarm in alarms:
        lines += ["", f"- case {alarm['case']}, {alarm['claim']}, {alarm['check']}: {alarm['reason']}"]
        lines += ["", f"      {alarm['replay']}"]
    return [*lines, ""]


if __name__ == "__main__":
    main()
