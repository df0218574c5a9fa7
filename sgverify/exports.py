"""Names that a room exports and loads only when they are asked for (PEP 562)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazily(room: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a room, which loads a name from the module that its `if TYPE_CHECKING:` imports it from.

    A name is kept in the room once it is loaded. `dir(room)` shows its `__all__`, loaded or not, and nothing else. A name may not
    be that of a module of the room: Python would give the module, once that is loaded.
    """
    module_of = lazy_names(room)

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        found = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[room], name, found)
        return found

    def names() -> list[str]:
        return sorted(sys.modules[room].__all__)

    return load, names


def lazy_names(room: str) -> dict[str, str]:
    """The names imported below `if TYPE_CHECKING:` in the text of a room, each with its module."""
    # Not by the loader: that of pytest, which rewrites asserts, has no source.
    place = str(sys.modules[room].__file__)
    blocks = [
        item
        for item in ast.parse(Path(place).read_text(encoding="utf-8")).body
        if isinstance(item, ast.If) and isinstance(item.test, ast.Name) and item.test.id == "TYPE_CHECKING"
    ]
    return {
        alias.name: str(statement.module)
        for block in blocks
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
