"""Regressions: configurations under which a scheme violated a claim once, one to a line of a file that is committed.

The lines are sorted and none occurs twice, so that two branches that add rows merge by keeping both sides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from sgverify.errors import UserError
from sgverify.evidence.model import canonical_numbers
from sgverify.evidence.published import Name, Published, Says
from sgverify.keeping.files import alone_in, each_once, read_text, write_atomically

DEFAULT_FILE = "sgverify-regressions.jsonl"


@dataclass(frozen=True, kw_only=True)
class RecordedFailure:
    """One row of a regression file: the scheme, claim and check that it violated, and the keys that differ from the defaults.

    A scheme in a file is named by its path from the folder of the regression file, so that the row means the same
    wherever the tests are started. `line` is its place in the file, 0 for a row that was not read from one.
    """

    scheme: Annotated[Name, Says("a file by its path from the folder of the regression file")]
    claim: Annotated[str, Says("paper/name", pattern="^[a-z0-9]+/[a-z0-9]+(-[a-z0-9]+)*$")]
    check: Name
    configuration: Annotated[dict[str, Any], Says("the keys that differ from the defaults")]
    reason: Annotated[Name, Says("what was found when the row was added")]
    code: Annotated[
        dict[str, str],
        Says(
            "sha256 of the user's files that ran, by path from the folder of the regression file; left out where none did",
            optional=True,
            additionalProperties={"type": "string", "pattern": "^[0-9a-f]{64}$"},
        ),
    ] = field(default_factory=dict)
    line: Annotated[int, Says(absent=True)] = field(default=0, compare=False)

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity of a row, by which a file holds it once: all fields but the reason and the code."""
        return question_key(self.scheme, self.claim, self.check, self.configuration)

    @property
    def text(self) -> str:
        """The row as the file holds it."""
        names = ("scheme", "claim", "check", "configuration", "reason")
        row = {"schema": REGRESSION.name, **{name: getattr(self, name) for name in names}}
        if self.code:
            row["code"] = dict(self.code)
        REGRESSION.check(row, "the regression to be written")
        return json.dumps(row, ensure_ascii=False, allow_nan=False)


REGRESSION = Published(
    "sgverify/regression/1",
    RecordedFailure,
    "a regression",
    "Mend or delete the line; a merge keeps the lines of both sides.",
)


def read_regressions(path: str | Path) -> list[RecordedFailure]:
    """The rows of a file, in its order; none where there is no such file.

    Raises `UserError` that names file and line for a line that is no row.
    """
    path = Path(path)
    try:
        lines = read_text(path).splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(
            f"{str(path)!r}: cannot be read ({reason}); expected a file of regressions, one to a line"
        ) from None
    return [_row(line, f"{path}:{number}", number) for number, line in enumerate(lines, 1) if line.strip()]


def add_regression(path: str | Path, row: RecordedFailure) -> bool:
    """Put a row into the file in its place; False where the file has it already, and is left as it is.

    The file is replaced in one step, and one writer at a time reads and replaces it.
    """
    path = Path(path)
    with alone_in(path.parent):
        rows = {old.key: old for old in read_regressions(path)}
        if row.key in rows:
            return False
        rows[row.key] = row
        write_atomically(path, "".join(f"{rows[key].text}\n" for key in sorted(rows)))
    return True


def question_key(
    scheme: str, claim: str, check: str, configuration: Mapping[str, Any]
) -> tuple[str, str, str, str]:
    """What was asked, as texts by which it is found again: 2 and 2.0 are one setting."""
    numbers = json.dumps(canonical_numbers(configuration), sort_keys=True, ensure_ascii=False)
    return scheme, claim, check, numbers


def changed(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a stored configuration that differ from the defaults; a default that is left out is null.

    So a key that a later version adds, with its default, is in no row.
    """
    return _changed(configuration, _defaults())


@cache
def _defaults() -> dict[str, Any]:
    # Imported here: the configuration's model takes long to load, and a list of the schemas needs none of it.
    from sgverify.configuration import Configuration

    return Configuration().as_dict()


def _changed(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in sorted({*given, *defaults}):
        value, default = given.get(key), defaults.get(key)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            inside = _changed(value, default)
            if inside:
                found[key] = inside
        elif canonical_numbers(value) != canonical_numbers(default):
            found[key] = value
    return found


def reference_beside(reference: str, folder: Path) -> str:
    """A scheme's reference as rows of a file in `folder` name it.

    >>> reference_beside("/home/me/tests/mine.py:heun", Path("/home/me/tests"))
    'mine.py:heun'
    >>> reference_beside("sghmc-aboba", Path("/home/me/tests"))
    'sghmc-aboba'
    """
    place, _, attribute = reference.rpartition(":")
    if not place.endswith(".py"):
        return reference
    return f"{Path(os.path.relpath(os.path.abspath(place), os.path.abspath(folder))).as_posix()}:{attribute}"


def reference_from(reference: str, folder: Path) -> str:
    """The inverse of `reference_beside`: a row's scheme as a command line started here loads it."""
    place, _, attribute = reference.rpartition(":")
    if not place.endswith(".py"):
        return reference
    return f"{Path(os.path.relpath(os.path.join(os.path.abspath(folder), place))).as_posix()}:{attribute}"


def _row(line: str, where: str, number: int) -> RecordedFailure:
    try:
        document = json.loads(line, object_pairs_hook=each_once)
    except (ValueError, RecursionError):
        start = line.strip()[:40]
        raise UserError(
            f"{where}: {start!r} is not JSON; expected one regression to a line. {REGRESSION.mend}"
        ) from None
    REGRESSION.check(document, where)
    names = ("scheme", "claim", "check", "configuration", "reason")
    return RecordedFailure(
        **{name: document[name] for name in names}, code=document.get("code", {}), line=number
    )


__all__ = [
    "DEFAULT_FILE",
    "REGRESSION",
    "RecordedFailure",
    "add_regression",
    "changed",
    "question_key",
    "read_regressions",
    "reference_beside",
    "reference_from",
]
