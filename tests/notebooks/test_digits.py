"""The notebook of the Bayesian network runs, and its prose says what its table says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.notebooks.executing import executed, texts

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
PATH = FOLDER / "digits.ipynb"
COMMITTED = json.loads(PATH.read_text(encoding="utf-8"))
SAMPLERS = ("SGLD", "SGHMC", "cyclical SGHMC", "VR-reSGHMC")
POINT = "point estimate"

Cell = tuple[float, float, float]


def table(notebook: dict) -> dict[str, dict[str, Cell]]:
    """By sampler and score: mean over chains, their standard deviation, and the score of the average of all."""
    text = next(text for text in texts(notebook) if "| sampler" in text)
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if "|" in line
    ]
    found = {}
    for name, *cells in rows:
        numbers = [cell.replace(" ± ", " ").replace(",", "").split() for cell in cells]
        found[name] = dict(zip(head[1:], [tuple(map(float, cell)) for cell in numbers], strict=True))
    return found  # type: ignore[return-value]


@pytest.fixture(scope="module")
def run() -> dict:
    return executed(PATH)


@pytest.mark.power  # seconds of figures and short runs; the text that is committed is held below
def test_every_cell_runs_and_prints_what_is_committed(run: dict) -> None:
    plain = [[text for text in texts(notebook) if "| sampler" not in text] for notebook in (run, COMMITTED)]
    assert plain[0] == plain[1]
    assert texts(run).count("figure") == 1


@pytest.mark.power  # seconds of figures and short runs; the text that is committed is held below
def test_the_scores_are_those_that_are_committed_up_to_what_chains_differ_by(run: dict) -> None:
    """A machine that rounds otherwise takes other paths, and float32 parts them within these steps: no closer."""
    found, committed = table(run), table(COMMITTED)
    assert list(found) == list(committed) == [POINT, *SAMPLERS]
    for name, row in committed.items():
        for score, (mean, spread, whole) in row.items():
            here = found[name][score]
            tolerance = 3 * max(spread, here[1]) + 0.001
            assert here[0] == pytest.approx(mean, abs=tolerance), (name, score)
            assert here[2] == pytest.approx(whole, abs=tolerance), (name, score)


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_prose_about_permuted_pixels_holds(name: str) -> None:
    row, point = table(COMMITTED)[name], table(COMMITTED)[POINT]
    assert row["entropy, permuted"][2] > point["entropy, permuted"][2]
    assert row["share above 1.5"][2] > point["share above 1.5"][2] + 0.3
    single, spread, _ = row["entropy, permuted"]
    alone, own, _ = point["entropy, permuted"]
    assert abs(single - alone) < 2 * max(spread, own)


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_prose_about_digits_holds(name: str) -> None:
    row, point = table(COMMITTED)[name], table(COMMITTED)[POINT]
    assert row["Brier score"][0] >= point["Brier score"][0]
    assert row["Brier score"][2] >= point["Brier score"][2]
    assert row["calibration error"][2] > point["calibration error"][2]


def test_the_prose_about_the_samplers_holds() -> None:
    rows = [table(COMMITTED)[name] for name in SAMPLERS]
    apart = []
    for score in rows[0]:
        means = [row[score][0] for row in rows]
        if max(means) - min(means) > 2 * max(row[score][1] for row in rows):
            apart.append(score)
    assert apart == ["calibration error"]
    errors = {name: table(COMMITTED)[name]["calibration error"] for name in SAMPLERS}
    for place in (0, 2):
        assert max(errors, key=lambda name: errors[name][place]) == "cyclical SGHMC"


def test_nothing_of_the_machine_is_committed() -> None:
    assert [cell["metadata"] for cell in COMMITTED["cells"] if cell["metadata"]] == []
    assert [text for text in texts(COMMITTED) if "site-packages" in text or "Traceback" in text] == []
