"""The notebook of the paper's figures runs, is committed as it runs, and its prose says what its tables say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.notebooks.executing import executed
from tests.notebooks.test_chen2015 import texts

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
PATH = FOLDER / "chen2015-figures.ipynb"
COMMITTED = json.loads(PATH.read_text(encoding="utf-8"))
FIGURES = ("figure-1", "figure-5", "figure-7", "figure-3", "figure-6", "figure-8")
TABLES = dict(zip(FIGURES, (text for text in texts(COMMITTED) if text.startswith("**")), strict=True))


def rows(figure: str, *words: str) -> list[list[str]]:
    """The rows of a figure's tables that contain all of the words."""
    lines = [line for line in TABLES[figure].splitlines() if all(word in line for word in words)]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_cell_runs_and_gives_what_is_committed(tmp_path: Path) -> None:
    run = executed(PATH, tmp_path)
    assert all(cell["execution_count"] for cell in run["cells"] if cell["cell_type"] == "code")
    assert texts(run) == texts(COMMITTED)
    assert texts(run).count("figure") == len(FIGURES)


def test_the_figures_are_those_of_the_registry() -> None:
    from sgverify.checks.studies import studies_of

    shown = [
        "".join(cell["source"]).split('"')[1]
        for cell in COMMITTED["cells"]
        if cell["cell_type"] == "code" and "".join(cell["source"]).startswith("show(")
    ]
    assert tuple(shown) == FIGURES
    assert [f"chen2015/{name}" for name in shown] == [
        name for name in studies_of("chen2015") if name.startswith("chen2015/figure-")
    ]


@pytest.mark.parametrize("figure", ["figure-5", "figure-7"])
def test_the_prose_about_the_rates_holds(figure: str) -> None:
    """With minibatches smaller exponents are overtaken and the best one of the MSE too; with full gradients none is."""
    for row in rows(figure, "surpassed by", "iid"):
        assert row[-1] == "holds"
    for row in rows(figure, "surpassed by", "full gradients"):
        assert row[-1] == "holds in part"
    assert [row[-1] for row in rows(figure, "mean square error: the optimal", "iid")] == ["does not hold"] * 2


def test_the_prose_about_the_comparisons_holds() -> None:
    for figure in ("figure-3", "figure-6"):
        found = [row[-1] for row in rows(figure, "SGHMC has a smaller", "fixed step", "iid")]
        assert found and set(found) == {"does not hold"}
        found = [row[-1] for row in rows(figure, "SGHMC has a smaller", "fixed step", "full gradients")]
        assert found and set(found) == {"holds in part"}
    for figure in ("figure-3", "figure-8"):
        found = [row[-1] for row in rows(figure, "SGHMC has a smaller", "decreasing step")]
        assert found and set(found) == {"holds"}
        edges = rows(figure, "| SGLD as", "h\\_1 = 0.003")
        assert edges and all("grid's end" in row[3] for row in edges)


def test_the_prose_about_euler_holds() -> None:
    assert [row[-1] for row in rows("figure-1", "explodes when")] == ["holds", "holds"]


def test_nothing_of_the_machine_is_committed() -> None:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert COMMITTED["metadata"] == {"kernelspec": kernel, "language_info": {"name": "python"}}
    assert [cell["metadata"] for cell in COMMITTED["cells"] if cell["metadata"]] == []
    assert [text for text in texts(COMMITTED) if "site-packages" in text or "Traceback" in text] == []
