"""How a command line names a scheme that a test module made."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sgverify.schemes import NAMED, Scheme, TorchStep


def reference_of(scheme: Scheme | TorchStep | str, namespace: Mapping[str, Any]) -> str:
    """A catalogue name, or `path/to/file.py:attribute` where the scheme stands at the top of a module.

    `namespace` is that of the module that asks; every other module that was imported is searched next, since a
    word does not know where it was made. A scheme that stands nowhere is called by its name, which no command
    line can load.
    """
    if isinstance(scheme, str):
        return scheme
    if scheme.reference:
        return scheme.reference
    if NAMED.get(scheme.name) is scheme:
        return scheme.name
    for place in (namespace, *(vars(module) for _, module in sorted(sys.modules.items()))):
        file = place.get("__file__")
        if file:
            for attribute, value in list(place.items()):
                if value is scheme:
                    return f"{_short(file)}:{attribute}"
    return scheme.name


def _short(file: str) -> str:
    path = Path(os.path.abspath(file))
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


__all__ = ["reference_of"]
