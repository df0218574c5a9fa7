"""A result, as a terminal, a notebook, an article and a program show it: one definition for every answer.

An answer says in one `Exhibit` what it holds: its settings, tables, notes, and curves or bars. From it come the data frame, LaTeX,
Markdown, the picture and the page of a notebook.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgverify.evidence import Panel, Study, Table
from sgverify.report.forms.bars import Bars

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from sgverify.report.picture import Picture


class Result:
    """An answer with its forms; a subclass has an `exhibit`, and the terminal's text as its `str`."""

    @property
    def exhibit(self) -> Exhibit:
        """What there is to show."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return str(self)

    @property
    def drawable(self) -> bool:
        """Is there something to draw?"""
        return bool(self.exhibit.panels) or self.exhibit.bars is not None

    def records(self) -> list[dict[str, Any]]:
        """The rows of the data frame, a value under each name: those of the first table."""
        tables = self.exhibit.tables[:1]
        return [dict(zip(table.columns, row, strict=True)) for table in tables for row in table.rows]

    def to_dataframe(self) -> pandas.DataFrame:
        """The numbers as a pandas data frame, a row for each of `records`."""
        import pandas

        return pandas.DataFrame(self.records())

    def to_latex(self) -> str:
        """A table environment with booktabs, the settings in its caption."""
        from sgverify.report.forms.latex import latex

        shown = self.exhibit
        told = [*shown.notes, *filter(None, [shown.conventions])]
        return latex(shown.settings, shown.tables, told)

    def to_markdown(self) -> str:
        """Settings, tables and notes."""
        from sgverify.report.markdown import as_text, table_blocks

        shown = self.exhibit
        notes = [f"- {as_text(note)}" for note in (*shown.notes, *filter(None, [shown.conventions]))]
        tables = (block for table in shown.tables for block in table_blocks(table))
        return "\n\n".join(filter(None, (as_text(shown.settings), *tables, "\n".join(notes)))) + "\n"

    def plot(
        self, path: str | Path | None = None, *, axes: Axes | None = None, beside: Iterable[Result] = ()
    ) -> Picture | Axes:
        """The picture, with the curves of results `beside` it; written to `path` (.svg, .png or .pdf) if one is given.

        `axes` of one's own get the curves of the first panel, and are returned. Raises `UserError` where there is nothing to draw.
        """
        from sgverify.report.studies import draw_into, draw_panels
        from sgverify.report.svg import check_plot_path

        if path is not None:
            check_plot_path(path)
        more = tuple(
            series for other in beside for panel in other.exhibit.panels[:1] for series in panel.series
        )
        panels = tuple(replace(panel, series=(*panel.series, *more)) for panel in self.exhibit.panels)
        if axes is not None:
            return draw_into(axes, panels)
        picture = draw_panels(panels) if more else self.picture()
        if path is not None:
            picture.save(path)
        return picture

    def picture(self) -> Picture:
        """The picture of this result alone."""
        from sgverify.report.studies import draw_panels

        shown = self.exhibit
        return (
            draw_panels(shown.panels, shown.stars, shown.above) if shown.bars is None else shown.bars.drawn()
        )

    def _repr_html_(self) -> str | None:
        """The picture, and the text of the terminal."""
        shown = ""
        if self.drawable:
            picture = self.picture()
            data = b64encode(picture.file_text().encode()).decode()
            shown = f'<img alt="{escape(picture.title)}" src="data:image/svg+xml;base64,{data}">'
        return f'{shown}<pre style="white-space:pre-wrap">{escape(str(self))}</pre>'


@dataclass(frozen=True, repr=False)
class Exhibit(Result):
    """Tables, curves or bars, with the settings in a line, notes, and the `conventions` of the columns in a paragraph.

    `stars` are points of the first panel that are marked, and `above` the words above it.
    """

    tables: tuple[Table, ...] = ()
    panels: tuple[Panel, ...] = ()
    notes: Sequence[str] = ()
    settings: str = ""
    conventions: str = ""
    bars: Bars | None = None
    stars: tuple[tuple[float, float], ...] = ()
    above: str = ""

    @staticmethod
    def of(study: Study) -> Exhibit:
        """What a study holds; its notes are followed by the remarks on missing values."""
        from sgverify.report.studies import notes_of

        return Exhibit(study.tables, study.panels, notes_of(study), study.summary)

    @property
    def exhibit(self) -> Exhibit:
        """Itself."""
        return self

    def _repr_html_(self) -> str | None:
        # Markdown is shown where there is no HTML.
        return None

    def _repr_markdown_(self) -> str:
        return self.to_markdown()
