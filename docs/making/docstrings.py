"""Docstrings are plain text with code between backticks: their formulas are kept from being read as Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

from docs.making.markdown import escaped

_EXAMPLE = re.compile(r"^( *)(>>>|\.\.\. )")
_MARGIN = re.compile(r"^( {4,}|\s*$)")


class PlainDocstrings(griffe.Extension):
    """Escapes the docstring of every object that is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe once for each object."""
        if obj.docstring is not None:
            obj.docstring.value = marked_up(obj.docstring.value)


def marked_up(text: str) -> str:
    """A docstring as Markdown: sentences escaped, indented code and doctests left as code."""
    lines: list[str] = []
    example = False
    for line in text.split("\n"):
        starts = bool(_EXAMPLE.match(line))
        if starts and not example:
            lines.append("```pycon")
        if example and not line.strip():
            lines.append("```")
        example = starts or (example and bool(line.strip()))
        lines.append(line if example or _MARGIN.match(line) else escaped(line))
    return "\n".join([*lines, "```"] if example else lines)
