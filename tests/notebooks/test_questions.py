"""The notebooks that each answer a user's question run, are committed as they run, and their prose says what they compute."""

from __future__ import annotations

import json
import re

import pytest

import sgverify
from tests.notebooks.executing import NOTEBOOKS, executed, rows, texts

SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
FIGURES = {"first-integrator": 2, "minibatch-noise": 3, "design-a-splitting": 2}
COMMITTED = {name: json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")) for name in FIGURES}


def source(name: str, kind: str) -> str:
    return "\n".join(
        "".join(cell["source"]) for cell in COMMITTED[name]["cells"] if cell["cell_type"] == kind
    )


def tables(name: str) -> list[dict[str, list[str]]]:
    """The rows of each table by their first cell."""
    told = (text for text in texts(COMMITTED[name]) if "\n| ---" in text)
    return [{first: rest for first, *rest in rows(text)} for text in told]


@pytest.mark.parametrize(
    "name",
    # Five seconds each.
    [pytest.param(name, marks=pytest.mark.power) if name != "minibatch-noise" else name for name in FIGURES],
)
def test_every_cell_runs_and_gives_what_is_committed(name: str) -> None:
    assert texts(executed(NOTEBOOKS / f"{name}.ipynb")) == texts(COMMITTED[name])


@pytest.mark.parametrize("name", FIGURES)
def test_what_is_committed_is_named_draws_and_holds_nothing_of_the_machine(name: str) -> None:
    title = "".join(COMMITTED[name]["cells"][0]["source"]).splitlines()[0]
    assert title.startswith("# ") and not title.endswith("?")
    assert texts(COMMITTED[name]).count("figure") == FIGURES[name]
    assert [cell["metadata"] for cell in COMMITTED[name]["cells"] if cell["metadata"]] == []
    told = [
        text for text in texts(COMMITTED[name]) if re.search(r"site-packages|Traceback|/tmp|ipykernel", text)
    ]
    assert told == []


@pytest.mark.parametrize("name", FIGURES)
def test_only_public_names_are_used(name: str) -> None:
    code = source(name, "code")
    rooms = set(re.findall(r"^(?:from|import) (sgverify[\w.]*)", code, re.M))
    assert rooms <= {"sgverify", "sgverify.schemes", "sgverify.evidence"}
    assert set(re.findall(r"\bsgverify\.(\w+)\(", code)) <= set(sgverify.__all__)


def test_the_first_try_fails_for_the_cause_that_is_named() -> None:
    told, *_ = texts(COMMITTED["first-integrator"])
    assert told.startswith("fail  local-order (proof): local order 0")
    assert "mend:  sqrt(T * h) -> sqrt(2 * T * h)" in told
    assert any("\nPASS  heun: order 2 proved" in text for text in texts(COMMITTED["first-integrator"]))


def test_the_prose_about_minibatches_holds() -> None:
    data, regression, cost = tables("minibatch-noise")
    power = {
        kind: cells[0].split(" h")[-1].translate(SUPERSCRIPTS)
        for kind, cells in {**data, **regression}.items()
    }
    assert data["full"][0] == "exactly 0" and power["iid"] == power["without-replacement"] == "1"
    assert int(power["reshuffle"]) > 2 and int(power["symmetric"]) > 2
    assert power["control-variate"] == "1" and int(power["svrg"]) >= 2
    assert {cells[-1] for cells in (*data.values(), *regression.values())} == {"exact"}
    spent = {kind: float(cells[1].replace(",", "")) for kind, cells in cost.items()}
    assert min(spent, key=spent.__getitem__) == "full" and spent["iid"] > 10 * spent["full"]
    assert spent["full"] < spent["reshuffle"] < spent["iid"] / 10
    (told,) = (text for text in texts(COMMITTED["minibatch-noise"]) if text.startswith("c n, with"))
    fixed, finite = (re.findall(r"'([^']+)'", line) for line in told.splitlines())
    assert len(set(fixed)) == 1 and finite[-1] == "0"


def test_the_prose_about_the_splitting_holds() -> None:
    gaussian, regression = tables("design-a-splitting")
    theta, p = ([float(cell) for cell in gaussian[phi]] for phi in ("θ²", "p²"))
    assert theta[0] == theta[-1] == 0 and all(theta[1:-1])
    assert p[3] == 0 and p[0] != 0 != p[-1]
    own, other = (abs(float(cells[-1])) for cells in regression.values())
    assert next(iter(regression)) == "BAOAB" and own < other / 10
    assert texts(COMMITTED["design-a-splitting"])[-1].startswith("pass | exact | ")
