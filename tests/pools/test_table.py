"""The table of the pools: its bars, what it stores, what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pools.entries import entries
from tests.pools.running import Judged
from tests.pools.table import faults, page, read, share, write
from tests.tables import each_row


def rows(pool: str, *exits: int) -> list[Judged]:
    return [
        Judged(pool, "family", f"entry{k}", "default", code, "check", "reason", 1.0)
        for k, code in enumerate(exits)
    ]


def test_shares_are_of_what_is_wanted() -> None:
    assert share(rows("right", 0, 0, 3, 0), "right") == 0.75
    assert share(rows("wrong", 1, 1, 3, 0), "wrong") == 0.5


@each_row(
    ("pool", "exits", "told"),
    [
        ("right", [0] * 99 + [1], "violates"),
        ("right", [0] * 99 + [4], "crashed"),
        ("right", [0] * 89 + [3] * 11, "89.0% passes"),
        ("right", [0] * 89 + [2] * 11, "89.0% passes"),
        ("wrong", [1] * 99 + [0], "passes"),
        ("wrong", [1] * 79 + [3] * 21, "79.0% violates"),
    ],
)
def test_what_falls_short_is_told(pool: str, exits: list[int], told: str) -> None:
    found = faults(rows(pool, *exits))
    assert len(found) == 1
    assert told in found[0]


@pytest.mark.parametrize(("pool", "exits"), [("right", [0] * 90 + [3] * 10), ("wrong", [1] * 80 + [3] * 20)])
def test_the_bars_can_be_kept(pool: str, exits: list[int]) -> None:
    assert faults(rows(pool, *exits)) == []


def test_a_wrong_verdict_under_another_setting_counts() -> None:
    row = Judged("right", "family", "entry0", "T 2", 1, "check", "reason", 1.0)
    assert faults([*rows("right", 0), row]) != []


def test_rows_survive_the_file_and_those_of_lost_entries_do_not(tmp_path: Path) -> None:
    entry = entries("right")[0]
    kept = Judged(entry.pool, entry.family, entry.name, "default", 0, "", "", 1.5)
    write(tmp_path / "table.json", [kept, *rows("right", 0)])
    assert read(tmp_path / "table.json") == [kept]


def test_the_page_has_a_row_for_every_entry() -> None:
    shown = page(rows("right", 0, 3, 0), "What\nthis is.")
    assert "What this is." in shown
    assert "66.7% passes" in shown
    assert shown.count("family:entry") == 3
