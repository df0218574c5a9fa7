"""`sgverify report`: six files in a folder, and an exit code that a finding does not change."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sgverify.evidence import Study, read_studies, validate
from sgverify.papers.chen2015.errata import generators
from sgverify.papers.suites import SuiteCase
from tests.cli.conftest import Call

FILES = {
    "errata.json",
    "evidence.html",
    "figures",
    "index.html",
    "junit.xml",
    "report.json",
    "report.md",
    "studies.json",
}
STUDY = "chen2015/figure-0"

GOOD = (
    SuiteCase("sghmc-aboba", ("gradient.kind=iid",), ("stationary-bias",)),
    SuiteCase("sghmc-aboba", ("steps=100",), ("local-order",)),
)
BAD = (*GOOD, SuiteCase("mine.py:wrong", (), ("local-order",)))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A suite of three cases, one study and two formulas in place of the paper's; returns the efforts that were asked for."""
    efforts: list[str] = []

    def suite(effort: str) -> list[SuiteCase]:
        efforts.append(effort)
        return list(BAD)

    def study(effort: str) -> Study:
        return Study(STUDY, "Figure 0", "nowhere", f"Made with the effort {effort}.")

    # One worker (tests/conftest.py): a new process would not see these.
    monkeypatch.setattr("sgverify.papers.suites.suites", lambda: {"chen2015": suite})
    monkeypatch.setattr("sgverify.papers.suites.studies", lambda: {STUDY: study})
    monkeypatch.setattr("sgverify.papers.formula.formulas", lambda paper=None: generators.FORMULAS[:2])
    return efforts


def test_six_files_and_exit_zero_whatever_was_found(call: Call, tmp_path: Path, small: list[str]) -> None:
    answer = call("report", "--out", "deep/folder")
    folder = tmp_path / "deep" / "folder"
    assert answer.code == 0
    assert {path.name for path in folder.iterdir()} == FILES
    document = json.loads((folder / "report.json").read_text())
    validate(document)
    assert {item["verdict"] for item in document["evidence"]} == {"conforms", "violates"}
    assert "index.html" in answer.out
    page = (folder / "index.html").read_text()
    assert page.count("<svg") >= 1 and "http://" not in page.replace("http://www.w3.org", "")
    assert document["evidence"][0]["claim"] in page
    assert document["evidence"][0]["claim"] in (folder / "report.md").read_text()
    suites = ElementTree.parse(folder / "junit.xml").getroot()
    assert len(list(suites.iter("testcase"))) == len(document["evidence"])
    # The scheme's own violation fails; the refuted printed theorem does not.
    assert (
        len(list(suites.iter("failure")))
        == sum(item["verdict"] == "violates" and not item["refuted"] for item in document["evidence"])
        == 1
    )


@pytest.mark.power  # 1.0 s
def test_strict_exits_like_verify(call: Call, small: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("report", "--strict").code == 1
    monkeypatch.setattr("sgverify.papers.suites.suites", lambda: {"chen2015": lambda effort: list(GOOD)})
    assert call("report", "--strict").code == 0


@pytest.mark.power  # 2.1 s
def test_quick_and_full(call: Call, tmp_path: Path, small: list[str]) -> None:
    for options in ((), ("--quick",), ("--full",), ("--suite", "chen2015")):
        assert call("report", *options).code == 0
        (study,) = read_studies(tmp_path / "sgverify-report" / "studies.json").studies
        assert study.id == STUDY and study.summary == f"Made with the effort {small[-1]}."
        assert study.summary in (tmp_path / "sgverify-report" / "index.html").read_text()
    assert small == ["default", "quick", "full", "default"]


def test_what_is_done_is_written_after_an_interrupt_in_a_folder_that_git_does_not_track(
    call: Call, tmp_path: Path, small: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = SuiteCase.run

    def stopped(case: SuiteCase) -> list:
        if case.scheme == "mine.py:wrong":
            raise KeyboardInterrupt
        return plain(case)

    monkeypatch.setattr(SuiteCase, "run", stopped)
    answer = call("report")
    assert answer.code == 130
    assert "interrupted" in answer.err
    document = json.loads((tmp_path / "sgverify-report" / "report.json").read_text())
    assert {item["scheme"] for item in document["evidence"]} == {"sghmc-aboba"}
    ignored = (Path(__file__).parents[2] / ".gitignore").read_text().split()
    assert any(line.strip("/") == "sgverify-report" for line in ignored)


@pytest.mark.power  # 0.8 s
def test_a_report_can_be_replayed(call: Call, small: list[str]) -> None:
    call("report")
    answer = call("replay", "sgverify-report/report.json", "--run-code")
    assert answer.code == 1
    assert "DIFFERENT" not in answer.err and answer.err.count("the same") == 4


@pytest.mark.power  # a pool of processes
def test_the_evidence_does_not_depend_on_the_number_of_workers(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sgverify.papers.suites.suites", lambda: {"chen2015": lambda effort: list(GOOD)})
    monkeypatch.setattr("sgverify.papers.suites.studies", dict)
    found = []
    for workers in ("1", "2"):
        assert call("report", "--out", workers, "--workers", workers).code == 0
        document = json.loads((tmp_path / workers / "report.json").read_text())
        found.append([{**item, "seconds": 0} for item in document["evidence"]])
    assert found[0] == found[1] and len(found[0]) > 1
    assert call("report", "--workers", "0").code == 2
