"""The pools are well-formed: every entry says what it is, where it is from and what it claims."""

from __future__ import annotations

import re

import pytest

from sgverify.errors import UnknownNameError
from sgverify.schemes import TorchStep
from sgverify.schemes.loading import load_step
from tests.pools.entries import POOLS, entries, families

YEAR = re.compile(r"\b(18|19|20)\d\d\b")


def unstated(pool: str) -> list[str]:
    """Entries that do not say what they are; a right one says where it was published as well."""
    found = entries(pool)
    silent = [
        entry.reference for entry in found if not entry.summary.endswith(".") or len(entry.summary) > 140
    ]
    if pool == "right":
        silent += [entry.reference for entry in found if not YEAR.search(entry.summary)]
    return silent


@pytest.mark.parametrize("pool", POOLS)
def test_every_entry_says_what_it_is(pool: str) -> None:
    assert unstated(pool) == []


@pytest.mark.parametrize("pool", POOLS)
def test_names_are_told_apart(pool: str) -> None:
    # What a module imports from another would be counted twice.
    names = [entry.name for entry in entries(pool)]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("pool", POOLS)
def test_no_module_is_empty(pool: str) -> None:
    assert {entry.family for entry in entries(pool)} == set(families(pool))


def test_the_pool_of_wrong_ones_is_torch_code() -> None:
    # Wrong definitions are planted by `tests.mutants`, each against the scheme that it was made of.
    assert all(isinstance(entry.step, TorchStep) for entry in entries("wrong"))


def test_an_entry_is_found_by_its_reference() -> None:
    entry = entries("right")[0]
    assert load_step(entry.reference).name == entry.step.name


def test_an_unknown_pool_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="right"):
        entries("rihgt")
