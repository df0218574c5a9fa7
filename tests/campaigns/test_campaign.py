"""`sgverify campaign`: a report of every combination, answers that are kept, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sgverify.campaigns.collecting import SpooledAnswers, write_campaign_report
from sgverify.campaigns.combinations import CampaignQuestion
from sgverify.campaigns.engines import Lost
from sgverify.cli import main
from sgverify.evidence import Provenance, canonical, read_evidence
from sgverify.evidence.documents import CAMPAIGN, CampaignDocument
from sgverify.keeping import identity
from sgverify.report import campaign as pages

MADE = Provenance("", "", "", "", "sgverify campaign", 0.0)

CAMPAIGN_FILE = """
title = "Two steps"
schemes = ["sgld-euler", "mine.py:weak"]
gradients = ["full", "iid"]
checks = ["stationary-bias"]
[grid]
"schedule.step" = [0.1, 3.0]
[settings]
target.name = "gaussian"
"""

MINE = """
from sgverify import scheme, sqrt
from sgverify.schemes import langevin

@scheme(langevin, order=1)
def weak(theta, *, h, grad, noise, T):
    "Euler with the noise of half the temperature."
    return theta - h*grad(theta) + sqrt(T*h)*noise()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "campaign.toml").write_text(CAMPAIGN_FILE)
    return tmp_path


def run(*more: str) -> int:
    return main(
        ["campaign", "campaign.toml", "--run-code", "--workers", "1", "--store", "kept.sqlite", *more]
    )


def report(folder: Path, name: str = "sgverify-campaign") -> tuple[dict[str, Any], dict[str, Any]]:
    return tuple(json.loads((folder / name / file).read_text()) for file in ("campaign.json", "report.json"))  # type: ignore[return-value]


def test_every_combination_has_a_row_and_what_was_answered_is_not_asked_again(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run() == 0
    said = capsys.readouterr()
    assert "8 combinations, 4 do not fit; 4 to compute; what they cost is not known" in said.err
    assert "1 pass, 1 fail; 4 does-not-fit; 2 refused" in said.out
    rows, evidence = report(folder)
    CAMPAIGN.check(rows, "campaign.json")
    assert [row["status"] for row in rows["rows"]] == ["answered", "refused", *["does-not-fit"] * 2] * 2
    assert "spectral radius" in rows["rows"][1]["reason"] and "draws data" in rows["rows"][2]["reason"]
    assert [(cell["scheme"], cell["worst"]) for cell in rows["cells"]] == [
        ("sgld-euler", "pass"),
        ("mine.py:weak", "fail"),
    ]
    assert [item.scheme for item in read_evidence("sgverify-campaign/report.json").evidence] == [
        "sgld-euler",
        "mine.py:weak",
    ]
    page = (folder / "sgverify-campaign" / "index.html").read_text()
    assert "Two steps" in page and "✗ fail in 1 of 1" in page and rows["cells"][1]["replay"] in page
    text = (folder / "sgverify-campaign" / "report.md").read_text()
    assert "| mine.py:weak | 4 | 0 | 1 | 0 | 3 |" in text
    # A second run takes all from the store: nothing of it may be judged.
    monkeypatch.setattr("sgverify.campaigns.questions.enquire", None)
    assert run("--strict", "--out", "again") == 2
    assert "4 are in the store; 0 to compute" in capsys.readouterr().err
    again, other = report(folder, "again")
    assert canonical(other) == canonical(evidence) and again["rows"] == rows["rows"]
    # An edited file is another question.
    (folder / "mine.py").write_text(MINE.replace("sqrt(T*h)", "sqrt(2*T*h)"))
    identity._READ.clear()  # what was hashed a moment ago is not looked at again
    monkeypatch.delenv("SGVERIFY_RAISE")
    assert run() == 4
    assert report(folder)[0]["rows"][4]["status"] == "lost"


def test_a_plan_says_what_is_to_be_computed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--dry-run") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("8 combinations, 4 do not fit; 4 to compute")
    assert said[1:3] == [
        "    4 do not fit: gradient.kind=iid draws data, and target.name=gaussian has none",
        "sgld-euler target.name=gaussian gradient.kind=full schedule.step=0.1",
    ]
    assert not (folder / "sgverify-campaign").exists()


def test_code_that_the_file_names_runs_only_when_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["campaign", "campaign.toml", "--store", "off"]) == 2
    assert "names code, scheme='mine.py:weak'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--workers", "2", "--scheduler", "tcp://x:1"], "--workers 2 beside --scheduler"),
        (["--out", ""], "expected a folder"),
    ],
)
def test_wrong_options_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    assert main(["campaign", "campaign.toml", "--run-code", "--store", "off", *options]) == 2
    assert told in capsys.readouterr().err


