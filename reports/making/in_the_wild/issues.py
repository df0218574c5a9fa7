"""The finds as they are stored, and the text of an issue that one could file: a script, what it passes, and what found it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, get_args

from reports.making.in_the_wild.finds import Find, State

Row = Mapping[str, Any]

FIELDS = (
    "name",
    "library",
    "release",
    "title",
    "root",
    "shared_by",
    "slight",
    "verdict",
    "evidence",
    "mended",
    "lines",
    "expected",
    "weight",
    "time_scale",
    "upstream",
    "reproduction",
    "calls",
    "found",
    "beside",
    "expected_number",
    "predicted",
    "provenance",
)
"""The fields of a stored find, all of which are said."""


def read_finds(path: Path) -> dict[str, Any]:
    """The contents of finds.json: the releases by package, and the finds.

    Raises `ValueError` for a find that lacks a field, or whose state upstream is none or has no day.
    """
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for row in stored["finds"]:
        name = row.get("name", "a find without a name")
        missing = [field for field in FIELDS if row.get(field) in (None, "")]
        if missing:
            raise ValueError(
                f"{path.name}: {name}: lacks {', '.join(missing)}; expected all of {', '.join(FIELDS)}"
            )
        state, seen, checked = (row["upstream"].get(key) for key in ("state", "seen", "checked"))
        if state not in get_args(State) or not seen:
            expected = ", ".join(get_args(State))
            raise ValueError(
                f"{path.name}: {name}: upstream {state!r}, {seen!r}; expected one of {expected}, and what was seen"
            )
        date.fromisoformat(checked)
    return stored


def defaults_of(calls: Sequence[Row]) -> dict[str, str]:
    """The default of every option of the calls by its name; those of one name that differ are left out."""
    told = [
        (name, default)
        for call in calls
        for name, default in (
            *call["left"].items(),
            *((name, option["default"]) for name, option in call["passed"].items()),
        )
    ]
    return {
        name: default
        for name, default in told
        if all(other == (name, default) for other in told if other[0] == name)
    }


def written(text: str, calls: Sequence[Row]) -> str:
    """A text of a find with its defaults: "{lr}" becomes "the default of 0.01"; raises `KeyError` for what is no option."""
    return text.format_map({name: f"the default of {value}" for name, value in defaults_of(calls).items()})


def options_said(call: Row) -> str:
    """The options of a call: those that are passed, each beside its default, and whether others are left."""
    left = ", ".join(f"{name} = {value}" for name, value in call["left"].items())
    if not call["passed"]:
        return f"{call['call']}: at its defaults ({left})"
    passed = ", ".join(
        f"{name} = {option['value']} (default {option['default']})" for name, option in call["passed"].items()
    )
    return f"{call['call']}: {passed}" + (f"; else at its defaults ({left})" if left else "")


def found_by(
    find: Find, commands: Sequence[str], version: str, releases: Mapping[str, str]
) -> dict[str, Any]:
    """The provenance of a find: the tool with its release, the commands, and the releases of what was installed."""
    own = {find.library, "numpy", "jax" if "jax" in find.library.lower() else "torch"}
    return {
        "tool": f"sgverify {version}",
        "commands": list(commands),
        "releases": {name: release for name, release in releases.items() if name in own},
    }


def issue_text(row: Row) -> str:
    """The text of an issue that one could file with the library."""
    lines = "\n".join(
        f"{line['place']}\n    {line['was']}\ncould be\n    {line['now']}" for line in row["lines"]
    )
    options = "".join(f"- {options_said(call)}\n" for call in row["calls"])
    beside = "".join(f"{said}: {number:.6g}\n" for said, number in row["beside"].items())
    origin = row["provenance"]
    releases = ", ".join(f"{name} {release}" for name, release in origin["releases"].items())
    commands = "".join(f"    {command}\n" for command in origin["commands"])
    upstream = row["upstream"]
    return (
        f"{row['title']} ({row['library']} {row['release']})\n\n"
        f"Expected: {row['expected']}.\n\n"
        f"To reproduce:\n\n```python\n{row['reproduction'].strip()}\nprint(found, expected)\n```\n\n"
        f"found = {row['found']:.6g}, expected = {row['expected_number']:.6g}\n{beside}\n"
        f"Options:\n{options}\n"
        f"Where it matters: {row['weight']}\n\n"
        f"It shows in: {row['time_scale']}.\n\n"
        f"Upstream: {upstream['state']} ({upstream['checked']}): {upstream['seen']}.\n\n"
        f"{lines}\n\n"
        f"Found by {origin['tool']} with {releases}, in a checkout of sgverify:\n{commands}"
    )


def script_of(issue: str) -> str:
    """The script in the text of an issue."""
    found = re.findall(r"```python\n(.*?)```", issue, flags=re.DOTALL)
    if len(found) != 1:
        raise ValueError(f"the text of an issue: {len(found)} scripts; expected one")
    return str(found[0])
