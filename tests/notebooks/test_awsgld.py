"""The notebook of awsgld's experiments runs, is committed as it runs, and its prose says what its tables say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reports.experiments.awsgld.exploration import explorers
from reports.experiments.awsgld.settings import EFFORTS, FIRST, GRIEWANK, MOST, ZETA_OF_CSGLD
from sgverify.configuration import load_configuration
from sgverify.evidence import read_studies
from sgverify.schemes.composites.adaptation import PartitionChoice, make_adaptation, presets
from sgverify.schemes.composites.composite import omega_of
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
    assert (full.share, full.most, full.tuning, MOST) == (1.0, 100_000, 2000, 100_000)
    assert (FIRST.length, GRIEWANK.length, full.chains, full.trials) == (100_000, 200_000, 20, 20)


def shares(place: int) -> dict[str, tuple[float, float]]:
    return {row[0]: (row[2], row[3]) for row in EXPLORATION.tables[place].rows}


def apart(place: int, one: str, other: str) -> float:
    """How many standard errors more `other` has seen than `one`."""
    (a, e), (b, f) = shares(place)[one], shares(place)[other]
    return float((b - a) / (e**2 + f**2) ** 0.5)


def test_the_prose_about_modes_holds() -> None:
    rastrigin, griewank = shares(0), shares(2)
    assert max(rastrigin[name][0] for name in COLD) < 0.02
    moving = ("SGHMC", "cycSGHMC")
    assert all(0.1 < griewank[name][0] < 0.135 for name in moving)
    assert max(griewank[name][0] for name in COLD if name not in moving) < 0.05
    for found, low, high in ((rastrigin, 1 / 3, 2 / 3), (griewank, 1 / 6, 0.3)):
        assert low < min(found[name][0] for name in HOT) and max(found[name][0] for name in HOT) < high
    assert all(3 < apart(place, "AWSGLD", "SGLD, hot") < 4 for place in (0, 2))
    # At a zeta at which its weights do not move it would be hot SGLD, draw for draw.
    assert 2 < apart(0, "CSGLD", "SGLD, hot") < 3 and 0 < abs(apart(2, "CSGLD", "SGLD, hot")) < 1


def test_weights_of_csgld_move_at_the_zeta_that_is_chosen_and_not_at_those_printed_for_awsgld() -> None:
    """A step changes a weight of 1/m by omega theta^(zeta - 1) of itself at most."""
    for printed, most in ((FIRST, 1e-5), (GRIEWANK, 2e-2)):
        (of_csgld,) = (these for these in explorers(printed, EFFORTS["full"]) if these.labels == ("CSGLD",))
        choice = PartitionChoice(**of_csgld.tables["partition"])
        target = build_target(load_configuration(None, target={"name": printed.target, "dim": 2}).target)
        run = make_adaptation(choice, target, printed.high, cumulative=False)
        length = round(printed.length * EFFORTS["full"].share)
        spent = sum(run.omega(k) for k in range(1, length + 1))
        assert run.zeta == ZETA_OF_CSGLD == 1 and spent > 0.8
        assert spent * run.start ** (presets()[printed.preset]["zeta"] - 1) < most


@pytest.mark.parametrize(
    ("place", "length", "time", "below", "error"), [(1, 100_000, 6.3, 4, 5), (3, 200_000, 10.7, 3, 3)]
)
def test_the_prose_about_weights_holds(place: int, length: int, time: float, below: int, error: int) -> None:
    spent = sum(omega_of(k, scale=0.1, alpha=0.6, offset=1000.0) for k in range(1, length + 1))
    assert round(spent, 1) == time
    lowest = EXPLORATION.tables[place].rows[0]
    assert round(1 / lowest[5]) == below and round(lowest[3] / lowest[4]) == error


def test_the_prose_about_first_hits_holds() -> None:
    least, near, complete = ({row[0]: row[k] for row in HITS.tables[-2].rows} for k in (1, 2, 3))
    assert (least["AWSGLD-10"], least["pSGLD"], max(least.values())) == (1, 5, 5)
    assert (near["AWSGLD-10"], near["reSGLD"], near["pSGLD"], near["AWSGLD-100"]) == (8, 8, 8, 9)
    assert complete["reSGLD"] == 9 == max(complete.values()) and list(complete.values()).count(9) == 1
    medians = {row[0]: row[1:] for row in HITS.tables[0].rows}
    assert not [text for text in medians["reSGLD"] if text.startswith("infinite")]
    reached = [int(text.rpartition("(")[2].partition("/")[0]) for text in medians["pSGLD"]]
    assert sum(count < 10 for count in reached) == 2
    assert medians["AWSGLD-10"][-1] == "736 (10/20)"
    assert (
        min(int(row[-1].split()[0]) for row in HITS.tables[0].rows if not row[-1].startswith("infinite"))
        == 736
    )
    ended = [row[8] for table in HITS.tables[1:-2] for row in table.rows if row[8] is not None]
    assert len(ended) == 9 and max(ended) < 3000


def test_nothing_of_the_machine_is_committed() -> None:
    assert [cell["metadata"] for cell in COMMITTED["cells"] if cell["metadata"]] == []
    assert [text for text in texts(COMMITTED) if "site-packages" in text or "Traceback" in text] == []
