"""`--store` and `--fresh`: what the same code answered before is not computed again, and the answer is the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sgverify.cli.shared.answering import listed
from sgverify.cli.shared.options import StoreChoice
from sgverify.cli.shared.report_tasks import case_task, errata_task, study_task
from sgverify.errors import UserError
from sgverify.evidence import Study
from sgverify.evidence.study import Panel, Series, Table
from sgverify.keeping import identity
from sgverify.keeping.identity import key_of
from sgverify.keeping.store import CannotKeepError, Store
from sgverify.papers.chen2015.errata import generators
from sgverify.papers.formula import check_formula
from sgverify.papers.suites import SuiteCase
from tests.cli.conftest import Call

SUITE = """
suite = [
    {"scheme": "mine.py:heun", "checks": ["local-order"]},
    {"scheme": "mine.py:wrong", "checks": ["local-order"]},
    {"scheme": "sghmc-aboba", "settings": {"gradient.kind": "iid"}, "checks": ["stationary-bias"]},
]
"""


@pytest.fixture(autouse=True)
def _no_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hashes are looked at anew in every call, as by new processes; files of a test are younger than its process."""
    monkeypatch.setattr(identity, "_FRESH", -1.0)
    monkeypatch.setattr("sgverify.code_files.changed_since_start", lambda state: False)
    monkeypatch.setattr(identity, "changed_since_start", lambda state: False)
    yield
    identity._KEPT.clear()
    identity._READ.clear()


def told(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a report says but for seconds, and its provenance."""
    document = json.loads((folder / "report.json").read_text())
    made = document.pop("provenance")
    for item in document["evidence"]:
        del item["seconds"]
    return document, made


@pytest.mark.power  # 2.6 s
def test_a_report_from_the_store_is_the_one_that_was_computed(call: Call, tmp_path: Path) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    asked = ("report", "--suite", "suite.py:suite", "--store", "kept.sqlite", "--out")
    assert call(*asked, "first").err == ""
    first, made = told(tmp_path / "first")
    assert "reused" not in made
    answer = call(*asked, "second")
    assert answer.code == 0 and answer.err.startswith("3 of 3 answers were in the store, kept 20")
    second, made = told(tmp_path / "second")
    assert second == first and json.dumps(second) == json.dumps(first)
    assert made["reused"]["answers"] == made["reused"]["asked"] == 3
    assert made["reused"]["oldest"] <= made["reused"]["newest"]
    assert "3 of 3 answers were in the store" in (tmp_path / "second" / "report.md").read_text()
    # An edited scheme never reads yesterday's answer, and the others do.
    file = tmp_path / "mine.py"
    file.write_text(file.read_text().replace("theta - h/2*(", "theta - h/3*("))
    assert call(*asked, "third").err.startswith("1 of 3 answers")
    third, _ = told(tmp_path / "third")
    assert third["evidence"][0]["verdict"] != first["evidence"][0]["verdict"]
    assert third["evidence"][2] == first["evidence"][2]
    assert call(*asked, "fourth", "--fresh").err == ""
    assert told(tmp_path / "fourth")[0] == third


def test_studies_and_errata_come_back_as_they_were() -> None:
    study = Study(
        "chen2015/figure-0",
        "Figure 0",
        "nowhere",
        "A summary.",
        (Panel("p", "x", "y", (Series("s", "exact", (1, 2.5), (0.1, None), (0.2, None), "why"),)),),
        (Table("t", ("a", "b"), ((1, "2"), (2.0, None))),),
        ("A note.",),
        1.5,
    )
    task = study_task("chen2015/figure-0", "quick")
    value = json.loads(json.dumps(task.encode(study)))
    assert task.decode(value) == study and json.dumps(listed(task.decode(value))) == json.dumps(listed(study))
    errata = [check_formula(formula) for formula in generators.FORMULAS[:2]]
    task = errata_task("chen2015")
    value = json.loads(json.dumps(task.encode(errata)))
    assert task.decode(value) == errata


def test_a_case_that_an_exception_ended_or_of_another_class_is_not_kept() -> None:
    case = SuiteCase("sghmc-aboba", (), ("local-order",))
    found = case.run()
    task = case_task(case)
    assert task.kept(found)
    assert not task.kept([replace(found[0], certificate={"exception": "MemoryError"})])

    class Other(SuiteCase):
        pass

    assert not case_task(Other("sghmc-aboba", ())).kept(found)


def test_a_case_that_is_answered_has_the_points_of_its_figures() -> None:
    """Nothing is left to be computed when the report is written, which the end of the time would interrupt."""
    task = case_task(SuiteCase("sgld-euler", (), ("stationary-bias",)))
    (item,) = task.function(*task.arguments)
    assert "seen" in vars(item.points) and item.points


def test_data_that_the_settings_of_a_case_name_are_part_of_its_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("1,0\n2,1\n")
    settings = ("target.name=logistic-regression", "target.file=data.csv")
    question = case_task(SuiteCase("sghmc-aboba", settings)).question
    assert [Path(file).name for file in key_of("case", question).content["files"]] == ["data.csv"]


@pytest.mark.power  # 0.8 s
def test_a_full_disk_is_one_message_and_the_report_is_written(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise CannotKeepError("the disk is full")

    monkeypatch.setattr(Store, "keep_all", full)
    (tmp_path / "suite.py").write_text(SUITE)
    answer = call("report", "--suite", "suite.py:suite", "--store", "kept.sqlite", "--out", "r")
    assert answer.code == 0 and answer.err == "the disk is full\n"
    assert len(told(tmp_path / "r")[0]["evidence"]) == 4
    answer = call("campaign", "grid.toml", "--store", "kept.sqlite", "--workers", "1", "--out", "c")
    assert answer.code == 0 and answer.err.endswith("\nthe disk is full\n")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("", "expected a file, or off"),
        ("missing/kept.sqlite", "expected a folder that exists"),
        ("mine.py", "no store of sgverify"),
    ],
)
def test_a_place_that_is_no_store_is_refused_before_anything_is_computed(
    place: str, said: str, call: Call, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").chmod(0o600)
    answer = call("report", "--store", place)
    assert answer.code == 2 and said in answer.err and answer.out == ""


def test_a_cache_folder_that_cannot_be_used_costs_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SGVERIFY_CACHE", str(tmp_path))
    monkeypatch.delenv("SGVERIFY_STORE")
    (tmp_path / "store.sqlite").mkdir()
    assert StoreChoice().opened() is None
    assert capsys.readouterr().err.startswith("nothing is kept: store ")
    monkeypatch.setenv("SGVERIFY_STORE", str(tmp_path / "store.sqlite"))
    with pytest.raises(UserError):
        StoreChoice().opened()
    # What may be otherwise at another time keeps nobody from an answer.
    (tmp_path / "shared").mkdir(mode=0o700)
    (tmp_path / "shared").chmod(0o777)
    assert StoreChoice(str(tmp_path / "shared" / "store.sqlite")).opened() is None
    assert (
        "nothing is kept: store" in (said := capsys.readouterr().err) and "other users can write in" in said
    )
