"""The table of what came out of the pools: stored, compared with the bars, and printed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from sgverify.keeping.files import json_text, write_atomically
from tests.pools.entries import POOLS, entries
from tests.pools.running import OUTCOMES, Judged

WANTED = {"right": ("passes", 0.9), "wrong": ("violates", 0.8)}
"""The required verdict of a pool's entries, and the least share of entries that must get it."""

WRONG_WAY = {"right": "violates", "wrong": "passes"}
"""What may not come out of a single entry, under any setting."""


def read(path: Path) -> list[Judged]:
    """The stored rows; none where nothing is stored. Rows of entries that are gone are left out."""
    if not path.exists():
        return []
    known = {(entry.pool, entry.family, entry.name) for pool in POOLS for entry in entries(pool)}
    rows = [Judged(**row) for row in json.loads(path.read_text(encoding="utf-8"))["judged"]]
    return [row for row in rows if (row.pool, row.family, row.name) in known]


def write(path: Path, rows: Iterable[Judged]) -> None:
    """Store the rows, by pool, family, name and setting."""
    path.parent.mkdir(exist_ok=True)
    tree = {"judged": [asdict(row) for row in sorted(rows, key=_place)]}
    write_atomically(path, json_text(tree))


def share(rows: Iterable[Judged], pool: str) -> float:
    """The share of a pool's entries of which comes out what is wanted, under the default settings."""
    found = [row.outcome == WANTED[pool][0] for row in rows if row.pool == pool and row.setting == "default"]
    return sum(found) / len(found) if found else 0.0


def faults(rows: Sequence[Judged]) -> list[str]:
    """One sentence for each reason why the rows miss the bars: crashes, opposite verdicts, and shares that are too small."""
    found = [
        f"{row.pool} {row.family}:{row.name} ({row.setting}) {row.outcome}: {row.check}: {row.reason}"
        for row in rows
        if row.outcome in ("crashed", WRONG_WAY[row.pool])
    ]
    for pool in dict.fromkeys(row.pool for row in rows):
        outcome, least = WANTED[pool]
        if share(rows, pool) < least:
            found.append(
                f"of the {pool} ones {share(rows, pool):.1%} {outcome}; expected at least {least:.0%}"
            )
    return found


def page(rows: Sequence[Judged], intro: str) -> str:
    """Markdown: a section for each pool, its shares, a row for each family and setting, and what did not come out as wanted."""
    lines = ["# Pools of right and wrong steps", "", " ".join(intro.split()), ""]
    for pool in POOLS:
        own = [row for row in rows if row.pool == pool]
        if own:
            lines += _section(pool, own)
    return "\n".join(lines)


def _section(pool: str, rows: Sequence[Judged]) -> list[str]:
    names = list(OUTCOMES.values())
    default = [row for row in rows if row.setting == "default"]
    counts = Counter(row.outcome for row in default)
    shown = ", ".join(f"{name} {counts[name]}" for name in names if counts[name])
    lines = [
        f"## {pool}: {len(default)} entries, {share(rows, pool):.1%} {WANTED[pool][0]}",
        "",
        f"Judged so far: {len(default)} of the pool's {len(entries(pool))} entries under the default settings: {shown}. "
        f"{sum(row.seconds for row in rows) / 60:.1f} minutes of processor time in all.",
        "",
        f"| family | setting | {' | '.join(names)} |",
        "|---" * (len(names) + 2) + "|",
    ]
    groups = sorted(
        {(row.family, row.setting) for row in rows},
        key=lambda group: (group[0], group[1] != "default", group[1]),
    )
    for family, setting in groups:
        own = Counter(row.outcome for row in rows if (row.family, row.setting) == (family, setting))
        lines.append(f"| {family} | {setting} | {' | '.join(str(own[name] or '') for name in names)} |")
    lines += ["", "| entry | setting | exit | decided by | seconds | reason |", "|---|---|---|---|---|---|"]
    for row in sorted(rows, key=_place):
        reason = " ".join(row.reason.split()).replace("|", "\\|")
        short = reason if len(reason) <= _LONGEST else reason[:_LONGEST] + " ..."
        lines.append(
            f"| {row.family}:{row.name} | {row.setting} | {row.exit} {row.outcome} | {row.check} | {row.seconds:g} | {short} |"
        )
    return [*lines, ""]


_LONGEST = 160
"""Characters of a reason in the table; the whole of it is in the JSON beside it."""


def _place(row: Judged) -> tuple[int, str, str, bool, str]:
    return POOLS.index(row.pool), row.family, row.name, row.setting != "default", row.setting
