"""Where does a file of the repository stand on the site, and what do the links of a document become there?

The README is the first page and the files of `docs/` stand at the top; every other file keeps its path, a notebook as a page.
Generated pages are no files of the repository: a document names one in brackets, `[limits]`, which a code host shows as they stand.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = "README.md"
DOCS = "docs/"
NOTEBOOK = ".ipynb"

_SCHEME = re.compile(r"[a-z]+:")
_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
_NAMED = re.compile(r"\[([a-z]+)\](?![\[(:])")
_FENCE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def place_of(path: str) -> str:
    """The place on the site of a path from the root of the repository."""
    if path.endswith(NOTEBOOK):
        return path.removesuffix(NOTEBOOK) + ".md"
    return "index.md" if path == README else path.removeprefix(DOCS)


def in_repository(place: str) -> str:
    """The path from the root of the repository of a place on the site; a page that is generated is one of `docs/`."""
    notebook = place.removesuffix(".md") + NOTEBOOK
    if (ROOT / notebook).is_file():
        return notebook
    if place == "index.md":
        return README
    return place if (ROOT / place).is_file() else DOCS + place


def targets(text: str, path: str) -> list[str]:
    """The paths from the root of the repository that the document at `path` links to."""
    found = []
    for part in _FENCE.split(text)[::2]:
        found += [_target(match[2], path) for match in _LINK.finditer(part) if _local(match[2])]
    return found


def rewritten(text: str, path: str) -> str:
    """The document at `path` with its links as they are on the site."""
    home = posixpath.dirname(place_of(path))

    def link(match: re.Match[str]) -> str:
        if not _local(match[2]):
            return match[0]
        place = posixpath.relpath(place_of(_target(match[2], path)), home or ".")
        return f"{match[1]}{place}{match[3]}"

    parts = _FENCE.split(text)
    parts[::2] = [_LINK.sub(link, part) for part in parts[::2]]
    return "".join(parts)


def named(text: str, generated: Iterable[str]) -> str:
    """The document with links where it names generated pages in brackets; `generated` are their places."""
    places = {posixpath.basename(place).removesuffix(".md"): place for place in generated}

    def link(match: re.Match[str]) -> str:
        place = places.get(match[1])
        return match[0] if place is None else f"[{match[1]}]({place})"

    parts = _FENCE.split(text)
    parts[::2] = [_NAMED.sub(link, part) for part in parts[::2]]
    return "".join(parts)


def _local(link: str) -> bool:
    return not _SCHEME.match(link)


def _target(link: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
