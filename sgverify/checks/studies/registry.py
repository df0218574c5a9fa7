"""The studies by name, suite/study: each builds one `Study` at an effort of "quick", "default" or "full"."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

from sgverify.errors import find_named
from sgverify.evidence import Study

Builder = Callable[[str], Study]


def _at(place: str) -> Builder:
    """The builder `module:function` below this package, loaded when it is first called."""

    def build(effort: str) -> Study:
        module, _, name = place.partition(":")
        study: Study = getattr(import_module(f"sgverify.checks.studies.{module}"), name)(effort)
        return study

    return build


STUDIES: dict[str, Builder] = {
    "chen2015/figure-1": _at("invariant_bias:figure_1"),
    "chen2015/figure-5": _at("traces:figure_5"),
    "chen2015/figure-7": _at("traces:figure_7"),
    "chen2015/figure-3": _at("comparison:figure_3"),
    "chen2015/figure-6": _at("comparison:figure_6"),
    "chen2015/figure-8": _at("comparison:figure_8"),
    "chen2015/equal-cost": _at("equal_cost:equal_cost"),
    "vr-resgld/figure-2": _at("exchange.figures:figure_2"),
    "vr-resgld/figure-6": _at("exchange.figures:figure_6"),
    "awsgld/exploration": _at("adaptive.exploration:exploration"),
    "awsgld/hitting-times": _at("adaptive.hitting:hitting_times"),
}


def studies_of(suite: str) -> tuple[str, ...]:
    """The names of a suite's studies, in the order in which a report shows them."""
    return tuple(name for name in STUDIES if name.partition("/")[0] == suite)


def build_study(name: str, effort: str) -> Study:
    """One study, timed; raises `UnknownNameError` with the nearest name."""
    make = find_named("study", name, STUDIES)
    started = time.perf_counter()
    study = make(effort)
    if study.id != name:
        raise ValueError(f"study {name!r} calls itself {study.id!r}; expected one name")
    return replace(study, seconds=round(time.perf_counter() - started, 3))
