"""CONTRIBUTING.md, README.md and the pages of docs/ name places that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from docs.making import blocks
from sgverify.claims import claims
from tests.mutants.registry import find_mutant
from tests.tables import each_row
from tests.test_floors import FLOORS

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("CONTRIBUTING.md", *blocks.DOCUMENTS)

FOLDERS = "sgverify|tests|reports|docs|notebooks|benchmarks|[.]ci"
PLACEHOLDER = re.compile(r"\b[A-Z][A-Z_]*\b")
READERS_OWN = frozenset(
    {
        *("mine.py", "theirs.py", "banana.py", "file.py", "model.py", "test_mine.py"),
        *("at_rest.py", "cards/my-rest/at-rest.toml", "cards/PREFIX/ID.toml", "errata/printed.toml"),
    }
)
"""Files that a reader writes, or `sgverify new` for a reader."""

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def missing_paths(text: str) -> Iterator[str]:
    """The paths in a document at which nothing lies; a word in capitals stands for any name."""
    found = re.findall(rf"(?<![\w./~-])(?:{FOLDERS})/[\w./-]*", text)
    found += re.findall(r"`([\w./-]+[.](?:py|toml|txt|md|json))`", text)
    for path in dict.fromkeys(path.rstrip(".") for path in found):
        # A name without a folder may be that of a file in several folders.
        patterns = (
            [PLACEHOLDER.sub("*", path)] if "/" in path else [path, f"sgverify/**/{path}", f"tests/**/{path}"]
        )
        exists = any(place for pattern in patterns for place in ROOT.glob(pattern))
        if not exists and path not in claims() and path not in READERS_OWN:
            yield path


def missing_names(text: str) -> Iterator[str]:
    """The dotted names below `sgverify` in a document that import nothing."""
    for name in re.findall(r"\bsgverify(?:\.\w+)+", text):
        try:
            resolve_name(name)
        except (ImportError, AttributeError):
            yield name


@each_row("document", DOCUMENTS)
def test_every_place_that_is_named_exists(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    assert [*missing_paths(text), *missing_names(text)] == []


@each_row(
    "text",
    [
        "see `sgverify/checks/isolation.py`.",
        "`tests/gradient/` holds",
        "`sgverify/claims/cards/PAPER/ID.toml`",
        "in `isolations.py`",
        "`sgverify.checks.isolation`",
        "`sgverify.testing.assert_sample`",
        "[it](docs/glossaries.md)",
    ],
)
def test_a_place_that_is_not_there_is_found(text: str) -> None:
    assert len([*missing_paths(text), *missing_names(text)]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "`sgverify/papers/PAPER/cards/PREFIX/ID.toml`",
        "`sgverify/stated-order`",
        "`sgverify verify mine.py:name`, `conftest.py`, `pyproject.toml`",
        "`sgverify.samplers.gradients.minibatches:Iid.block`",
    ],
)
def test_placeholders_claims_and_files_of_readers_are_free(text: str) -> None:
    assert [*missing_paths(text), *missing_names(text)] == []


def test_the_floors_are_those_of_the_test() -> None:
    drawn = {}
    for floor, line in re.findall(r"^F(\d(?:[.]\d)?) +(.+)$", CONTRIBUTING, re.MULTILINE):
        names = re.split(r" {6,}", line)[0] if floor == "0" else line
        drawn.update({name: float(floor) for name in re.findall(r"\w+", names) if name in FLOORS})
    assert drawn == {name: floor for name, floor in FLOORS.items() if name not in ("", "__main__")}


def test_the_planted_bug_of_the_page_is_one_of_the_table() -> None:
    text = (ROOT / "docs" / "inside.md").read_text(encoding="utf-8")
    (block,) = (block for block in blocks.blocks(text) if "Mutant(" in block.text)
    names: dict[str, Any] = {}
    exec(compile(block.text, "docs/inside.md", "exec"), names)
    assert names["bug"] == find_mutant(names["bug"].name)
