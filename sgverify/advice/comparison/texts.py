"""Tables and a picture as LaTeX, Markdown, CSV, SVG and PDF."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sgverify.errors import UserError
from sgverify.evidence import Panel, Table
from sgverify.evidence.study import Cell
from sgverify.keeping.files import write_atomically
from sgverify.report.formulas import in_a_line
from sgverify.report.markdown import as_text, table_of
from sgverify.report.rate_plot import check_plot_path, write_drawing
from sgverify.report.studies import cell_text, description_of, draw_panel
from sgverify.report.svg import embedded, file_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POWER = re.compile(r"\^(\(\d+\)|-?\d+)")


def draw(panel: Panel | None) -> Figure:
    """The curves as a matplotlib figure. Raises `UserError` where there are none."""
    if panel is None:
        raise UserError("no scheme of the comparison has a curve; expected one that has; compare others")
    return draw_panel(panel, {series.label: place for place, series in enumerate(panel.series)})


def write_plot(panel: Panel | None, path: str | Path) -> Figure:
    """The figure, written as SVG for light and dark screens, PNG or PDF."""
    check_plot_path(path)
    drawing = draw(panel)
    if panel is not None and Path(path).suffix.lower() == ".svg":
        write_atomically(path, svg(panel))
    else:
        write_drawing(drawing, path)
    return drawing


def svg(panel: Panel) -> str:
    """The figure as an SVG file for light and dark screens."""
    return file_svg(draw(panel), in_a_line(panel.title), in_a_line(description_of(panel)))


def inline_figure(panel: Panel, prefix: str) -> str:
    """The figure as an element of a page, its ids with this prefix."""
    return embedded(draw(panel), prefix, in_a_line(panel.title), in_a_line(description_of(panel)))


def markdown(settings: str, tables: Sequence[Table], notes: Sequence[str]) -> str:
    """Settings, tables and notes."""
    blocks = [as_text(settings)]
    for table in tables:
        rows = [table.columns, *([cell_text(cell) for cell in row] for row in table.rows)]
        blocks += [f"**{as_text(table.title)}**", table_of([[as_text(cell) for cell in row] for row in rows])]
    return "\n\n".join([*blocks, "\n".join(f"- {as_text(item)}" for item in notes)]) + "\n"


def csv_text(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Rows of values under their names."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([head, *rows])
    return stream.getvalue()


def latex(caption: str, tables: Sequence[Table], notes: Sequence[str]) -> str:
    """A table environment with booktabs: the tables, and the notes below."""
    lines = [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}",
        r"\centering",
        r"\small",
        rf"\caption{{{_tex(caption)}}}",
    ]
    for table in tables:
        lines += [
            rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
            rf"\multicolumn{{{len(table.columns)}}}{{l}}{{{_tex(table.title)}}} \\",
            r"\toprule",
            " & ".join(map(_tex, table.columns)) + r" \\",
            r"\midrule",
            *(
                rf"\texttt{{{_tex(str(name))}}} & {' & '.join(map(_tex_cell, row))} \\"
                for name, *row in table.rows
            ),
            r"\bottomrule",
            r"\end{tabular}",
            r"\par",
            r"\medskip",
        ]
    notes = [_tex(item) + r"\par" for item in notes]
    return (
        "\n".join([*lines, r"\begin{flushleft}\footnotesize", *notes, r"\end{flushleft}", r"\end{table}"])
        + "\n"
    )


def _tex_cell(cell: Cell) -> str:
    if not isinstance(cell, float):
        return _tex(cell_text(cell))
    lead, _, power = f"{cell:.4g}".partition("e")
    return rf"${lead} \cdot 10^{{{int(power)}}}$" if power else f"${lead}$"


_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"}}


def _tex(text: str) -> str:
    """Text with its powers as formulas."""
    pieces = POWER.split(text)
    return "".join(f"$^{{{piece}}}$" if place % 2 else _plain(piece) for place, piece in enumerate(pieces))


def _plain(text: str) -> str:
    escaped = "".join(_TEX.get(sign, sign) for sign in text)
    return escaped.replace("^", r"\textasciicircum{}").replace("->", r"$\to$")
