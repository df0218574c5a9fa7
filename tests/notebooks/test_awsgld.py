"""The notebook of awsgld's experiments runs, is committed as it runs, and its prose says what its tables say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgverify.configuration import load_configuration
from sgverify.evidence import read_studies
from sgverify.papers.awsgld.experiments.exploration import explorers
from sgverify.papers.awsgld.experiments.settings import EFFORTS, FIRST, GRIEWANK, MOST, ZETA_OF_CSGLD
from sgverify.schemes.composites.adaptation import PartitionChoice, make_adaptation
from sgverify.schemes.composites.presets import presets
from sgverify.schemes.composites.weighting import omega_of
from sgverify.targets import build_target
from tests.notebooks.executing import executed, texts

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
PATH = FOLDER / "awsgld.ipynb"
COMMITTED = json.loads(PATH.read_text(encoding="utf-8"))
STUDIES = {study.id: study for study in read_studies(FOLDER.parent / "reports/awsgld/studies.json").studies}
EXPLORATION, HITS = STUDIES["awsgld/exploration"], STUDIES["awsgld/hitting-times"]
COLD = ("SGLD, cold", "cycSGLD", "pSGLD", "SGHMC", "cycSGHMC")
HOT = ("SGLD, hot", "reSGLD", "CSGLD", "AWSGLD")


@pytest.mark.power  # seconds of figures and short runs; the text that is committed is held below
def test_every_cell_runs_and_gives_what_is_committed() -> None:
    run = executed(PATH)
    # The live tables are short runs, which another rounding may change.
    live = 2 * 2
    assert texts(run)[:-live] == texts(COMMITTED)[:-live] and len(texts(run)) == len(texts(COMMITTED))
    assert texts(run).count("figure") == 5


def test_the_lengths_are_those_that_are_said() -> None:
    full = EFFORTS["full"]
    assert (full.share, full.most, full.tuning, MOST) == (0.1, 2000, 300, 100_000)
    assert full.share * FIRST.length == 10_000 and full.share * GRIEWANK.length == 20_000


@pytest.mark.parametrize(("place", "most"), [(0, 0.01), (2, 1 / 30)])
def test_the_prose_about_modes_holds(place: int, most: float) -> None:
    share = {row[0]: (row[2], row[3]) for row in EXPLORATION.tables[place].rows}
    assert max(share[name][0] for name in COLD) < most
    plain = max(share[name][0] for name in ("SGLD, cold", "cycSGLD", "pSGLD"))
    assert min(share[name][0] for name in HOT) > 5 * plain
    (mine, error), (hot, other) = share["AWSGLD"], share["SGLD, hot"]
    assert hot - 3 * (error**2 + other**2) ** 0.5 < mine < hot
    # At a zeta at which its weights do not move it would be hot SGLD, draw for draw.
    (mine, error), (hot, other) = share["CSGLD"], share["SGLD, hot"]
    assert (mine, error) != (hot, other) and abs(mine - hot) < (error**2 + other**2) ** 0.5


def test_weights_of_csgld_move_at_the_zeta_that_is_chosen_and_not_at_those_printed_for_awsgld() -> None:
    """A step changes a weight of 1/m by omega theta^(zeta - 1) of itself at most."""
    for printed, most in ((FIRST, 2e-6), (GRIEWANK, 2e-3)):
        (of_csgld,) = (these for these in explorers(printed, EFFORTS["full"]) if these.labels == ("CSGLD",))
        choice = PartitionChoice(**of_csgld.tables["partition"])
        target = build_target(load_configuration(None, target={"name": printed.target, "dim": 2}).target)
        run = make_adaptation(choice, target, printed.high, cumulative=False)
        length = round(printed.length * EFFORTS["full"].share)
        spent = sum(run.omega(k) for k in range(1, length + 1))
        assert run.zeta == ZETA_OF_CSGLD == 1 and spent > 0.8
        assert spent * run.start ** (presets()[printed.preset]["zeta"] - 1) < most


@pytest.mark.parametrize(("place", "length", "time", "factor"), [(1, 10_000, 0.9, 3), (3, 20_000, 1.6, 5)])
def test_the_prose_about_weights_holds(place: int, length: int, time: float, factor: int) -> None:
    spent = sum(omega_of(k, scale=0.1, alpha=0.6, offset=1000.0) for k in range(1, length + 1))
    assert round(spent, 1) == time
    ratios = [row[5] for row in EXPLORATION.tables[place].rows]
    assert ratios[0] == max(ratios) and round(max(ratios)) == factor


def test_the_prose_about_first_hits_holds() -> None:
    least, near = ({row[0]: row[k] for row in HITS.tables[-2].rows} for k in (1, 2))
    assert least["AWSGLD-10"] == 0 and max(least, key=lambda name: least[name]) == "pSGLD"
    assert near["AWSGLD-10"] == near["reSGLD"] == near["cycSGLD"] == 5
    medians = HITS.tables[0]
    for column in range(1, 11):
        finite = [row[0] for row in medians.rows if not str(row[column]).startswith("infinite")]
        name = medians.columns[column]
        assert (
            finite == [] if name == "drop-wave" else finite == ["CSGLD-10"] if name == "shubert" else finite
        )
    (of_csgld,) = (row for row in medians.rows if row[0] == "CSGLD-10")
    assert str(of_csgld[medians.columns.index("shubert")]).endswith("(12/20)") and least["CSGLD-10"] == 2


def test_nothing_of_the_machine_is_committed() -> None:
    assert [cell["metadata"] for cell in COMMITTED["cells"] if cell["metadata"]] == []
    assert [text for text in texts(COMMITTED) if "site-packages" in text or "Traceback" in text] == []
