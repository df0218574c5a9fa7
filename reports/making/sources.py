"""The source files of the checkout that an answer rests on besides those of the package, which are in every key."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def sources(*places: str) -> tuple[str, ...]:
    """The paths of Python files and of those in folders; `places` are given from the root of the checkout."""
    given = [ROOT / place for place in places]
    found = [path for place in given for path in ([place] if place.is_file() else place.rglob("*.py"))]
    return tuple(str(path) for path in sorted(found))
