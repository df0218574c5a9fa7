"""The glossary and the code: every place that it names exists, and the words that it retires name nothing."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TERMS, _, RETIRED = TEXT.partition("## Words that are no longer used")
PLACE = re.compile(r"`((?:sgverify|reports|tests)[\w.]*):(\w+)`")
PLACES = PLACE.findall(TERMS)


SOURCES = {
    str(file.relative_to(ROOT)): file.read_text(encoding="utf-8")
    for file in sorted((ROOT / "sgverify").rglob("*.py"))
}


def identifiers(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name))
            ):
                yield name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield from [*name.split("."), *([other] if other else [])]


def test_every_term_has_one_entry_and_a_place_in_the_code() -> None:
    entries = re.findall(r"^- \*\*(.+?)\*\*(.*(?:\n  .*)*)", TERMS, re.MULTILINE)
    assert len(entries) > 40
    assert [term for term, count in Counter(term for term, _ in entries).items() if count > 1] == []
    assert [term for term, text in entries if "`sgverify" not in text and not PLACE.search(text)] == []


@each_row(("module", "name"), sorted(set(PLACES)))
def test_the_place_of_a_term_exists(module: str, name: str) -> None:
    assert hasattr(import_module(module), name)


def test_retired_words_name_nothing() -> None:
    words = {
        word
        for row in re.findall(r"^\| (`.*?) \|", RETIRED, re.MULTILINE)
        for word in re.findall(r"`(\w+)`", row)
    }
    assert {"warmth", "felt", "Book", "around", "settled"} <= words
    spoken = re.compile(rf"\b({'|'.join(words)})\b")
    named = {file: words & {*identifiers(text)} for file, text in SOURCES.items() if spoken.search(text)}
    assert {file: found for file, found in named.items() if found} == {}
    assert [file for file in SOURCES if words & {*Path(file).with_suffix("").parts}] == []


def test_no_two_public_classes_share_a_name() -> None:
    classes = Counter(
        name for text in SOURCES.values() for name in re.findall(r"^class ([A-Za-z]\w*)", text, re.MULTILINE)
    )
    assert [name for name, count in classes.items() if count > 1] == []


SPOKEN = ("checks", "rates", "verdict", "report", "evidence", "advice", "exact/answers")
"""The rooms whose texts are the sentences of findings."""


def sentences(source: str) -> Iterator[str]:
    """The texts of a module but for its docstrings."""
    tree = ast.parse(source)
    remarks = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in remarks:
            yield node.value


def test_no_sentence_of_a_finding_holds_a_retired_word() -> None:
    retired = re.compile(r"\b(warmth|felt|(?:un)?settled|rungs?)\b")
    spoken_of = re.compile(r"warmth|felt|settled|rung")
    rooms = tuple(f"sgverify/{room}/" for room in SPOKEN)
    spoken = {
        file: [text for text in sentences(source) if retired.search(text)] if spoken_of.search(source) else []
        for file, source in SOURCES.items()
        if file.startswith(rooms)
    }
    assert len(spoken) > 100
    assert {file: found for file, found in spoken.items() if found} == {}
    cards = [*(ROOT / "sgverify" / "papers").rglob("*.toml"), *(ROOT / "sgverify" / "report").rglob("*.html")]
    assert [card.name for card in cards if re.search(r"\brungs?\b", card.read_text(encoding="utf-8"))] == []
