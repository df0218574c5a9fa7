"""Studies in the report: every series drawn, gaps and divergence shown and named, tables and notes complete."""

from __future__ import annotations

import dataclasses
import re

import pytest

from sgverify.evidence import Document, Panel, Provenance, Series, Study, Table, read_studies
from sgverify.report.colours import COLOURS, INK, PAPER
from sgverify.report.forms.lines import cell_text
from sgverify.report.markdown import render_markdown
from sgverify.report.page.pages import EVIDENCE, render_page
from sgverify.report.studies import COMPARISONS, FEW, FIGURES, draw_panel, places_of, study_anchor
from sgverify.report.writing import write_report
from tests.report.test_page import Page
from tests.tables import each_row

LENGTHS = tuple(float(n) for n in range(10, 10 + 2 * FEW))
STUDY = Study(
    id="paper/figure-1",
    title="Figure 1: a <figure>",
    source="paper Figure 1",
    summary="What h^2 and theta_0 do.",
    panels=(
        Panel(
            "first panel", "step h", "bias",
            (
                Series("one", "exact", (0.1, 0.2, 0.4, 0.8), (1e-3, 4e-3, None, 6e-2), note="diverged at h = 0.4"),
                Series("two", "exact", (0.1, 0.2, 0.4, 0.8), (2e-3, -1e-3, -4e-3, None), note="diverged at h = 0.8"),
                Series("two", "sampled", (0.1, 0.2, 0.4), (2.1e-3, -1.1e-3, None), (1e-4, 1e-4, None)),
                Series("read off", "printed", (0.1,), (3e-3,)),
            ),
        ),
        Panel("second panel", "number of steps L", "bias", (Series("long", "exact", LENGTHS, LENGTHS),), "linear", "linear"),
    ),
    tables=(Table("Printed and reproduced", ("what", "value"), (("a | b", 0.123456), ("none", None), ("n", 7))),),
    notes=("D is *not* printed.",),
)  # fmt: skip
DOCUMENT = Document((), Provenance("0.0.0", "3.11", "2.13", "a machine", "sgverify report", 1.5))
OTHER = dataclasses.replace(STUDY, id="paper/exploration", title="Exploration", panels=())


def lines(drawing):
    (axes,) = drawing.axes
    return axes.get_lines()


def marked(drawing, sign):
    return [(x, line) for line in lines(drawing) if line.get_marker() == sign for x in line.get_xdata()]


@pytest.fixture
def drawing():
    return draw_panel(STUDY.panels[0], places_of(STUDY))


def test_every_series_is_in_the_legend_once(drawing):
    (axes,) = drawing.axes
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["one", "two", "read off", "points with bars: sampled", "stars: printed"]


def test_curves_of_a_chosen_label_lie_over_the_others():
    panel, places = STUDY.panels[0], places_of(STUDY)
    first = panel.series[0].label
    colour = COLOURS[places[first]]
    (usual,), (chosen,) = draw_panel(panel, places).axes, draw_panel(panel, places, first).axes
    drawn = [line.get_color() for line in chosen.lines if len(line.get_xdata())]
    assert drawn.index(colour) > [line.get_color() for line in usual.lines].index(colour) == 0


def test_a_missing_value_is_a_gap_and_a_cross(drawing):
    (axes,) = drawing.axes
    drawn = [tuple(line.get_xdata()) for line in lines(drawing) if line.get_color() == COLOURS[0]]
    assert (0.1, 0.2) in drawn and not any(0.4 in xs and len(xs) > 1 for xs in drawn)
    crosses = marked(drawing, "x")
    assert sorted(x for x, _ in crosses) == [0.4, 0.4, 0.8]
    # Two curves without a value over one place: their crosses stand over one another, each in its colour.
    heights = {line.get_color(): line.get_ydata()[0] for x, line in crosses if x == 0.4}
    assert set(heights) == {COLOURS[0], COLOURS[1]} and len(set(heights.values())) == 2
    assert axes.get_yscale() == "log"


def test_negative_stretches_are_dashed_and_a_change_of_sign_is_marked(drawing):
    two = [line for line in lines(drawing) if line.get_color() == COLOURS[1] and len(line.get_xdata()) == 2]
    styles = {tuple(line.get_xdata()): line.get_linestyle() for line in two if line.get_linestyle() != "None"}
    assert styles[(0.2, 0.4)] == "--"
    assert [round(x, 3) for x, _ in marked(drawing, "|")] == [round((0.1 * 0.2) ** 0.5, 3)]
    hollow = [
        tuple(line.get_xdata())
        for line in lines(drawing)
        if line.get_color() == COLOURS[1] and line.get_markerfacecolor() == PAPER
    ]
    assert hollow == [(0.2,)]
    (sampled, *_), exact = STUDY.panels, STUDY.panels[0].series[1]
    alone = draw_panel(dataclasses.replace(sampled, series=(exact,)), places_of(STUDY))
    assert [
        tuple(line.get_xdata())
        for line in lines(alone)
        if line.get_markerfacecolor() == PAPER and line.get_marker() != "None"
    ] == [(0.2, 0.4)]
    assert all(y > 0 for line in two for y in line.get_ydata())


