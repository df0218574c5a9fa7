"""The studies by name, suite/study: each builds one `Study` at an effort of "quick", "default" or "full"."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from sgverify.errors import find_named
from sgverify.evidence import Study
from sgverify.papers.paper import papers

Builder = Callable[[str], Study]


def studies() -> dict[str, Builder]:
    """Every study by its name suite/study, in the order in which a report shows them; modules load when one is built."""
    return {
        f"{paper.id}/{name}": paper.asked_of(place)
        for paper in papers()
        for name, place in paper.studies.items()
    }


def studies_of(suite: str) -> tuple[str, ...]:
    """The names of a suite's studies, in the order in which a report shows them."""
    return tuple(name for name in studies() if name.partition("/")[0] == suite)


def build_study(name: str, effort: str) -> Study:
    """Build one study and time it; raises `UnknownNameError` with the nearest name."""
    make = find_named("study", name, studies())
    started = time.perf_counter()
    study = make(effort)
    if study.id != name:
        raise ValueError(f"study {name!r} calls itself {study.id!r}; expected one name")
    return replace(study, seconds=round(time.perf_counter() - started, 3))
