"""The verdicts of `verify` on the pools of right and wrong steps. Writes power/pools.json and power/pools.md.

`python -m reports pools` judges every entry of `tests.pools` that is not in the table yet, `python -m
reports.making.pools right` those of one pool, `--again` those that are as well, `--only TEXT` those with TEXT in their names.
Every right step is published and correct, every wrong one has a bug: a right one that violates and a wrong one that passes are
errors of the tool. A run can be cut anywhere, and goes on where it ended; `--minutes 5` ends one early.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sgverify.keeping.files import write_atomically
from tests.pools.entries import POOLS, entries
from tests.pools.running import SECONDS, Judged, judge_apart, settings_of
from tests.pools.table import faults, page, read, write

FOLDER = Path(__file__).parents[1] / "power"


def render(folder: Path) -> None:
    """Write FOLDER/power/pools.md from the table beside it."""
    _write_page(folder / "power", list(read(folder / "power" / "pools.json")))


def main(arguments: Sequence[str] | None = None) -> None:
    """Go on with a run, and write what is known of all entries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pool", nargs="*", metavar="POOL", help=f"of {', '.join(POOLS)}; by default all")
    parser.add_argument("--only", default="", metavar="TEXT", help="entries with this in their names")
    parser.add_argument(
        "--setting", metavar="NAME", help="this setting alone; by default those of each entry"
    )
    parser.add_argument("--again", action="store_true", help="those that are in the table as well")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="processor time of an entry")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="time after which to stop")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    chosen = parser.parse_args(arguments)
    path = chosen.folder / "pools.json"
    rows = {(row.pool, row.family, row.name, row.setting): row for row in read(path)}
    tasks = [
        (entry, setting)
        for pool in chosen.pool or POOLS
        for entry in entries(pool)
        for setting in ([chosen.setting] if chosen.setting else settings_of(entry))
        if chosen.only in f"{entry.family}:{entry.name}"
    ]
    # All default settings first: they are what the shares are of. Family by turns, so that a run that is cut has some of each.
    seen: Counter[tuple[str, str, str]] = Counter()
    turns = {}
    for entry, setting in tasks:
        turns[id(entry), setting] = seen[entry.pool, entry.family, setting]
        seen[entry.pool, entry.family, setting] += 1
    tasks.sort(key=lambda task: (task[1] != "default", turns[id(task[0]), task[1]]))
    began = time.monotonic()
    for entry, setting in tasks:
        key = (entry.pool, entry.family, entry.name, setting)
        if key in rows and not chosen.again:
            continue
        if time.monotonic() - began > 60 * chosen.minutes:
            break
        rows[key] = judge_apart(entry, setting, chosen.seconds)
        row = rows[key]
        print(
            f"{row.outcome:9} {row.seconds:6.1f} s  {entry.pool} {entry.family}:{entry.name} ({setting}) {row.check}",
            flush=True,
        )
        write(path, rows.values())
    write(path, rows.values())
    _write_page(chosen.folder, list(rows.values()))
    for fault in faults(list(rows.values())):
        print(fault)


def _write_page(folder: Path, rows: Sequence[Judged]) -> None:
    write_atomically(folder / "pools.md", page(rows, str(__doc__).split("\n\n", 1)[1]))


if __name__ == "__main__":
    main()