def test_folded_values_are_labelled_so(drawing):
    assert drawing.axes[0].get_ylabel() == "|bias|"
    assert draw_panel(STUDY.panels[1], places_of(STUDY)).axes[0].get_ylabel() == "bias"


def test_a_short_logarithmic_axis_has_more_than_one_tick() -> None:
    """Of 1, 2 and 5 times a power of ten, only 1000 lies between these."""
    values = Series("one", "sampled", (0.1, 1.0, 10.0), (985.0, 1134.0, 1859.0))
    (axes,) = draw_panel(Panel("p", "x", "y", (values,)), {"one": 0}).axes
    low, high = axes.get_ylim()
    assert len([tick for tick in axes.get_yticks() if low <= tick <= high]) >= 3


def test_points_without_an_error_have_no_bar() -> None:
    places, values = (0.1, 0.2, 0.4), (3e-3, 2e-3, 1e-3)
    for errors, bars in ((None, 0), ((1e-4, None, 2e-4), 2)):
        series = (
            Series("one", "sampled", places, values)
            if errors is None
            else Series("one", "sampled", places, values, errors)
        )
        (axes,) = draw_panel(Panel("p", "x", "y", (series,)), {"one": 0}).axes
        assert sum(len(drawn.get_segments()) for drawn in axes.collections) == bars


def test_printed_values_are_stars_and_long_curves_have_no_markers(drawing):
    assert [x for x, line in marked(drawing, "*") if line.get_color() == INK] == [0.1]
    long = draw_panel(STUDY.panels[1], places_of(STUDY))
    (curve,) = (line for line in lines(long) if len(line.get_xdata()) == len(LENGTHS))
    assert curve.get_marker() == "None"


def test_a_label_keeps_its_colour_in_every_panel():
    panel = dataclasses.replace(STUDY.panels[0], series=STUDY.panels[0].series[::-1])
    study = dataclasses.replace(STUDY, panels=(STUDY.panels[0], panel))
    assert places_of(study) == {"one": 0, "two": 1, "read off": 2}


def test_an_empty_panel_and_an_exact_zero_are_drawn():
    empty = Panel("nothing", "h", "bias", (Series("one", "exact", (0.1, 0.2), (None, None), note="none"),))
    assert len(marked(draw_panel(empty, {"one": 0}), "x")) == 2
    zero = Panel("zero", "h", "bias", (Series("one", "exact", (0.1, 0.2), (0.0, 1.0)),))
    assert [x for x, _ in marked(draw_panel(zero, {"one": 0}), "$0$")] == [0.1]


def test_the_page_shows_the_studies_under_their_headings():
    text = render_page(DOCUMENT, [OTHER, STUDY])
    page = Page(text)
    assert page.problems == [] and len(page.ids) == len(set(page.ids))
    assert text.index(f">{FIGURES.replace(chr(39), '&#39;')}</h2>") < text.index(f">{COMPARISONS}</h2>")
    for study in (STUDY, OTHER):
        assert study_anchor(study.id) in page.ids and f"#{study_anchor(study.id)}" in page.links
    # One is the picture at the head.
    assert text.count("<figure>") == text.count("<svg role") == render_page(DOCUMENT).count("<figure>") + 3
    assert "Figure 1: a &lt;figure&gt;" in text and "one: diverged at h" in text
    assert "is *not* printed." in text and "0.1235" in text
    assert all(link.startswith(("#", EVIDENCE)) for link in page.links)


def test_without_studies_the_page_is_as_before():
    assert "figures</h2>" not in render_page(DOCUMENT) and render_page(DOCUMENT, ()) == render_page(DOCUMENT)


def test_the_same_studies_give_the_same_bytes():
    assert render_page(DOCUMENT, [STUDY]) == render_page(DOCUMENT, [STUDY])


def test_markdown_has_the_tables_the_notes_and_what_is_missing():
    text = render_markdown(DOCUMENT, [STUDY])
    rows = [line for line in text.splitlines() if line.startswith(r"| a \| b")]
    assert rows == [r"| a \| b | 0.1235 |"]
    assert "| none | — |" in text and "| n | 7 |" in text
    assert r"is \*not\* printed." in text
    assert "- first panel: one: diverged at h = 0.4" in text
    assert re.search(r"^## The paper's figures$", text, re.MULTILINE)


def test_studies_are_a_file_of_the_report(tmp_path):
    write_report(DOCUMENT, tmp_path, [STUDY])
    assert read_studies(tmp_path / "studies.json").studies == (STUDY,)
    assert read_studies(tmp_path / "studies.json").provenance == DOCUMENT.provenance


@each_row(
    ("value", "text"), [(None, "—"), (3, "3"), (1234567, "1234567"), (0.000123456, "0.0001235"), ("x", "x")]
)
def test_cells(value, text):
    assert cell_text(value) == text
