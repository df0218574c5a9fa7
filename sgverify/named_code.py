"""Code that a data file names runs only where it is asked for; where its sha256 was recorded, the two are compared.

A configuration, stored evidence or a row of a regression file may name a scheme or a target in a Python file. To read such a file
must not run code that its reader has not seen. Code is asked for by being named on the command line, by `--run-code`, or, in
a program, by `with sgverify.run_code():`. A program has also asked for the files that it has loaded already.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgverify.code_files import hash_of, hashes_of, place_in
from sgverify.errors import UserError

OPTION = "--run-code"

CODE_KEYS = ("target.name", "target.loader", "adapter.density")
"""The keys of a configuration whose values may name code."""

DIGITS = 12
"""The digits of a sha256 that messages show."""

_WORDS = re.compile(r"[^\s=\"'\[\]{},]+")


@dataclass(frozen=True)
class Asked:
    """Which code was asked for: all, or that of some files (by real paths) and modules; in a program, what it has loaded too."""

    everything: bool = False
    places: frozenset[str] = frozenset()
    loaded: bool = True

    def covers(self, reference: str, folder: str | Path = ".") -> bool:
        """May the code of a reference, seen from a folder, run?"""
        place = place_in(reference)
        if self.everything or place is None or _ships(place):
            return True
        return _real(place, folder) in self.places or (self.loaded and _is_loaded(place, folder))


_ASKED: ContextVar[Asked | None] = ContextVar("sgverify_asked", default=None)


def asked() -> Asked:
    """Which code is asked for here; another process is told by `asking`."""
    return _ASKED.get() or Asked()


@contextmanager
def asking(what: Asked) -> Iterator[None]:
    """A context in which just this code is asked for."""
    token = _ASKED.set(what)
    try:
        yield
    finally:
        _ASKED.reset(token)


@contextmanager
def run_code(*places: str) -> Iterator[None]:
    """A context in which code runs that data files name: that of these files and modules, or all where none is given.

    with sgverify.run_code("mine.py"):
        sgverify.verify("sgld-euler", "configuration.toml")
    """
    before = asked()
    named = frozenset(_real(place_in(place) or place) for place in places)
    with asking(Asked(before.everything or not places, before.places | named, before.loaded)):
        yield


@contextmanager
def named_on(arguments: Iterable[str]) -> Iterator[None]:
    """A context of a command line, in which the code is asked for that its arguments name: mine.py:heun, target.name=mine.py:f.

    A bare word names a file if it ends in .py, and never a module: the words of commands and options are words as well.
    """
    texts = [part for word in arguments for part in (word, word.partition("=")[2], *_WORDS.findall(word))]
    places = {place_in(text) or text for text in texts if place_in(text) or text.endswith(".py")}
    with asking(Asked(asked().everything, frozenset(map(_real, places)), loaded=False)):
        yield


def named_in(tree: Mapping[str, Any]) -> dict[str, str]:
    """The references to code in a tree of configuration keys, by key."""
    found = {}
    for key in CODE_KEYS:
        table, _, name = key.partition(".")
        value = tree[table].get(name) if isinstance(tree.get(table), Mapping) else None
        if isinstance(value, str) and place_in(value) is not None:
            found[key] = value
    return found


def refuse_unasked(
    source: str, named: Mapping[str, str], recorded: Mapping[str, str] | None = None, folder: str | Path = "."
) -> None:
    """Raise `UserError` if code that a data file names, `named` by key, was not asked for.

    `recorded` has the sha256 of the files as the data file holds them; paths start from `folder`.
    """
    key = next((key for key, reference in named.items() if not asked().covers(reference, folder)), None)
    if key is None:
        return
    reference = named[key]
    raise UserError(
        f"{source} names code, {key}={reference!r}{_told(reference, recorded, folder)}; expected a file that names none, or to be "
        f"asked; look at the code, then give {OPTION}, or in a program `with sgverify.run_code():`"
    )


def _told(reference: str, recorded: Mapping[str, str] | None, folder: str | Path) -> str:
    """The place and sha256 of the code of a reference, and what was recorded of it, in brackets."""
    changed = changes(recorded, folder) if recorded else []
    if changed:
        return f" ({'; '.join(changed)})"
    place = place_in(reference) or ""
    file = Path(folder, place)
    if not place.endswith(".py") or not os.path.isfile(file):
        return ""
    return f" ({file}, sha256 {hash_of(file)[:DIGITS]}{', as recorded' if recorded else ''})"


def changes(recorded: Mapping[str, str], folder: str | Path = ".") -> list[str]:
    """A sentence for every file whose sha256 is not the recorded one any more.

    >>> changes({"gone.py": "0" * 64})
    ['gone.py is missing, sha256 recorded 000000000000']
    """
    found = []
    for name, digest in recorded.items():
        file = Path(folder, name)
        now = hash_of(file) if os.path.isfile(file) else None
        if now is None:
            found.append(f"{name} is missing, sha256 recorded {digest[:DIGITS]}")
        elif now != digest:
            found.append(f"{name} has changed, sha256 recorded {digest[:DIGITS]}, now {now[:DIGITS]}")
    return found


def recorded_for(scheme: str, configuration: Mapping[str, Any], folder: str | Path = ".") -> dict[str, str]:
    """The sha256 of all files of the code that a question names, by path from the folder."""
    return hashes_of([scheme, *named_in(configuration).values()], folder)


def _ships(place: str) -> bool:
    """Is it a module of this package? A file sgverify.py of somebody is none."""
    return not place.endswith(".py") and place.split(".")[0] == "sgverify"


def _real(place: str, folder: str | Path = ".") -> str:
    try:
        return os.path.realpath(Path(folder, place)) if place.endswith(".py") else place
    except ValueError:
        # No path has a null character.
        return place


def _is_loaded(place: str, folder: str | Path) -> bool:
    if not place.endswith(".py"):
        return place in sys.modules and place.split(".")[0] not in sys.stdlib_module_names
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    base, real = os.path.basename(place), _real(place, folder)
    return any(os.path.realpath(file) == real for file in files if file and os.path.basename(file) == base)
