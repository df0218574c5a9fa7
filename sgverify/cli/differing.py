"""`sgverify diff`: the differences between two reports, two files of evidence or errata, or two stores."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sgverify.cli.shared import output
from sgverify.cli.shared.options import JSON
from sgverify.evidence.model import CONFORMS, VIOLATES

if TYPE_CHECKING:
    from sgverify.evidence.differences import AnswersAt

DATABASE = b"SQLite format 3\0"
"""The first bytes of a store's file."""


@click.command()
@click.argument("old")
@click.argument("new")
@click.option(
    "--apart",
    multiple=True,
    metavar="KEY",
    help="Match answers whose configurations differ in this key, such as seed.",
)
@click.option("--all", "every", is_flag=True, help="Show what differs within its stated errors too.")
@JSON
def diff(old: str, new: str, apart: tuple[str, ...], every: bool, json_path: str | None) -> int:
    """Show what changed from OLD to NEW: verdicts, exponents, constants and reasons, the worst first.

    OLD and NEW are files that --json of verify, rate, replay or errata wrote, folders of report, or stores. Answers are matched by
    scheme, claim, check and configuration; of a store the newest to each question counts. Numbers differ where their distance is
    larger than the errors that are stated of them: intervals and error bounds, and standard errors at a level of 1 % for the whole
    comparison. Exact numbers differ where they are not equal. Versions, platform and seconds are not compared.

    \b
    Examples:
      # before and after a change of a definition
      sgverify rate mine.py:heun --quantity local-order --json old.json
      sgverify rate mine.py:heun --quantity local-order --json new.json
      sgverify diff old.json new.json --all
      # as JSON
      sgverify diff old.json new.json --json diff.json

    Exit codes: 0 nothing changed; 1 something did; 2 the call is wrong.
    """
    from sgverify.evidence.differences import difference, told

    output.check_writable(json_path)
    found = difference(_read(old), _read(new), apart)
    if json_path:
        output.show_json(dict(found.document()), json_path)
    if json_path != "-":
        with output.quiet_pipe():
            for outcome, line in told(found, every):
                output.say(line, outcome)
    return CONFORMS if found.same else VIOLATES


def _read(place: str) -> AnswersAt:
    """The answers of a file, a folder or a store; raises `UserError` for what is none of them."""
    from sgverify.evidence.differences import read_answers, stored_answers

    if not _is_database(Path(place)):
        return read_answers(place)
    from sgverify.keeping.store import Store

    with Store(Path(place)) as store:
        entries = [(item.kind, item.question, item.value) for item in store.answers()]
        return stored_answers(place, entries, store.problems)


def _is_database(path: Path) -> bool:
    if not os.path.isfile(path):
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(DATABASE)) == DATABASE
    except OSError:
        return False
