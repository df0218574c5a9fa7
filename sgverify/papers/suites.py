"""The studies by name, suite/study: each builds one `Study` at an effort of "quick", "default" or "full".

A suite of one's own: schemes and settings that a user's file lists, judged and reported as those of a paper are.

Suites: the schemes and configurations in which a paper's claims are settled; each paper's own is in its folder.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

from sgverify.checks.applicable_claims import judge
from sgverify.checks.rates.sampled.rates import with_sampled_points
from sgverify.checks.verify_and_rate import rate
from sgverify.configuration import load_configuration
from sgverify.errors import UserError, find_named
from sgverify.evidence import Evidence, Study
from sgverify.papers.paper import papers
from sgverify.schemes.loading import Wanted, load_object, load_step
from sgverify.subject.binding import make_subject
from sgverify.user_code import own_code

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


KEYS = ("scheme", "settings", "checks", "chains")

_SUITE = Wanted(
    key="suite",
    noun="suite",
    type=(list, tuple, FunctionType),
    written=(
        'a list of schemes ["mine.py:heun", {"scheme": "mine.py:heun", "settings": {"gradient.kind": "iid"}}], or a function of '
        'the effort ("quick", "default", "full") that returns one'
    ),
    catalogue="claims",
)


@dataclass(frozen=True)
class OwnSuite:
    """The suite that `path/to/file.py:name` names: a `title`, and its cases at an effort."""

    reference: str
    title: str
    listed: Any

    def __call__(self, effort: str) -> list[SuiteCase]:
        """The cases at an effort. Raises `UserError`, before anything is judged, for a wrong entry."""
        found = self.listed
        if isinstance(found, FunctionType):
            with own_code():
                found = found(effort)
        if not isinstance(found, list | tuple) or not found:
            raise UserError(f"suite={self.reference!r}: {_shown(found)}; expected {_SUITE.written}")
        # What is listed twice is judged once.
        return list(dict.fromkeys(self._case(number, entry) for number, entry in enumerate(found, start=1)))

    def _case(self, number: int, entry: Any) -> SuiteCase:
        given = f"suite={self.reference!r}, entry {number}"
        if isinstance(entry, SuiteCase):
            case = entry
        elif isinstance(entry, str):
            case = SuiteCase(entry, ())
        elif isinstance(entry, Mapping):
            case = _read(given, entry)
        else:
            raise UserError(
                f"{given}: {_shown(entry)}; expected the reference of a scheme, or a table with {', '.join(KEYS)}"
            )
        try:
            load_step(case.scheme)
            load_configuration(None, case.settings)
        except UserError as error:
            raise UserError(f"{given}: {error}") from None
        return case


def load_suite(reference: str) -> OwnSuite:
    """The suite that `path/to/file.py:name` or `module:name` names.

    An entry is the reference of a scheme, or a table: `scheme`, `settings` ({"gradient.kind": "iid"}), `checks` (by default all
    that apply) and `chains` (sampled points beside the exact ones). References of schemes are those of a command line, in the
    current folder. The title is the first line of the function's docstring, or of the file's beside a list. Raises `UserError`.
    """
    listed = load_object(reference, _SUITE)
    name = reference.rpartition(":")[2]
    return OwnSuite(reference, _title(listed, reference) or name, listed)


def _title(listed: Any, reference: str) -> str:
    """The first line of a docstring, without its full stop; "" where there is none."""
    place = reference.rpartition(":")[0]
    if isinstance(listed, FunctionType):
        text = inspect.getdoc(listed)
    elif place.endswith(".py"):
        text = ast.get_docstring(ast.parse(Path(place).read_bytes()))
    else:
        text = inspect.getdoc(sys.modules[place])
    return (text or "").strip().split("\n")[0].removesuffix(".")


def _read(given: str, entry: Mapping[str, Any]) -> SuiteCase:
    unknown = [key for key in entry if key not in KEYS]
    if unknown or not isinstance(entry.get("scheme"), str):
        wrong = f"unknown key {unknown[0]!r}" if unknown else f"scheme={entry.get('scheme')!r}"
        raise UserError(f"{given}: {wrong}; expected a table with {', '.join(KEYS)}, scheme a reference")
    settings, checks, chains = entry.get("settings", {}), entry.get("checks", ()), entry.get("chains", 0)
    if not isinstance(settings, Mapping):
        raise UserError(f"{given}: settings={settings!r}; expected keys and values, {{'friction': 3.0}}")
    if isinstance(checks, str) or not isinstance(checks, Sequence):
        raise UserError(f"{given}: checks={checks!r}; expected a list of ids from `sgverify list checks`")
    if not isinstance(chains, int) or chains < 0:
        raise UserError(f"{given}: chains={chains!r}; expected a whole number of chains, 0 for none")
    written = tuple(f"{key}={json.dumps(value)}" for key, value in settings.items())
    return SuiteCase(entry["scheme"], written, tuple(map(str, checks)), chains)


def _shown(value: Any) -> str:
    return f"it is {value!r}"[:200] if not value else f"it has the type {type(value).__name__}"


EFFORTS = ("quick", "default", "full")

OF_TARGETS = ("lipschitz-gradient", "dissipativity", "noise-growth")
"""Checks of assumptions on the target; asked where the theorems are that assume them."""


@dataclass(frozen=True)
class SuiteCase:
    """One scheme under one configuration, with the checks to run and the number of chains to sample beside exact curves.

    `sampled`: the checks are rates that only chains show.
    """

    scheme: str
    settings: tuple[str, ...]
    checks: tuple[str, ...] = ()
    chains: int = 0
    sampled: bool = False

    @cached_property
    def title(self) -> str:
        """The scheme and its settings, for the progress line."""
        return " ".join((self.scheme, *self.settings))

    def run(self) -> list[Evidence]:
        """Judge the scheme, and add sampled points where chains are configured."""
        configuration = load_configuration(None, self.settings)
        if self.sampled:
            return [
                rate(self.scheme, quantity=name, config=configuration, method="monte-carlo")  # type: ignore[arg-type]
                for name in self.checks
            ]
        subject = make_subject(self.scheme, configuration)
        evidence = judge(subject, self.checks)
        return with_sampled_points(subject, evidence, self.chains) if self.chains else evidence


Suite = Callable[[str], list[SuiteCase]]
"""The cases of a suite at an effort of `EFFORTS`."""


def suites() -> dict[str, Suite]:
    """The suite of every paper that has one, by the paper's id in alphabetical order; modules load when a suite is asked."""
    having = sorted((paper for paper in papers() if paper.suite), key=lambda paper: paper.id)
    return {paper.id: paper.asked_of(paper.suite) for paper in having}


def find_suite(name: str) -> Suite:
    """The suite of a paper; raises `UnknownNameError` with the nearest one."""
    return find_named("suite", name, suites())
