"""Which settings of an application does a paper print? They lie in the paper's folder, as data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from sgverify.errors import UnknownNameError


@cache
def printed_settings(paper: str, application: str) -> Mapping[str, Any]:
    """The table [`application`] of `papers/PAPER/applications.toml`: settings and results as they are printed.

    Raises `UnknownNameError` for an application that the file does not have.
    """
    file = resources.files("sgverify").joinpath("papers", paper, "applications.toml")
    read = tomllib.loads(file.read_text(encoding="utf-8"))
    if application not in read:
        raise UnknownNameError(f"application of papers/{paper}/applications.toml", application, read)
    found: Mapping[str, Any] = read[application]
    return found
