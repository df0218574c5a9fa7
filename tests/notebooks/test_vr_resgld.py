"""The notebook of vr-resgld's simulations runs, is committed as it runs, and its prose says what its tables say."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from sgverify.evidence import Study, Table, read_studies
from tests.notebooks.executing import executed, texts

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
PATH = FOLDER / "vr-resgld.ipynb"
COMMITTED = json.loads(PATH.read_text(encoding="utf-8"))
STUDIES = {
    study.id: study for study in read_studies(FOLDER.parent / "reports/vr-resgld/studies.json").studies
}
FIGURE_2, FIGURE_6 = STUDIES["vr-resgld/figure-2"], STUDIES["vr-resgld/figure-6"]


def by_name(table: Table) -> dict[str, tuple]:
    return {row[0]: row[1:] for row in table.rows}


@pytest.mark.power  # seconds of figures and short runs; the text that is committed is held below
def test_every_cell_runs_and_gives_what_is_committed() -> None:
    run = executed(PATH)
    assert texts(run) == texts(COMMITTED)


@pytest.mark.parametrize("study", [FIGURE_2, FIGURE_6], ids=["figure-2", "figure-6"])
def test_nobody_crosses_at_the_printed_temperatures(study: Study) -> None:
    assert [(row[2], row[3]) for row in by_name(study.tables[0]).values()] == [(0, "0 of 8")] * 3


def test_from_either_side_swaps_exchange_the_modes_and_nobody_crosses() -> None:
    who, others = (by_name(study.tables[2]) for study in (FIGURE_2, FIGURE_6))
    assert who["VR-reSGLD"] == ("7 to 32", 10_000, 0)
    assert int(others["reSGLD"][0].split()[0]) >= 200 and others["VR-reSGLD"][0] == "0 to 0"
    assert all(row[2] == 0 for table in (who, others) for row in table.values())


def test_the_prose_about_swaps_holds() -> None:
    ladder = by_name(FIGURE_2.tables[3])
    coldest = {name: int(row[1].split()[0]) for name, row in ladder.items()}
    assert 1.8 < coldest["VR-reSGLD"] / coldest["reSGLD"] < 2.4
    assert all(row[2] > 0 for row in ladder.values())
    printed = by_name(FIGURE_6.tables[0])
    assert int(printed["VR-reSGLD"][1]) == 0 < int(printed["reSGLD"][1])


def test_the_prose_about_variances_holds() -> None:
    ratios = {row[0]: row[3] for row in FIGURE_2.tables[4].rows}
    assert round(ratios["m = 20"], -1) == 40 and round(ratios["m = 40"], -1) == 20
    sizes = [row[1] for row in FIGURE_2.tables[4].rows[:4]]
    assert all(1.8 < b / a < 2.2 for a, b in pairwise(sizes))
    exponents = [row[1] for row in FIGURE_2.tables[5].rows]
    assert abs(exponents[0] + 1) < 0.02 and abs(exponents[1] - 1) < 0.02
