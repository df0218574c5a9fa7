"""The notebook of the paper's figures runs, is committed as it runs, and its prose says what its tables say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reports.experiments import experiments_of
from reports.experiments.chen2015 import settings
from reports.experiments.chen2015.experiment import draws_of, smaller
from reports.experiments.chen2015.tuning import CONTENDERS, tuned_over
from tests.notebooks.executing import executed, texts

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
PATH = FOLDER / "chen2015-figures.ipynb"
COMMITTED = json.loads(PATH.read_text(encoding="utf-8"))
FIGURES = ("figure-1", "figure-5", "figure-7", "figure-3", "figure-6", "figure-8")
TABLES = dict(zip(FIGURES, (text for text in texts(COMMITTED) if "\n**" in text), strict=True))


def rows(figure: str, *words: str) -> list[list[str]]:
    """The rows of a figure's tables that contain all of the words."""
    lines = [line for line in TABLES[figure].splitlines() if all(word in line for word in words)]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.power  # seconds of figures and short runs; the text that is committed is held below
def test_every_cell_runs_and_gives_what_is_committed() -> None:
    run = executed(PATH)
    assert texts(run) == texts(COMMITTED)
    assert texts(run).count("figure") == len(FIGURES)


def test_the_figures_are_those_of_the_registry() -> None:
    shown = [
        "".join(cell["source"]).split('"')[1]
        for cell in COMMITTED["cells"]
        if cell["cell_type"] == "code" and "".join(cell["source"]).startswith("show(")
    ]
    assert tuple(shown) == FIGURES
    assert tuple(f"chen2015/{name}" for name in shown) == experiments_of("chen2015")


@pytest.mark.parametrize("figure", ["figure-5", "figure-7"])
def test_the_prose_about_the_rates_holds(figure: str) -> None:
    """With minibatches smaller exponents are overtaken and the best one of the MSE too; with full gradients none is."""
    for row in rows(figure, "surpassed by", "iid"):
        assert row[-1] == "holds"
    for row in rows(figure, "surpassed by", "full gradients"):
        assert row[-1] == "holds in part"
    three, four = rows(figure, "mean square error: the optimal", "iid")
    assert three[-1] == "does not hold" and spread(four[-2], "does not hold")[0] >= 21
    assert spread(four[-2], "(?<!not )holds")[1] > 1.5 or four[-1] == "does not hold"


def spread(cell: str, word: str) -> tuple[int, float, float]:
    """At how many draws a statement comes out so, and the least and largest |m| of these."""
    found = re.search(rf"{word} at (\d+) of \d+: \\\|m\\\| (?:from (\S+) to (\S+?)|= (\S+?))(?:;|$)", cell)
    if found is None:
        return 0, 0.0, 0.0
    low, high = (found[2], found[3]) if found[2] else (found[4], found[4])
    return int(found[1]), float(low), float(high)


def test_the_prose_about_the_comparisons_holds() -> None:
    for figure in ("figure-3", "figure-6"):
        found = rows(figure, "SGHMC has a smaller", "fixed step", "iid")
        assert found and {row[-1] for row in found} == {"depends on the data"}
        # No draw with |m| up to 0.8 lets SGHMC be ahead at any length.
        others = [spread(row[-2], word) for row in found for word in ("(?<!not )holds", "holds in part")]
        assert min(low for count, low, _ in others if count) > 0.8
        found = rows(figure, "SGHMC has a smaller", "fixed step", "full gradients")
        assert found and all(spread(row[-2], "does not hold")[0] == 0 for row in found)
    for figure in ("figure-3", "figure-8"):
        found = rows(figure, "SGHMC has a smaller", "decreasing step")
        assert found and all(spread(row[-2], "does not hold")[0] == 0 for row in found)
        assert min(spread(row[-2], "(?<!not )holds")[0] for row in found) >= 22
        edges = rows(figure, "| SGLD as", "h₁ = 0.003")
        assert edges and all("grid's end" in row[3] for row in edges)


def test_the_prose_about_figure_3_far_from_the_start_holds() -> None:
    """From |m| of 1.17 on SGHMC is ahead at five of the six lengths at least."""
    draws = draws_of(24)
    far = [seed for seed in range(24) if abs(draws.means[seed]) > 1.15]
    assert len(far) == 6
    ours, *others = (
        tuned_over(contender, "iid", "horizon", "bias", settings.TUNED_AT["main"], draws)
        for contender in CONTENDERS
    )
    for theirs in others:
        ahead = sum(smaller(ours.values("bias", n), theirs.values("bias", n)) for n in settings.LENGTHS)
        assert min(ahead[seed] for seed in far) >= 5


def test_the_prose_about_euler_holds() -> None:
    assert [row[-1] for row in rows("figure-1", "explodes when")] == ["holds", "holds"]


def test_nothing_of_the_machine_is_committed() -> None:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert COMMITTED["metadata"] == {"kernelspec": kernel, "language_info": {"name": "python"}}
    assert [cell["metadata"] for cell in COMMITTED["cells"] if cell["metadata"]] == []
    assert [text for text in texts(COMMITTED) if "site-packages" in text or "Traceback" in text] == []
