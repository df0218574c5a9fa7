"""What does a check settle and what can it not see, in the words of its function's docstring?"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

CANNOT_SEE = "Cannot see: "
"""The beginning of the paragraph about what a check cannot see."""


@dataclass(frozen=True)
class Description:
    """The first line of the docstring, its other paragraphs, and what the check cannot see, "" if nothing is said."""

    summary: str
    details: tuple[str, ...]
    cannot_see: str

    @property
    def text(self) -> str:
        """What the check settles and what it cannot see, in one line."""
        return f"{self.summary} {CANNOT_SEE}{self.cannot_see}" if self.cannot_see else self.summary


@cache
def described(place: str) -> Description:
    """The description of the function module:function, read from its file, which is not loaded."""
    module, _, name = place.partition(":")
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None, module
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    paragraphs = [" ".join(text.split()) for text in (ast.get_docstring(function) or "").split("\n\n")]
    unseen = [text.removeprefix(CANNOT_SEE) for text in paragraphs if text.startswith(CANNOT_SEE)]
    details = [text for text in paragraphs[1:] if not text.startswith(CANNOT_SEE)]
    return Description(paragraphs[0], tuple(details), " ".join(unseen))
