"""Settings of adaptively weighted runs by name: what papers print, read from `papers/<paper>/presets.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from sgverify.errors import DefinitionError


@cache
def presets() -> Mapping[str, Mapping[str, Any]]:
    """The presets by name, each a table with keys of [partition]; papers by name, and within a paper as its file has them.

    Raises `DefinitionError` where two papers have a preset of one name.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for paper in sorted(resources.files("sgverify").joinpath("papers").iterdir(), key=lambda room: room.name):
        file = paper.joinpath("presets.toml")
        if not file.is_file():
            continue
        read = tomllib.loads(file.read_text(encoding="utf-8"))
        if twice := sorted(read.keys() & found.keys()):
            raise DefinitionError(
                f"papers/{paper.name}/presets.toml: another paper has a preset {twice[0]!r}."
            )
        found.update(read)
    return found
