"""The report as two HTML pages that open offline: `index.html` with the story, and `evidence.html` with all evidence.

In an order for reading: `environment` (templates, filters and colours that all pages share), `story` (the first screen),
`pages` (what stands below it, both pages, rendered, and figures as files for Markdown).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.report.page.environment import DARK_COLOURS, anchor
    from sgverify.report.page.pages import EVIDENCE, INDEX, render_evidence, render_page

__all__ = ["DARK_COLOURS", "EVIDENCE", "INDEX", "anchor", "render_evidence", "render_page"]

__getattr__, __dir__ = lazily(__name__)
