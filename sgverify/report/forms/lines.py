"""Tables and lists in the lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sgverify.errors import filled
from sgverify.evidence.study import Cell


def cell_text(value: Cell) -> str:
    """A cell of a study's table: numbers to four digits, whole ones in full."""
    if value is None:
        return "—"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def column_lines(rows: Iterable[Sequence[Cell]], left: int = 1, gap: str = "  ") -> list[str]:
    """A table for a terminal: the first columns to the left, the others to the right, a gap between them."""
    cells = [[cell_text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    placed = (
        (f"{text:{'<' if k < left else '>'}{w}}" for k, (text, w) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    )
    return [f"  {gap.join(row)}".rstrip() for row in placed]


def item_lines(items: Iterable[str]) -> list[str]:
    """A list, a dash before each item."""
    return [filled(item, "  - ") for item in items]


def section_lines(sections: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """A list under each heading that has one."""
    return [line for heading, items in sections if items for line in ("", f"{heading}:", *item_lines(items))]
