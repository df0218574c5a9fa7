"""The page of a notebook: its text, its code, and the outputs that are stored in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from docs.making.markdown import block, page


def notebook_page(text: str) -> str:
    """A notebook's JSON as Markdown; of an output the richest form that is stored."""
    parts: list[str] = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else block("python", source))
        for output in cell.get("outputs", ()):
            parts += _shown(output)
    return page(*parts)


def _shown(output: Mapping[str, Any]) -> Iterator[str]:
    data = {kind: "".join(found) for kind, found in output.get("data", {}).items()}
    if "image/png" in data:
        yield f"![a figure](data:image/png;base64,{data['image/png'].strip()})"
    elif "text/markdown" in data:
        yield data["text/markdown"]
    elif said := data.get("text/plain") or "".join(output.get("text", ())):
        yield block("text", said)
