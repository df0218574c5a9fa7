"""A drawing, as a notebook shows it, a page holds it and a file keeps it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from sgverify.keeping.files import write_atomically
from sgverify.report.colours import STYLE
from sgverify.report.formulas import in_a_line
from sgverify.report.svg import check_plot_path, embedded, file_svg, pdf

DOTS = 150


class Picture(Figure):
    """A matplotlib figure of a `size` in inches that follows light and dark screens; a notebook shows it.

    `title` and `description` are for readers who do not see it.
    """

    def __init__(self, size: tuple[float, float], title: str, description: str, **how: Any) -> None:
        super().__init__(figsize=size, **how)
        FigureCanvasSVG(self)
        self.title, self.description = in_a_line(title), in_a_line(description)

    def embedded(self, prefix: str) -> str:
        """An element of a page, in the page's colours, its ids with this prefix."""
        return embedded(self, prefix, self.title, self.description)

    def file_text(self, unit: str = "pt") -> str:
        """An SVG file for light and dark screens, letters as large as on paper; lengths in another `unit`, "" for pixels."""
        return file_svg(self, self.title, self.description, unit)

    def _repr_svg_(self) -> str:
        # In one line, of which a notebook keeps one.
        return self.file_text().replace("\n", "")

    def save(self, path: str | Path) -> None:
        """Write SVG, PNG or PDF by the file's name; the same drawing gives the same bytes.

        Raises `ConfigurationError` for another kind of file, `UserError` where it cannot be written.
        """
        check_plot_path(path)
        kind = Path(path).suffix.lower()[1:]
        write_atomically(
            path, pdf(self) if kind == "pdf" else self._png() if kind == "png" else self.file_text()
        )

    def _png(self) -> bytes:
        raw = io.BytesIO()
        with matplotlib.rc_context(STYLE):
            self.savefig(raw, format="png", dpi=DOTS, metadata={"Software": None}, facecolor="white")
        return raw.getvalue()