def evidence_of(number: int, outcome: str = "pass", id: str = "x") -> dict[str, Any]:
    return {
        "id": f"{id}-{number}",
        "scheme": f"scheme-{number % 50}",
        "claim": f"paper/claim-{number % 70}",
        "check": "stationary-bias",
        "configuration": {"friction": number},
        "outcome": outcome,
        "reason": f"combination {number} of many",
        "replay": f"sgverify verify scheme-{number % 50} --set friction={number}",
    }


def collected(folder: Path, answers: dict[int, Any]) -> CampaignDocument:
    asked = [CampaignQuestion(f"scheme-{n % 50}", {"friction": n}, ("stationary-bias",)) for n in answers]
    with SpooledAnswers(folder, len(asked)) as spooled:
        for number in reversed(answers):
            spooled.put(number, answers[number])
        return write_campaign_report(folder, "Many", asked, spooled, MADE)


def answer(*evidence: dict[str, Any]) -> dict[str, Any]:
    return {"evidence": list(evidence), "without_minibatches": None, "refused": ""}


@pytest.mark.campaign
def test_a_report_of_ten_thousand_combinations_is_small_and_the_worst_comes_first(tmp_path: Path) -> None:
    answers: dict[int, Any] = {
        number: answer(evidence_of(number, "fail" if number % 997 == 5 else "pass"))
        for number in range(10_000)
    }
    answers[7] = Lost("its process ended", 4)
    document = collected(tmp_path, answers)
    assert len(document.rows) == 10_000 and document.evidence == 9_999
    assert document.answers == {"pass": 9_988, "fail": 11, "undecided": 0}
    for name in ("index.html", "report.md"):
        text = (tmp_path / name).read_text()
        assert len(text) < 2_000_000
        assert text.index("combination 5 of many") < text.index("combination 1002 of many")
    assert "1 lost: its process ended" in (tmp_path / "report.md").read_text()
    written = json.loads((tmp_path / "report.json").read_text())["evidence"]
    assert [item["configuration"]["friction"] for item in written] == [n for n in range(10_000) if n != 7]


def test_long_tables_say_what_they_leave_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_ROWS", 20)
    monkeypatch.setattr(pages, "MOST_FINDINGS", 10)
    answers = {
        number: answer({**evidence_of(number, "fail"), "scheme": f"scheme-{number}"}) for number in range(25)
    }
    assert len(collected(tmp_path, answers).cells) == 25
    assert "15 more findings are in campaign.json." in (tmp_path / "report.md").read_text()
    assert "5 more rows are in campaign.json." in (tmp_path / "report.md").read_text()


def test_equal_evidence_is_written_once_and_equal_ids_are_told_apart(tmp_path: Path) -> None:
    same, other = evidence_of(1), {**evidence_of(2), "id": "x-1"}
    collected(tmp_path, {0: answer(same), 1: answer(same), 2: answer(other)})
    written = json.loads((tmp_path / "report.json").read_text())["evidence"]
    assert [item["id"] for item in written] == ["x-1", "x-1-2"]
