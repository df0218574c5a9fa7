"""Tables in LaTeX, as an article prints them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sgverify.evidence import Table
from sgverify.evidence.study import Cell
from sgverify.report.forms.lines import cell_text

POWER = re.compile(r"\^(\(-?[\d/]+\)|-?\d+(?:\.\d+)?|[A-Za-z])")

_OPERATOR = re.compile(r"^([^:]+): (h\^\d+ \( .* \)(?: rho)?)(, .*)?$")
"""A note with a leading error: `scheme: h^3 ( (1/12) [A,B] ) rho, a remark`."""


def latex(caption: str, tables: Sequence[Table], notes: Sequence[str]) -> str:
    """A table environment with booktabs: the tables, and the notes below, leading errors among them as formulas."""
    lines = [
        r"% Needs \usepackage{amsmath,booktabs}.",
        r"\begin{table}",
        r"\centering",
        r"\small",
        rf"\caption{{{_tex(caption)}}}",
    ]
    for table in tables:
        lines += [
            rf"\begin{{tabular}}{{{''.join(map(_side, zip(*table.rows, strict=True)))}}}",
            rf"\multicolumn{{{len(table.columns)}}}{{l}}{{{_tex(table.title)}}} \\",
            r"\toprule",
            " & ".join(map(_tex, table.columns)) + r" \\",
            r"\midrule",
            *(" & ".join([_name(name), *map(_tex_cell, row)]) + r" \\" for name, *row in table.rows),
            r"\bottomrule",
            r"\end{tabular}\par\medskip",
        ]
    said = [rf"{_note(item)}\par" for item in notes]
    return "\n".join(
        [*lines, r"\begin{flushleft}\footnotesize", *said, r"\end{flushleft}", r"\end{table}", ""]
    )


def _side(column: Sequence[Cell]) -> str:
    """Numbers to the right, words to the left."""
    return "r" if all(re.match(r"[-+]?\d|—|- ?\(|-$", cell_text(cell)) for cell in column) else "l"


def _name(cell: Cell) -> str:
    """The first cell of a row; a name of one word as code."""
    word = isinstance(cell, str) and " " not in cell
    return rf"\texttt{{{_tex(str(cell))}}}" if word else _tex_cell(cell)


def _tex_cell(cell: Cell) -> str:
    if not isinstance(cell, float) and not re.fullmatch(r"-?[\d.]+e[-+]\d+", str(cell)):
        return re.sub(r"^- \((\w+)\)$", r"--\\textsuperscript{\1}", _tex(cell_text(cell)))
    lead, _, power = (f"{cell:.4g}" if isinstance(cell, float) else str(cell)).partition("e")
    return rf"${lead} \cdot 10^{{{int(power)}}}$" if power else f"${lead}$"


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_SIGNS = {"->": r"$\to$", "<=": r"$\le$", ">=": r"$\ge$", "<": "$<$", ">": "$>$", "|": "$|$"}


def _tex(text: str) -> str:
    """Text with its powers as formulas."""
    pieces = POWER.split(text)
    return "".join(f"$^{{{piece}}}$" if place % 2 else _plain(piece) for place, piece in enumerate(pieces))


def _note(text: str) -> str:
    found = _OPERATOR.match(text)
    if found is None:
        return _tex(text)
    name, operator, rest = found.groups()
    operator = re.sub(r"\((\d+)/(\d+)\)", r"\\tfrac{\1}{\2}", operator)
    operator = re.sub(r"(U'+)\^", r"(\1)^", operator)
    operator = re.sub(r"\^(\(\d+\)|-?\d+)", r"^{\1}", operator).replace("rho", r"\rho").replace(",", r",\,")
    return rf"\texttt{{{_plain(name)}}}: ${operator}${_tex(rest or '')}"


def _plain(text: str) -> str:
    pieces = re.split("(->|<=|>=|[<>|])", text)
    return "".join(_SIGNS.get(piece) or "".join(_TEX.get(sign, sign) for sign in piece) for piece in pieces)
