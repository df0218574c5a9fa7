"""The settings of an application that a paper prints: the file of the paper's name beside this one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sgverify.errors import UnknownNameError


@cache
def printed_settings(paper: str, application: str) -> Mapping[str, Any]:
    """The table [`application`] of `PAPER.toml`: settings and results as they are printed.

    Raises `UnknownNameError` for an application that the file does not have.
    """
    file = Path(__file__).with_name(f"{paper}.toml")
    read = tomllib.loads(file.read_text(encoding="utf-8"))
    if application not in read:
        raise UnknownNameError(f"application of {file.name}", application, read)
    found: Mapping[str, Any] = read[application]
    return found
