"""The pools themselves: the committed table covers them and keeps the bars, and a few entries are judged anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgverify.checks import verify
from tests.pools.entries import POOLS, Entry, entries
from tests.pools.running import judge_apart, settings_of
from tests.pools.table import WANTED, faults, read

TABLE = Path(__file__).resolve().parents[2] / "reports" / "power" / "pools.json"

FEWEST = {"right": 100, "wrong": 150}
"""Entries of a pool, at least."""


@pytest.mark.parametrize("pool", POOLS)
def test_the_committed_table_has_every_entry(pool: str) -> None:
    rows = [row for row in read(TABLE) if (row.pool, row.setting) == (pool, "default")]
    assert {(row.family, row.name) for row in rows} == {(entry.family, entry.name) for entry in entries(pool)}


def test_the_committed_table_keeps_the_bars() -> None:
    assert faults(read(TABLE)) == []


@pytest.mark.parametrize("pool", POOLS)
def test_a_pool_is_large(pool: str) -> None:
    assert len(entries(pool)) >= FEWEST[pool]


CHEAP = {"vilmart_kernel", "sk_rock_two"}


@pytest.mark.parametrize(
    "entry", [e for e in entries("right") if e.name in CHEAP], ids=lambda entry: entry.name
)
def test_the_order_that_an_entry_states_is_proved(entry: Entry) -> None:
    (found,) = verify(entry.step, checks=["local-order"])
    assert (found.verdict, found.method) == ("conforms", "proof")
    # Stated too high, the same proof refutes it.
    (refuted,) = verify(entry.step.named("more", order=(entry.step.order or 0) + 1), checks=["local-order"])
    assert refuted.verdict == "violates"


@pytest.mark.power
@pytest.mark.parametrize("pool", POOLS)
def test_no_entry_comes_out_the_wrong_way_and_most_as_wanted(pool: str) -> None:
    rows = [judge_apart(entry, setting) for entry in entries(pool) for setting in settings_of(entry)]
    assert {row.name for row in rows} == {entry.name for entry in entries(pool)}
    assert faults(rows) == [], WANTED[pool]
