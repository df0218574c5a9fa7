"""`python -m reports power`."""

from __future__ import annotations

import json

import pytest

from reports.__main__ import main
from tests.mutants.registry import mutants


@pytest.mark.power  # the README's line does the same
def test_it_prints_the_matrix_writes_both_files_and_exits_with_zero(capsys, tmp_path) -> None:
    folder = tmp_path / "power"
    names = ["sgld-noise-by-h", "aboba-friction-of-wrong-sign"]
    assert main(["power", *names, "--workers", "1", "--first", "--out", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "2 of 2 planted bugs killed (2 by proof); no alarms on 2 correct schemes" in shown
    assert all(len(line) <= 120 for line in shown.splitlines())
    document = json.loads((folder / "kill_matrix.json").read_text(encoding="utf-8"))
    assert [item["name"] for item in document["mutants"]] == [name for name in mutants() if name in names]
    assert "| sgld-noise-by-h | local-order (proof) |" in (folder / "kill_matrix.md").read_text(
        encoding="utf-8"
    )


def test_json_alone_goes_to_stdout(capsys) -> None:
    assert main(["power", "sgld-noise-by-h", "--workers", "1", "--first", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "sgverify/mutants/2"
    assert document["mutants"][0]["cheapest"]["check"] == "local-order"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["sgld-noise-by-"], "did you mean 'sgld-noise-by-h'"),
        (["--family", "averges"], "did you mean 'averages'"),
        (["--json", ""], "expected a file"),
        (["--family", ""], "unknown family ''"),
        (["sgld-noise-by-h", "--out", "/dev/null/x"], "/dev/null"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(capsys, words: list[str], problem: str) -> None:
    assert main(["power", *words]) == 2
    assert problem in capsys.readouterr().err


def test_a_name_like_no_other_is_told_three_others(capsys) -> None:
    assert main(["power", "nosuch"]) == 2
    told = capsys.readouterr().err
    assert "the nearest of" in told and sum(name in told for name in mutants()) <= 4 and len(told) < 300


def test_a_family_is_known_by_a_part_of_its_name_in_either_case() -> None:
    from reports.making.power.judging import chosen

    assert chosen(family="euler") == chosen(family="Euler schemes") != ()


def test_a_survivor_makes_it_exit_with_one(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from reports.making.power import judging as matrix

    harmless = replace(mutants()["sgld-noise-by-h"], now="sqrt(2*h*T)*z1")
    monkeypatch.setattr(matrix, "mutants", lambda: {harmless.name: harmless})
    monkeypatch.setattr(matrix, "find_mutant", lambda name: harmless)
    assert main(["power", harmless.name, "--workers", "1"]) == 1
    assert "SURVIVES" in capsys.readouterr().out
