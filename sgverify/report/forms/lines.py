"""Tables and lists in the lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import TextWrapper

from sgverify.errors import printable
from sgverify.evidence.study import Cell


def cell_text(value: Cell) -> str:
    """A cell of a study's table: numbers to four digits, whole ones in full."""
    if value is None:
        return "—"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def column_lines(rows: Iterable[Sequence[Cell]], left: int = 1, most: int | None = None) -> list[str]:
    """A table for a terminal: the first columns to the left, the others to the right; the first column is cut at `most` in all."""
    cells = [[cell_text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if most is not None:
        widths[0] = min(widths[0], max(12, widths[0] + most - sum(widths) - 2 * len(widths)))
    return [
        "".join(
            f"  {_cut(text, w):{'<' if k < left else '>'}{w}}"
            for k, (text, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    kept = width - 3
    return f"{text[: kept // 2]}...{text[len(text) - (kept - kept // 2) :]}"


def item_lines(items: Iterable[str], width: int) -> list[str]:
    """A list, a dash before each item."""
    lists = TextWrapper(width, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False)
    return [printable(line) for item in items for line in lists.wrap(item)]


def section_lines(sections: Iterable[tuple[str, Sequence[str]]], width: int) -> list[str]:
    """A list under each heading that has one."""
    return [
        line
        for heading, items in sections
        if items
        for line in ("", f"{heading}:", *item_lines(items, width))
    ]
