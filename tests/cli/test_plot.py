"""`--plot`, `--minimise`, and the rows of a regression file from a shell."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Call

WRONG = ("verify", "mine.py:wrong", "--set", "temperature=3", "--set", "start=1.5")


@pytest.mark.power  # 0.8 s
def test_what_violates_is_drawn_before_the_rest(call: Call, tmp_path: Path) -> None:
    answer = call(
        *WRONG, "--checks", "stationary-bias,sgverify/stated-order", "--plot", "a.svg", "--json", "e.json"
    )
    assert answer.code == 1
    assert answer.err == "plot of chen2015/theorem-4 (stationary-bias), fail: a.svg\n"
    assert "found: h⁰" in (tmp_path / "a.svg").read_text()
    again = call("replay", "e.json", "--run-code", "--plot", "b.svg")
    assert again.code == 1 and (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_rate_that_conforms_is_drawn_too(call: Call, tmp_path: Path) -> None:
    answer = call("rate", "mine.py:aboba", "--quantity", "stationary-bias", "--plot", "a.png", "--json", "-")
    assert answer.code == 0 and answer.evidence[0]["verdict"] == "conforms"
    assert "pass: a.png" in answer.err and (tmp_path / "a.png").stat().st_size > 10_000


@pytest.mark.usefixtures("undiagnosed")
def test_where_there_is_no_rate_no_file_is_made(call: Call, tmp_path: Path) -> None:
    answer = call("verify", "mine.py:wrong", "--checks", "sgverify/stated-order", "--plot", "a.svg")
    assert answer.code == 1 and answer.err.startswith("no plot: ")
    assert not (tmp_path / "a.svg").exists()


DRAWN = [
    ("width", "gaussian-mean", "sgld-euler", "--step", "1e-4"),
    ("bound", "sgld-euler", "--m", "1", "--L", "10", "--step", "0.05"),
    ("design", "kinetic", "--letters", "ABO", "--show", "2"),
]


@pytest.mark.parametrize("words", DRAWN, ids=lambda words: words[0])
def test_amounts_are_drawn_as_bars(call: Call, words: tuple[str, ...], tmp_path: Path) -> None:
    answer = call(*words, "--plot", "a.pdf", "--json", "-")
    assert (answer.code, answer.err.splitlines()[-1]) == (0, "plot: a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    refused = call(*words, "--plot", "a.jpg")
    assert (refused.code, refused.out) == (
        2,
        "",
    ) and "expected a file that ends in .svg or .png or .pdf" in refused.err


@pytest.mark.parametrize("path", ["a.gif", "a", "no/a.svg", ""])
def test_a_picture_that_cannot_be_written_is_refused_before_the_work(call: Call, path: str) -> None:
    answer = call("verify", "mine.py:wrong", "--plot", path)
    assert answer.code == 2 and "--plot" in answer.err and not answer.out


@pytest.mark.power  # 2.3 s
def test_the_simplest_configuration_is_a_command(call: Call) -> None:
    answer = call(*WRONG, "--checks", "stationary-bias", "--minimise")
    (line,) = [line for line in answer.out.splitlines() if line.startswith("minimal (")]
    command = line.partition("): ")[2]
    assert command == "sgverify verify mine.py:wrong --checks chen2015/theorem-4"
    assert call(*shlex.split(command)[1:]).code == answer.code == 1
    quiet = call(*WRONG, "--checks", "stationary-bias", "--minimise", "--json", "-")
    assert command in quiet.err and quiet.evidence
    assert (
        "nothing to minimise" in call("verify", "mine.py:aboba", "--checks", "local-order", "--minimise").err
    )


@pytest.mark.usefixtures("undiagnosed")
def test_defaults_that_violate_already_are_called_so(call: Call) -> None:
    answer = call("verify", "mine.py:wrong", "--checks", "stationary-bias", "--minimise")
    told = "minimal: the defaults violate already: sgverify verify mine.py:wrong --checks chen2015/theorem-4"
    assert answer.out.splitlines()[-1] == told


def test_a_file_without_rows_is_called_so(call: Call, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("")
    answer = call("replay", "rows.jsonl", "--run-code")
    assert answer.code == 2 and "rows.jsonl" in answer.err


def test_a_file_of_rows_is_judged_row_by_row(call: Call, tmp_path: Path) -> None:
    row = (
        '{"schema": "sgverify/regression/1", "scheme": "../mine.py:NAME", "claim": "sgverify/stated-order", '
        '"check": "local-order", "configuration": {"friction": 3.0}, "reason": "it was so"}\n'
    )
    (tmp_path / "tests").mkdir()
    file = tmp_path / "tests" / "rows.jsonl"
    file.write_text(row.replace("NAME", "aboba") + row.replace("NAME", "wrong"))
    answer = call("replay", "tests/rows.jsonl", "--run-code", "--json", "-")
    assert answer.code == 1
    assert [item["verdict"] for item in answer.evidence] == ["conforms", "violates"]
    first, second = answer.err.splitlines()
    assert (
        first.startswith("tests/rows.jsonl:1: fixed, may be removed: ../mine.py:aboba")
        and "now conforms" in first
    )
    assert second.startswith("tests/rows.jsonl:2: still violates: ../mine.py:wrong")
    file.write_text(row.replace("NAME", "aboba"))
    assert call("replay", "tests/rows.jsonl", "--run-code").code == 0
    file.write_text(row.replace("NAME", "gone"))
    answer = call("replay", "tests/rows.jsonl", "--run-code")
    assert answer.code == 2 and answer.err.startswith("error: tests/rows.jsonl:1: ") and "gone" in answer.err
    assert call("replay", "none.jsonl", "--run-code").code == 2
