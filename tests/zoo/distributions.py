"""Installed distributions, made by hand as pip would leave them: modules in a folder of the path, with their metadata."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent


def install(
    folder: Path,
    name: str,
    entry_points: Mapping[str, Mapping[str, str]],
    files: Mapping[str, str] | None = None,
) -> Path:
    """The distribution NAME 1.0 in `folder`: entry points {kind: {name: place}} and files {path: text}; returns the folder."""
    for path, text in (files or {}).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(dedent(text), encoding="utf-8")
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8"
    )
    groups = [
        f"[sgverify.{kind}]\n" + "".join(f"{entry} = {place}\n" for entry, place in entries.items())
        for kind, entries in entry_points.items()
    ]
    (metadata / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    return folder
