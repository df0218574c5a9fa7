"""The file of regressions: sorted rows, each once, written whole; what is no row is refused by file and line."""

from __future__ import annotations

import json
import multiprocessing
import random
from dataclasses import replace
from pathlib import Path

import pytest

from sgverify.errors import UserError
from sgverify.evidence import (
    RecordedFailure,
    add_regression,
    read_regressions,
    reference_beside,
    reference_from,
)

ROW = RecordedFailure(
    scheme="mine.py:heun",
    claim="chen2015/theorem-4",
    check="stationary-bias",
    configuration={"temperature": 2.0},
    reason='of order h^0, not of order h^1: a "quoted" reason with λ',
)


def numbered(number: int) -> RecordedFailure:
    return replace(ROW, configuration={"friction": float(number)})


def test_rows_are_sorted_and_written_once(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [replace(ROW, scheme=name) for name in ("b.py:x", "a.py:x", "c.py:x")] + [numbered(2), ROW]
    assert [add_regression(path, row) for row in [*rows, *rows]] == [True] * 5 + [False] * 5
    text = path.read_text()
    # 2 and 2.0 are the same setting, and a reason tells no rows apart.
    assert not add_regression(path, replace(ROW, configuration={"temperature": 2}, reason="another"))
    assert path.read_text() == text
    random.Random(0).shuffle(rows)
    for row in rows:
        add_regression(tmp_path / "again.jsonl", row)
    assert (tmp_path / "again.jsonl").read_text() == text
    read = read_regressions(path)
    assert sorted(read, key=lambda row: row.key) == read and len(read) == 5
    assert [row.line for row in read] == [1, 2, 3, 4, 5] and set(map(repr, rows)) == {
        repr(replace(r, line=0)) for r in read
    }


def test_both_sides_of_a_merge_are_a_file(tmp_path: Path) -> None:
    ours, theirs = numbered(1).text, numbered(2).text
    (tmp_path / "rows.jsonl").write_text(f"{theirs}\n\n{ours}\n{theirs}\n")
    assert len(read_regressions(tmp_path / "rows.jsonl")) == 3
    assert add_regression(tmp_path / "rows.jsonl", numbered(3))
    assert [row.configuration["friction"] for row in read_regressions(tmp_path / "rows.jsonl")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("<<<<<<< HEAD", "not JSON.*a merge keeps the lines of both sides"),
        ("{}", "holds no a regression|holds no"),
        (ROW.text.replace("regression/1", "regression/2"), "another version"),
        (ROW.text.replace('"check"', '"chekc"'), "chekc"),
        (ROW.text.replace("chen2015/theorem-4", "theorem 4"), "theorem 4"),
        (json.dumps([1]), "holds no"),
    ],
)
def test_a_line_that_is_no_row_is_refused_with_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{ROW.text}\n{line}\n")
    with pytest.raises(UserError, match=rf"(?s)rows.jsonl:2.*({said})"):
        read_regressions(path)
    # Nothing is lost by adding to such a file.
    with pytest.raises(UserError, match=r"rows.jsonl:2"):
        add_regression(path, numbered(7))
    assert path.read_text() == f"{ROW.text}\n{line}\n"


def test_no_file_is_no_rows_and_a_folder_is_no_file(tmp_path: Path) -> None:
    assert read_regressions(tmp_path / "none.jsonl") == []
    with pytest.raises(UserError, match="cannot be read"):
        read_regressions(tmp_path)
    with pytest.raises(UserError, match="expected a folder that exists"):
        add_regression(tmp_path / "no" / "rows.jsonl", ROW)


def _write(path: Path, first: int, start: multiprocessing.synchronize.Barrier) -> None:
    start.wait()
    for number in range(first, first + 10):
        add_regression(path, numbered(number))


def test_workers_that_write_at_once_lose_no_row(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    start = context.Barrier(3)
    workers = [
        context.Process(target=_write, args=(tmp_path / "rows.jsonl", first, start)) for first in (0, 5, 20)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = [row.configuration["friction"] for row in read_regressions(tmp_path / "rows.jsonl")]
    assert sorted(found) == [*range(15), *range(20, 30)]
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_a_file_is_named_from_the_folder_of_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").mkdir()
    for given, row in (
        ("tests/mine.py:heun", "mine.py:heun"),
        ("src/mine.py:heun", "../src/mine.py:heun"),
        (f"{tmp_path}/tests/mine.py:heun", "mine.py:heun"),
        ("sghmc-aboba", "sghmc-aboba"),
        ("package.mine:heun", "package.mine:heun"),
    ):
        assert reference_beside(given, Path("tests")) == row
        monkeypatch.chdir(tmp_path / "tests")
        assert reference_from(row, Path("../tests")).split("/")[-1] == given.split("/")[-1]
        assert reference_beside(reference_from(row, Path()), Path()) == row
        monkeypatch.chdir(tmp_path)
