"""The notebooks of the applications run, are committed as they run, and their prose says what the committed results say."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.notebooks.executing import NOTEBOOKS, executed, texts

RESULTS = Path(__file__).resolve().parents[2] / "reports" / "models"
APPLICATIONS = {"topic-model": "lda", "belief-network": "sbn"}
BY_NAME = pytest.mark.parametrize("name", APPLICATIONS)
COMMITTED = {
    name: json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")) for name in APPLICATIONS
}


def result(application: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / application / "result.json").read_text(encoding="utf-8"))
    return found


def verdicts(application: str) -> dict[str, str]:
    return {item["statement"]: item["verdict"] for item in result(application)["found"]["findings"]}


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()[2:]]


@pytest.mark.power  # seconds of figures and of a short run; the text that is committed is held below
@BY_NAME
def test_every_cell_runs_and_gives_what_is_committed(name: str) -> None:
    run, committed = texts(executed(NOTEBOOKS / f"{name}.ipynb")), texts(COMMITTED[name])
    # The last table is a short run, which another rounding may change.
    assert run[:-1] == committed[:-1] and len(run) == len(committed)
    assert run.count("figure") == 2


@BY_NAME
def test_the_verdicts_are_those_of_five_seeds(name: str) -> None:
    assert result(APPLICATIONS[name])["seeds"] == 5
    first = next(text for text in texts(COMMITTED[name]) if text.startswith("| verdict"))
    shown = {row[1]: row[0] for row in rows(first)}
    assert shown == verdicts(APPLICATIONS[name])


@BY_NAME
def test_nothing_of_the_machine_is_committed(name: str) -> None:
    assert [cell["metadata"] for cell in COMMITTED[name]["cells"] if cell["metadata"]] == []
    held = json.dumps(COMMITTED[name])
    assert not re.search(r"site-packages|Traceback|/home/|/tmp/", held)


def test_the_prose_about_topics_holds() -> None:
    told = verdicts("lda")
    assert Counter(told.values()) == {"reproduced": 2, "undecided": 4, "not reproduced": 1}
    breaks = {name: verdict for name, verdict in told.items() if name.startswith("At large step")}
    assert [verdict for name, verdict in breaks.items() if "I.1" in name] == ["reproduced"]
    assert [verdict for name, verdict in breaks.items() if "Algorithm 2" in name] == ["not reproduced"]
    assert told["The best test perplexity of SGHMC-S is below that of SGLD-E"] == "reproduced"
    table = next(study for study in result("lda")["found"]["studies"] if study["id"] == "lda/best")["tables"][
        0
    ]
    best = {row[0]: row[3] for row in table["rows"]}
    assert 0.02 < 1 - best["SGHMC-S"] / best["SGLD-E"] < 0.04
    assert 0 < best["SGHMC-S"] / best["SGHMC-E"] - 1 < 0.015
    assert min(best, key=lambda label: best[label] if label != "the true topics" else 9e9) == "SGRLD"
    checked = {item["scheme"]: item["outcome"] for item in result("lda")["found"]["samplers"]}
    assert set(checked.values()) == {"pass"} and "sgrld-expanded-mean" in checked


def test_steps_that_break_down_beyond_the_printed_ones_do_so_for_both_integrators() -> None:
    lost = {
        label: {
            row["step"]
            for row in result("lda")["found"]["rows"]
            if row["sampler"] == label and row["diverged"]
        }
        for label in ("SGHMC-S", "SGHMC-E", "SGHMC-E (I.1)")
    }
    printed = {row["step"] for row in result("lda")["found"]["rows"] if row["printed_step"] is not None}
    assert not printed & (lost["SGHMC-S"] | lost["SGHMC-E"])
    assert max(printed & lost["SGHMC-E (I.1)"]) == max(
        row["step"]
        for row in result("lda")["found"]["rows"]
        if row["sampler"] == "SGHMC-S" and row["printed_step"]
    )


def test_the_prose_about_images_holds() -> None:
    told = verdicts("sbn")
    (lost,) = [statement for statement, verdict in told.items() if verdict == "not reproduced"]
    assert lost.startswith("SGHMC-E has a smaller negative log-likelihood than SGLD, on the printed grid")
    assert Counter(told.values()) == {"undecided": 5, "not reproduced": 1, "not tried": 1}
    best = {
        (row["grid"], row["method"]): row
        for row in result("sbn")["found"]["rows"]
        if row.get("best of its grid")
    }
    value = {place: row["negative log-likelihood"] for place, row in best.items()}
    bias = {place: row["negative log-likelihood too large by"] for place, row in best.items()}
    for grid, gap, annealing in (("printed", 0.003, 0.03), ("rescaled", 0.01, 0.2)):
        assert value[grid, "SGHMC-S"] - value[grid, "SGHMC-E"] == pytest.approx(gap, rel=0.5)
        assert bias[grid, "SGHMC-S"] == pytest.approx(annealing, rel=0.3)
    assert 5 < value["printed", "SGHMC-E"] - value["printed", "SGLD"] < 6
    assert min(value, key=lambda place: value[place]) == ("printed", "SGLD")
    for (grid, method), row in best.items():
        steps = {
            item["h"]
            for item in result("sbn")["found"]["rows"]
            if (item["grid"], item["method"]) == (grid, method)
        }
        edge = min(steps) if (grid, method) == ("rescaled", "SGLD") else max(steps)
        assert row["h"] == edge
