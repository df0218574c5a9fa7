"""The page of a notebook: its text, its code, and the outputs that are stored in it; what prepares the figures is closed."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from textwrap import indent
from typing import Any

from docs.making.markdown import block, page

SET_UP = "# Set-up"
"""The first line of a cell that prepares the others."""


def notebook_page(text: str) -> str:
    """A notebook's JSON as Markdown; of an output the richest form that is stored."""
    parts: list[str] = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else _code(source))
        for output in cell.get("outputs", ()):
            parts += _shown(output)
    return page(*parts)


def _code(source: str) -> str:
    """A cell of code; closed, where it prepares the others: imports, colours and the functions that draw."""
    made = block("python", source)
    if not source.startswith(SET_UP):
        return made
    return '??? note "Set-up: imports, data, and the functions of this page"\n\n' + indent(made, " " * 4)


def _shown(output: Mapping[str, Any]) -> Iterator[str]:
    data = {kind: "".join(found) for kind, found in output.get("data", {}).items()}
    if "image/png" in data:
        yield f"![a figure](data:image/png;base64,{data['image/png'].strip()})"
    elif "image/svg+xml" in data:
        yield f"![a figure](data:image/svg+xml;base64,{b64encode(data['image/svg+xml'].encode()).decode()})"
    elif "text/markdown" in data:
        yield data["text/markdown"]
    elif said := data.get("text/plain") or "".join(output.get("text", ())):
        yield block("text", said)
