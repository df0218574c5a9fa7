"""Which files hold the code of a reference, and which is their sha256? Told by reading them: nothing is run."""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
INSTALLED = frozenset({"site-packages", "dist-packages"})
"""The folders that distributions are installed in: of this environment, a user's own, and those that another environment lends."""


def place_in(reference: str) -> str | None:
    """The file or module of `path/to/file.py:attribute` or `module:attribute`; None for a name of a catalogue.

    >>> place_in("sub/mine.py:heun"), place_in("shop.schemes:heun"), place_in("sghmc-aboba")
    ('sub/mine.py', 'shop.schemes', None)
    """
    place, _, attribute = reference.rpartition(":")
    return place if place and attribute else None


def files_of(reference: str, folder: str | Path = ".") -> tuple[Path, ...]:
    """The file that a reference names, seen from a folder, and every file of the user's that it imports, directly or not.

    Not among them: the standard library, installed distributions and this package. An import whose name is computed while the
    code runs (`importlib.import_module(name)`) is not seen. Empty for a name of a catalogue and for a file that is missing.
    """
    place, folder = place_in(reference), os.path.abspath(folder)
    if place is None:
        return ()
    if place.endswith(".py"):
        first = Path(folder, place)
        return tuple(_reached([first], first.parent)) if os.path.isfile(first) else ()
    return tuple(_reached(_module_files(place, [folder, *sys.path]), Path(folder)))


def hashes_of(references: Iterable[str], folder: str | Path = ".") -> dict[str, str]:
    """The sha256 of every file of the references' code, by its path from the folder; that of an absolute reference is absolute.

    Of a file that ran in this process it is that of the text that ran.
    """
    found: dict[str, str] = {}
    for reference in references:
        absolute = os.path.isabs(place_in(reference) or "")
        for file in files_of(reference, folder):
            place = os.path.abspath(file)
            name = place if absolute else os.path.relpath(place, os.path.abspath(folder))
            found[Path(name).as_posix()] = _RAN.get(os.path.realpath(place)) or hash_of(file)
    return dict(sorted(found.items()))


def hash_of(file: str | Path) -> str:
    """The sha256 of a file's content, in hexadecimal digits."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def remember(file: str | Path, content: bytes) -> None:
    """Keep the sha256 of the text of a file that is about to run."""
    _RAN[os.path.realpath(file)] = hashlib.sha256(content).hexdigest()


_RAN: dict[str, str] = {}


def _reached(first: Sequence[Path], folder: Path) -> Iterator[Path]:
    """The user's files among these, and those that they import, each once."""
    waiting, seen = [file for file in first if is_own(file)], set[str]()
    while waiting:
        file = waiting.pop(0)
        real = os.path.realpath(file)
        if real not in seen:
            seen.add(real)
            yield file
            waiting += [other for other in _imported(file, str(folder)) if is_own(other)]


def _imported(file: Path, folder: str) -> Iterator[Path]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    places = [folder, *sys.path]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module_files(alias.name, places)
        elif isinstance(node, ast.ImportFrom) and node.level:
            package = (
                file.resolve().parents[node.level - 1] if node.level <= len(file.resolve().parents) else None
            )
            for alias in node.names if package else ():
                inner = ".".join([*([node.module] if node.module else []), alias.name])
                yield from _module_files(inner, [str(package)])
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield from _module_files(f"{node.module}.{alias.name}", places)


def _module_files(name: str, places: Sequence[str]) -> list[Path]:
    """The files that an import of a dotted name runs: those of its packages and its own; a last part may be no module."""
    first, *others = name.split(".")
    if first in sys.stdlib_module_names or first == "sgverify":
        return []
    found: list[Path] = []
    spec = _spec(first, tuple(places))
    while spec is not None:
        if spec.origin is not None and spec.has_location:
            if not is_own(Path(spec.origin)):
                break
            if spec.origin.endswith(".py"):
                found.append(Path(spec.origin))
        if not others or not spec.submodule_search_locations:
            break
        # The last part alone: with its whole name a folder without `__init__.py` would ask for its parent, which is not imported.
        spec = _spec(others.pop(0), tuple(spec.submodule_search_locations))
    return found


def _spec(name: str, places: tuple[str, ...]) -> ModuleSpec | None:
    try:
        return PathFinder.find_spec(name, list(places))
    except (ImportError, ValueError, OSError):
        return None


def is_own(file: Path) -> bool:
    """Is a file neither of the standard library, nor of an installed distribution, nor of this package?"""
    place = Path(os.path.realpath(file))
    return INSTALLED.isdisjoint(place.parts) and not any(place.is_relative_to(folder) for folder in _others())


@cache
def _others() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return (PACKAGE, *(Path(os.path.realpath(sysconfig.get_path(name))) for name in names))


__all__ = ["files_of", "hash_of", "hashes_of", "is_own", "place_in", "remember"]
