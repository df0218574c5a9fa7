"""How does Markdown write a text that is no Markdown: escaped, in a table, in a block?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = {mark: f"\\{mark}" for mark in "\\*_[]>#"} | {"<": "&lt;", "|": "&#124;", "$": "&#36;"}
"""How a mark is written that Markdown, a table or a formula would take for its own."""

_CODE = re.compile(r"(`[^`]*`)")


def escaped(line: str) -> str:
    """A line in which only code between backticks is markup: formulas such as h^2 and theta**2 stay as they are."""
    parts = _CODE.split(line)
    parts[::2] = ["".join(_SPECIAL.get(mark, mark) for mark in part) for part in parts[::2]]
    return "".join(parts)


def plain(text: str) -> str:
    """A text in one line, for a paragraph or the cell of a table."""
    return _CODE.sub(lambda code: code[0].replace("|", "\\|"), escaped(" ".join(text.split())))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def block(language: str, text: str) -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def page(*parts: str) -> str:
    """The parts, with blank lines between them."""
    return "\n\n".join(part for part in parts if part) + "\n"
