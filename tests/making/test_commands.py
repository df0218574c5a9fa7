"""`python -m reports power` and `calibration`: with options of their own they are commands, without they are parts."""

from __future__ import annotations

import pytest

from reports import __main__
from reports.making import commands, parts
from tests.making.conftest import Call


@pytest.mark.parametrize(
    "words",
    [
        ("power", "sgld-noise-by-h"),
        ("power", "--family", "noisy gradients", "--first"),
        ("power", "--workers", "1", "--out", "mine"),
        ("power", "--store", "kept.sqlite"),
        ("power", "--help"),
        ("power", "nosuch"),
        ("calibration", "--quick"),
        ("calibration", "--json", "-"),
        ("calibration", "power", "-h"),
    ],
)
def test_words_that_no_part_has_are_those_of_the_command(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[list[str]] = []
    monkeypatch.setattr(commands, "run", lambda arguments: given.append(arguments) or 3)
    assert __main__.main(list(words)) == 3
    assert given == [list(words)]


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (("power",), ["power"]),
        (("power", "--workers", "2"), ["power"]),
        (("calibration", "power"), ["calibration", "power"]),
    ],
)
def test_without_them_the_committed_files_are_made(
    words: tuple[str, ...], made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[list[str]] = []
    monkeypatch.setattr(parts, "make", lambda names, choice: found.append(names))
    assert __main__.main(list(words)) == 0
    assert found == [made]


def test_the_command_that_made_a_document_is_in_it(call: Call) -> None:
    words = ("power", "sgld-noise-by-h", "--workers", "1", "--first", "--json", "-")
    answer = call(*words)
    # On a slow machine progress is told.
    assert answer.code == 0 and all("(after " in line for line in answer.err.splitlines())
    assert answer.document["provenance"]["command"] == " ".join(("python -m reports", *words))


def test_a_usage_error_names_the_program(call: Call) -> None:
    answer = call("power", "--colour")
    assert answer.code == 2 and "see `python -m reports power --help`" in answer.err
