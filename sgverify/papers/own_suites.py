"""A suite of one's own: schemes and settings that a user's file lists, judged and reported as those of a paper are."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

from sgverify.configuration import load_configuration
from sgverify.errors import UserError
from sgverify.papers.suites import SuiteCase
from sgverify.schemes.loading import Wanted, load_object, load_step
from sgverify.user_code import own_code

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
        return [self._case(number, entry) for number, entry in enumerate(found, start=1)]

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


__all__ = ["OwnSuite", "load_suite"]
