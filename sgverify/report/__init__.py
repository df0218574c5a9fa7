"""Reports from evidence: JSON, HTML, Markdown and JUnit, the figures, and lines for a terminal.

`answer` comes before the evidence, `text` is the terminal's form, `page` and `markdown` the report's, `writing` its folder
with JUnit; `formulas` shows formulas to readers. `matrix`, `errata` and `wording` are parts of it; `campaign` has a page of its
own. Figures: `figures` chooses the data, `drawing` draws, `studies` has panels of its own, `rate_plot` is one rate, `svg` what
lives inside a page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.report.drawing import draw
    from sgverify.report.errata import counted, explain_errata, explain_erratum
    from sgverify.report.figures import Curve, Figure, Guide
    from sgverify.report.markdown import render_markdown
    from sgverify.report.matrix import Group, groups
    from sgverify.report.page import render_evidence, render_page
    from sgverify.report.text import counts, explain, summarise, tallied
    from sgverify.report.wording import fitted_text
    from sgverify.report.writing import prepare_folder, render_junit, write_report

__all__ = [
    "Curve",
    "Figure",
    "Group",
    "Guide",
    "counted",
    "counts",
    "draw",
    "explain",
    "explain_errata",
    "explain_erratum",
    "fitted_text",
    "groups",
    "prepare_folder",
    "render_evidence",
    "render_junit",
    "render_markdown",
    "render_page",
    "summarise",
    "tallied",
    "write_report",
]

__getattr__, __dir__ = lazily(__name__)
