"""What does the folder of a paper declare, and which papers are there?"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any

from sgverify.claims.claim import Publication
from sgverify.errors import find_named
from sgverify.plugins import Installed, Plugin, of_type

ROOM = "sgverify.papers"


@dataclass(frozen=True, kw_only=True)
class Paper:
    """The parts of one paper's folder; modules are named relative to the folder and imported on first use.

    `folder` is the package of that folder: below `sgverify.papers`, or, of a paper that another distribution adds, `__name__`.

    `id` begins the ids of its claims, errata and studies; `publication` names title, authors and year. `suite` is
    "module:function" of its suite, a function of the effort. `errata` are the modules that hold `FORMULAS`, in the paper's order.
    `studies` maps a study's name to "module:function", in the order in which a report shows them.
    """

    id: str
    publication: Publication
    folder: str
    suite: str = ""
    errata: tuple[str, ...] = ()
    studies: Mapping[str, str] = field(default_factory=dict)
    room: str = ROOM

    @property
    def package(self) -> str:
        """The whole name of the folder's package."""
        return f"{self.room}.{self.folder}" if self.room else self.folder

    def asked_of(self, place: str) -> Callable[[str], Any]:
        """The function "module:function" of an effort, whose module loads when it is called."""
        return lambda effort: self.load(place)(effort)

    def load(self, place: str) -> Any:
        """The module `place` of the folder, or the attribute "module:attribute"."""
        module, _, name = place.partition(":")
        loaded = import_module(f"{self.package}.{module}")
        return getattr(loaded, name) if name else loaded


def papers() -> tuple[Paper, ...]:
    """The papers whose folders declare a `PAPER`, by year: first those that ship, then those of other distributions."""
    return (*_by_year(_shipped().values()), *_by_year(INSTALLED.values()))


def _by_year(papers: Iterable[Paper]) -> list[Paper]:
    return sorted(papers, key=lambda paper: (paper.publication.year, paper.id))


@cache
def _shipped() -> Mapping[str, Paper]:
    rooms = [entry.name for entry in pkgutil.iter_modules(import_module(ROOM).__path__) if entry.ispkg]
    found = [getattr(import_module(f"{ROOM}.{name}"), "PAPER", None) for name in rooms]
    return {paper.id: paper for paper in found if paper}


def _read(plugin: Plugin, found: Any) -> Paper:
    of_type(plugin, found, Paper)
    if found.id != plugin.name:
        raise plugin.refused(f"the paper calls itself {found.id!r}")
    return replace(found, room="", folder=plugin.module)


INSTALLED: Installed[Paper] = Installed("papers", _read, lambda name: name in _shipped())
"""The papers that other distributions add."""


def publication_of(id: str) -> Publication:
    """The publication of the paper with this id; raises `UnknownNameError` with the nearest one."""
    return find_named("paper", id, {paper.id: paper.publication for paper in papers()})
