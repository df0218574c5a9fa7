"""What does the folder of a paper declare, and which papers are there?"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from sgverify.claims.publication import Publication
from sgverify.errors import find_named

ROOM = "sgverify.papers"


@dataclass(frozen=True, kw_only=True)
class Paper:
    """The parts of one paper's folder; modules are named relative to the folder and imported on first use.

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

    def asked_of(self, place: str) -> Callable[[str], Any]:
        """The function "module:function" of an effort, whose module loads when it is called."""
        return lambda effort: self.load(place)(effort)

    def load(self, place: str) -> Any:
        """The module `place` of the folder, or the attribute "module:attribute"."""
        module, _, name = place.partition(":")
        loaded = import_module(f"{ROOM}.{self.folder}.{module}")
        return getattr(loaded, name) if name else loaded


@cache
def papers() -> tuple[Paper, ...]:
    """The papers whose folders declare a `PAPER`, by year."""
    rooms = [entry.name for entry in pkgutil.iter_modules(import_module(ROOM).__path__) if entry.ispkg]
    found = [getattr(import_module(f"{ROOM}.{name}"), "PAPER", None) for name in rooms]
    return tuple(
        sorted((paper for paper in found if paper), key=lambda paper: (paper.publication.year, paper.id))
    )


def publication_of(id: str) -> Publication:
    """The publication of the paper with this id; raises `UnknownNameError` with the nearest one."""
    return find_named("paper", id, {paper.id: paper.publication for paper in papers()})
