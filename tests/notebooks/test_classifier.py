"""The notebook of the image classifier reads the committed result, and its prose says what that says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from sgverify.report.formulas import in_a_line
from tests.notebooks.executing import executed, rows, texts

ROOT = Path(__file__).resolve().parents[2]
PATH = ROOT / "notebooks" / "classifier.ipynb"
COMMITTED = json.loads(PATH.read_text(encoding="utf-8"))
RESULT = json.loads((ROOT / "reports" / "models" / "classifier" / "result.json").read_text(encoding="utf-8"))
FINDINGS = RESULT["found"]["findings"]


def verdicts(*words: str) -> list[str]:
    """The verdicts on the statements that contain all of the words."""
    found = [item["verdict"] for item in FINDINGS if all(word in item["statement"] for word in words)]
    assert found, words
    return found


@pytest.mark.power  # seconds of figures; the text that is committed is held below
def test_every_cell_runs_and_prints_what_is_committed() -> None:
    run = executed(PATH)
    assert texts(run) == texts(COMMITTED)
    assert texts(run).count("figure") == 3


def test_what_is_committed_is_of_the_committed_result() -> None:
    told = texts(COMMITTED)
    assert str(dict(Counter(item["verdict"] for item in FINDINGS))) in told[0]
    assert RESULT["seeds"] == 5 and "5 seeds" in told[0]
    shown = [cells for text in told for cells in rows(text)]
    for item in FINDINGS:
        names = ("statement", "printed", "found", "verdict", "reason")
        assert [" ".join(in_a_line(item[name]).split()) for name in names] in shown, item["statement"]


def row(label: str, score: str) -> tuple[float, float]:
    """The mean over the seeds of a score of a method, and its standard error."""
    found = next(row for row in RESULT["found"]["rows"] if row["method"] == label)[score]
    return found["mean"], found["standard error"]


def found_in(*words: str) -> str:
    """What was found of the statement that contains all of the words."""
    (found,) = [item["found"] for item in FINDINGS if all(word in item["statement"] for word in words)]
    return found


def test_the_prose_about_variances_holds() -> None:
    for words in (("takes away more as",), ("In the last quarter",)):
        assert set(verdicts(*words)) == {"reproduced"}
    assert verdicts("times smaller late") == ["not reproduced"] * 4
    for m in ("m = 50", "m = 392"):
        assert float(found_in("up to 10 times", m).split()[2]) > 1000
    assert verdicts("at most 37") == ["undecided", "not reproduced"]
    assert 0.65 < float(found_in("at most 37", "m = 50").split()[0]) < 0.85
    assert float(found_in("at most 37", "m = 392").split()[0]) == pytest.approx(1.9, abs=0.05)
    panel = next(study for study in RESULT["found"]["studies"] if study["id"] == "classifier/variance")[
        "panels"
    ][0]
    plain = next(series for series in panel["series"] if series["label"] == "reSGHMC, n")["y"]
    assert plain[0] > 1000 and plain[-1] < 0.1


def test_the_prose_about_the_coefficient_holds() -> None:
    assert verdicts("learnt coefficient") == ["undecided"] * 4
    assert verdicts("nearly proportional") == ["reproduced"] * 2
    for m, printed in (("m = 50", 0.4), ("m = 392", 0.4)):
        told = found_in("learnt coefficient", "early", m).split()
        assert 1 - float(told[told.index("it") + 1]) > printed


def test_the_prose_about_accuracy_and_swaps_holds() -> None:
    assert verdicts("swaps more often") == ["undecided"]
    assert row("VR-reSGHMC", "swaps")[0] > row("reSGHMC", "swaps")[0]
    (item,) = [item for item in FINDINGS if "right more often than those of cycSGHMC" in item["statement"]]
    assert item["p"] == pytest.approx(0.03, abs=0.005) and item["corrected"] > 0.5
    gap = row("cycSGHMC", "accuracy in per cent")[0] - row("cVR-reSGHMC", "accuracy in per cent")[0]
    assert gap == pytest.approx(0.25, abs=0.05)
    assert gap / 100 * RESULT["found"]["data"]["test images"] == pytest.approx(2.2, abs=0.05)
    assert verdicts("right more often") == ["undecided"] * 5


def test_the_prose_about_unseen_classes_holds() -> None:
    for other in ("M-SGD", "SGHMC", "reSGHMC"):
        assert verdicts("Brier score on unseen classes", f"than {other},") == ["undecided"] * 2
        for score in ("Brier score, unseen", "Brier score, unseen, scaled"):
            assert row("cVR-reSGHMC", score)[0] < 0.9 * row(other, score)[0]
    assert verdicts("unseen classes than cycSGHMC") == ["undecided"] * 4
    assert verdicts("Temperature scaling") == ["reproduced"]
    for score in ("Brier score, unseen", "Brier score, unseen, scaled"):
        assert row("cVR-reSGHMC", score)[0] >= row("cycSGHMC", score)[0]
        (one, first), (two, second) = row("VR-reSGHMC", score), row("M-SGD", score)
        assert abs(one - two) < 2 * (first**2 + second**2) ** 0.5


def test_the_prose_about_advice_holds() -> None:
    (advice,) = RESULT["found"]["advice"]
    asked, best = (
        float(text.split("h = ")[1].split(",")[0].split(")")[0])
        for text in (advice["answer"], advice["grid"])
    )
    assert best > 100 * asked


def test_nothing_of_the_machine_is_committed() -> None:
    assert [cell["metadata"] for cell in COMMITTED["cells"] if cell["metadata"]] == []
    assert [text for text in texts(COMMITTED) if "site-packages" in text or "Traceback" in text] == []
