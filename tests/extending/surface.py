"""The names and signatures that extensions are written with; `python -m tests.extending.surface` writes them to surface.txt."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sgverify.extending

HANDED = ("Claim", "Configuration", "Evidence", "Scheme", "Subject", "Target", "TorchStep")
"""Classes whose objects an extension is handed and makes none of itself: their names, for annotations, are what is promised."""

FILE = Path(__file__).with_name("surface.txt")


def surface() -> str:
    """One line for each name, then its fields or its public methods, indented."""
    return "".join(
        line + "\n"
        for name in sgverify.extending.__all__
        for line in lines(name, getattr(sgverify.extending, name))
    )


def lines(name: str, found: Any) -> Iterator[str]:
    if not inspect.isclass(found):
        yield f"{name}{inspect.signature(found) if callable(found) else f': {type(found).__name__}'}"
        return
    yield f"class {name}({', '.join(base.__name__ for base in found.__bases__)})"
    if name in HANDED:
        return
    if dataclasses.is_dataclass(found):
        for field in dataclasses.fields(found):
            optional = (
                field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
            )
            yield f"    {field.name}: {field.type}{' = ...' if optional else ''}"
    for attribute, value in sorted(vars(found).items()):
        if not attribute.startswith("_") and inspect.isfunction(value):
            yield f"    {attribute}{inspect.signature(value)}"


if __name__ == "__main__":
    FILE.write_text(surface(), encoding="utf-8")
