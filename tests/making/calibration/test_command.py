"""`python -m reports calibration`: three files in a folder, the same numbers on any number of processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reports.making.calibration import TablePlan, plans
from reports.making.calibration.document import CALIBRATION
from tests.making.conftest import Call

FILES = {"calibration.json", "calibration.md", "calibration.svg"}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One cell of every table."""

    def fewer(orders: Any, *, quick: bool = False) -> list[TablePlan]:
        return [
            TablePlan(plan.name, plan.title, plan.note, plan.settings[5:6] or plan.settings[-1:], plan.level)
            for plan in plans(orders, quick=quick)
        ]

    monkeypatch.setattr("reports.making.calibration.plans", fewer)
    # Where it is defined loads torch.
    alone = "reports.making.calibration.screening.screening_plan"
    monkeypatch.setattr(alone, lambda: TablePlan("screening", "Screening", "None.", plans()[-1].settings[:1]))


def numbers(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "provenance"}


def test_quick_writes_three_files_and_says_what_they_decide(call: Call, small: None, tmp_path: Path) -> None:
    answer = call("calibration", "--quick", "--replications", "1", "--workers", "1", "--seed", "2")
    assert answer.code == 3, answer.err  # one sample decides nothing
    folder = tmp_path / "sgverify-calibration"
    assert {path.name for path in folder.iterdir()} == FILES
    assert "undecided" in answer.out and "calibration.md" in answer.out and answer.err == ""
    document = json.loads((folder / "calibration.json").read_text(encoding="utf-8"))
    CALIBRATION.check(document, "what was written")
    names = [table["name"] for table in document["tables"]]
    assert names[:2] == ["order-2-independent", "order-2-coupled"] and len(names) == 4
    assert {cell["replications"] for table in document["tables"] for cell in table["cells"]} == {1}
    ignored = (Path(__file__).parents[3] / ".gitignore").read_text(encoding="utf-8").split()
    assert "sgverify-calibration/" in ignored


@pytest.mark.power  # streams depend on seed, setting and chunk alone, which tests of counting show
def test_the_numbers_do_not_depend_on_the_processes(call: Call, small: None) -> None:
    options = ("calibration", "--quick", "--replications", "2", "--json", "-")
    one, two = (numbers(call(*options, "--workers", workers).document) for workers in ("1", "2"))
    assert one == two


def test_every_procedure_has_a_table_and_a_bar(call: Call, small: None) -> None:
    found = call("calibration", "--replications", "1", "--json", "-", "--workers", "1").document
    names = {table["name"] for table in found["tables"]}
    assert names >= {"order-1", "order-4", "lengths", "point-nulls", "robustness", "screening"}
    statements = " ".join(bar["statement"] for bar in found["bars"])
    for what in (
        "length",
        "point nulls",
        "screen and confirm",
        "hides a fifth",
        "not Gaussian",
    ):
        assert what in statements


def test_another_order_may_be_claimed(call: Call, small: None, tmp_path: Path) -> None:
    answer = call(
        "calibration",
        "--order",
        "3",
        "--quick",
        "--replications",
        "1",
        "--json",
        "mine.json",
        "--workers",
        "1",
    )
    assert answer.code == 3
    document = json.loads((tmp_path / "mine.json").read_text(encoding="utf-8"))
    assert {cell["claim"] for table in document["tables"] for cell in table["cells"]} == {"order 3"}


def test_an_interrupt_writes_nothing(
    call: Call, small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("reports.making.calibration.count_chunk", stopped)
    answer = call("calibration", "--quick", "--replications", "1", "--workers", "1")
    assert (answer.code, answer.err.strip()) == (130, "interrupted")
    assert not list((tmp_path / "sgverify-calibration").iterdir())


def test_a_missed_bar_is_the_exit_code(call: Call, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.making.calibration.bars.COVERAGE", (0.0, 0.001))
    answer = call("calibration", "--quick", "--replications", "2", "--workers", "1")
    assert answer.code == 1
    assert "✗ missed" in answer.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--replications", "0"), "--replications"),
        (("--replications", "many"), "--replications"),
        (("--seed", "-1"), "--seed"),
        (("--order", "0"), "--order"),
        (("--order", "9"), "order=9: expected a claimed order from 1 to 8"),
        (("--workers", "0"), "--workers"),
        (("--out", ""), "--out ''"),
        (("--out", "mine.py"), "it is a file"),
        (("--json", "nowhere/file.json"), "--json 'nowhere/file.json'"),
        (("surplus",), "surplus"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(call: Call, options: tuple[str, ...], message: str) -> None:
    answer = call("calibration", "--quick", *options)
    assert answer.code == 2 and answer.out == ""
    assert message in answer.err and answer.err.count("error:") == 1
