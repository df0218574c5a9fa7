"""A calibration on paper: false verdicts stand out, columns say something, the plot has the same bytes twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reports.making.calibration import bars_of
from reports.making.calibration.document import Calibration, decode_calibration
from reports.making.calibration.page import (
    counted_bars,
    draw_calibration,
    render_calibration,
    write_calibration_report,
)
from tests.making.calibration.test_document import BAR, CELL, WHOLE

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / "reports" / "calibration"
TRUST = " ".join((ROOT / "docs" / "trust.md").read_text(encoding="utf-8").split())


@pytest.fixture
def whole() -> Calibration:
    breaks = replace(CELL, name="order 1", truth="breaks", conforms=3, violates=6, habit=4)
    margin = replace(CELL, name="15 % of order 1", truth="either", habit=5, noise=0.01)
    quiet = replace(
        CELL, name="order 4", conforms=10, violates=0, inconclusive=0, sampling="coupled", covered=None
    )
    table = replace(WHOLE.tables[0], cells=(CELL, breaks, margin, quiet))
    other = replace(WHOLE.tables[0], title="Alike", cells=(CELL,))
    return replace(WHOLE, tables=(table, replace(table, cells=(quiet,)), other))


def row(text: str, *starts: str) -> list[str]:
    (found,) = {line for line in text.splitlines() if line.startswith("| " + " | ".join(starts))}
    return [part.strip() for part in found.strip("|").split("|")]


def test_false_verdicts_are_bold_and_right_ones_are_not(whole: Calibration) -> None:
    text = render_calibration(whole)
    assert row(text, "order 1", "independent")[-6:] == ["10", "**30.0**", "60.0", "10.0", "90.0", "**40.0**"]
    assert row(text, "order 2", "independent")[-6:] == ["10", "80.0", "**10.0**", "10.0", "90.0", "-"]
    assert "**" not in " ".join(row(text, "15 % of order 1"))
    assert row(text, "order 4", "coupled", "yes")[-2:] == ["-", "-"]


def test_columns_that_say_nothing_are_left_out(whole: Calibration) -> None:
    text = render_calibration(whole)
    assert text.count("| sampling |") == 1 and "| claim |" not in text
    assert "| truth | noise | samples | conforms | violates | inconclusive | interval covers |\n" in text


def test_few_are_not_none() -> None:
    rare = replace(CELL, replications=10_000, conforms=9998, violates=1, inconclusive=1, covered=9500)
    text = render_calibration(replace(WHOLE, tables=(replace(WHOLE.tables[0], cells=(rare,)),)))
    assert "**< 0.1**" in text


def test_bars_are_told_with_their_worst_cell() -> None:
    text = render_calibration(WHOLE)
    assert (
        "| ? undecided | false violates | at most 1% | 1 | 10.00 % | 0.25 to 44.50 % | order 2, claimed"
        in text
    )
    both = replace(BAR, low=0.93, high=0.97, outcome="missed")
    lines = counted_bars(replace(WHOLE, bars=(BAR, both, replace(BAR, low=0.85, high=None)))).splitlines()
    assert "undecided" in lines[0] and "at most 1%" in lines[0]
    assert lines[1].startswith("✗ missed") and "93% to 97%" in lines[1]
    assert "at least 85%" in lines[2]


def test_three_files_with_the_same_bytes_twice(whole: Calibration, tmp_path: Path) -> None:
    for name in ("one", "two"):
        page = write_calibration_report(whole, tmp_path / name)
        assert page.name == "calibration.md" and "(calibration.svg)" in page.read_text(encoding="utf-8")
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two")
    )
    assert one == two and len(one) == 3
    ElementTree.fromstring(one["calibration.svg"])
    assert decode_calibration(json.loads(one["calibration.json"])) == whole


def test_the_bars_of_the_plot_are_the_shares(whole: Calibration) -> None:
    drawing = draw_calibration(whole)
    panels = {axes.get_title().split("\n")[0]: axes for axes in drawing.axes if axes.get_title()}
    assert set(panels) == {"order 2", "order 1", "15 % of order 1", "order 4"}
    heights = [patch.get_height() for patch in panels["order 1"].patches]
    assert heights == pytest.approx([30, 10, 60])
    assert [line.get_ydata()[0] for line in panels["order 1"].lines] == pytest.approx([40])
    assert "breaks the claim" in panels["order 1"].get_title()


def test_the_committed_tables_are_those_of_the_committed_numbers() -> None:
    text = (COMMITTED / "calibration.json").read_text(encoding="utf-8")
    committed = decode_calibration(json.loads(text))
    assert bars_of(committed.tables) == committed.bars
    assert render_calibration(committed) == (COMMITTED / "calibration.md").read_text(encoding="utf-8")
    assert counted_bars(committed).count("\n") == len(committed.bars) - 1


def test_the_documents_quote_the_committed_numbers() -> None:
    committed = decode_calibration(json.loads((COMMITTED / "calibration.json").read_text(encoding="utf-8")))
    quoted = {cell.name: cell for cell in committed.tables[0].cells if cell.noise == 0.01}
    mixed, right = quoted["20% of order 1 in order 2"], quoted["order 2"]
    assert mixed.habit is not None and right.habit is not None
    assert round(5 * mixed.habit / mixed.replications) == 1  # accepted 1 time in 5
    assert round(5 * (1 - right.habit / right.replications)) == 2  # refused 2 times in 5
    assert "accepts a fifth of first-order error 1 time in 5 at 1 % noise" in TRUST
    assert "refuses a correct method 2 times in 5" in TRUST
    # What is inconclusive, and the bar that is missed, in the words of docs/trust.md.
    (coupled,) = (c for c in committed.tables[1].cells if (c.name, c.noise) == ("order 2", 0.01))
    independent = (
        f"{100 * right.inconclusive / right.replications:.0f} % of the samples if its points are independent"
    )
    assert independent in TRUST
    decided = f"of points on one Brownian path {100 * coupled.conforms / coupled.replications:.0f} % conform"
    assert decided in TRUST
    (hidden,) = (bar for bar in committed.bars if bar.statement.endswith("hides a fifth"))
    assert hidden.outcome == "missed" and "twice the size" in TRUST and "-200% of order 4" in hidden.worst
    assert (
        f"{100 * hidden.count / hidden.replications:.0f} % of the samples conform: a bar that is missed"
        in TRUST
    )


def test_all_other_bars_on_false_verdicts_hold_or_are_named_in_the_documents() -> None:
    committed = decode_calibration(json.loads((COMMITTED / "calibration.json").read_text(encoding="utf-8")))
    missed = {
        bar.statement: bar for bar in committed.bars if bar.outcome == "missed" and "false" in bar.statement
    }
    named = {
        "hides a fifth": "hides a fifth of first order",
        "logarithm alone": "h log h passes for order 1",
        "point nulls": "a point null of heavy-tailed draws",
    }
    for statement, bar in missed.items():
        (said,) = (words for part, words in named.items() if part in statement)
        assert said in TRUST and f"{100 * bar.count / bar.replications:.0f} %" in TRUST
    rates = [
        table
        for table in committed.tables
        if table.name not in ("point-nulls", "screening", "masked-a-fifth")
    ]
    for table in rates:
        for cell in table.cells:
            assert cell.name in ("h log h", "h^2 log h") or (cell.wrong or 0) <= 0.01 * cell.replications
