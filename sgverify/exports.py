"""Names that a package exports and loads only when they are asked for (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazily(
    package: str, rooms: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that exports `rooms`, {module: names in it}.

    A name is kept in the package once it is loaded. `dir(package)` shows its `__all__`, loaded or not, and nothing else.
    """
    room_of = {name: room for room, names in rooms.items() for name in names}

    def load(name: str) -> Any:
        if name not in room_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(room_of[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return load, names
