"""`sgverify diff`, and what `sgverify replay` reads: stored evidence, all of a file or one piece by its id, and regressions.

Code that stored evidence names is found beside it, and is told where it is not what was recorded.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click

from sgverify.cli.shared import output
from sgverify.cli.shared.options import JSON
from sgverify.code_files import place_in
from sgverify.errors import UserError
from sgverify.evidence import Document, Evidence, find_evidence, read_evidence
from sgverify.evidence.model import CONFORMS, VIOLATES
from sgverify.named_code import changes, named_in, recorded_for, refuse_unasked

SUFFIX = ".jsonl"


def read_one(reference: str) -> tuple[Document, list[Evidence]]:
    """The document of `FILE` or `FILE#ID`, and all its evidence or the one piece."""
    path, separator, id = reference.partition("#")
    document = read_evidence(path)
    if not separator and not document.evidence:
        raise UserError(
            f"evidence file {path!r} holds no evidence; expected at least one piece to compute anew"
        )
    return document, [find_evidence(document, id)] if separator else list(document.evidence)


@dataclass
class Code:
    """The code that an evidence file names: where it is, whether it is asked for, and whether it is what was recorded.

    `recorded` has the sha256 of the files that ran when the evidence was written. A file that is in other folders than it was
    recorded from is found as `beside` finds it.
    """

    reference: str
    recorded: Mapping[str, str]
    _told: set[str] = field(default_factory=set)

    @contextlib.contextmanager
    def beside(self, evidence: Evidence) -> Iterator[None]:
        """A context in the working folder from which the code of the evidence, in files with relative paths, can be loaded.

        This is the current folder if it contains the files. Otherwise it is the folder of the evidence file, or the nearest one
        above it that contains them, and stderr names it: evidence is usually written in or below the folder in which its
        run was started. Raises `UserError` before code runs that was not asked for.
        """
        named = {"scheme": evidence.scheme, **named_in(evidence.configuration)}
        folder = self._folder(named)
        path = self.reference.partition("#")[0]
        refuse_unasked(f"evidence file {path!r}", named, self.recorded, folder)
        now = recorded_for(evidence.scheme, evidence.configuration, folder)
        if folder != Path():
            self._tell(f"{', '.join(map(str, named.values()))}: taken from {folder}")
        for change in changes({name: self.recorded[name] for name in now if name in self.recorded}, folder):
            self._tell(f"{change}; what is computed is the answer of the code as it is now")
        for name in now.keys() - self.recorded.keys():
            self._tell(f"{name}: no sha256 was recorded; whether it has changed is not known")
        with contextlib.chdir(folder):
            yield

    def _folder(self, named: Mapping[str, str]) -> Path:
        files = [place for place in map(place_in, named.values()) if place and place.endswith(".py")]
        if all(os.path.isfile(file) for file in files):
            return Path()
        parents = Path(self.reference.partition("#")[0]).resolve().parents
        return next(
            (folder for folder in parents if all(os.path.isfile(folder / file) for file in files)), Path()
        )

    def _tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            output.say(text, err=True)


def replay_rows(path: str) -> list[Evidence]:
    """The evidence for each row of a regression file, reported on stderr row by row; raises `UserError` with file and line.

    Two rows that differ only in keys at their defaults ask one question, which is answered once.
    """
    from sgverify.checks.progress import Interrupted, keep_evidence
    from sgverify.testing.regressions import Regressions

    if not os.path.isfile(path):
        raise UserError(
            f"regression file {path!r} does not exist; expected one that a failing property wrote"
        )
    file = Regressions(Path(path))
    found: dict[str, Evidence] = {}
    rows = file.rows()
    if not rows:
        raise UserError(
            f"{path}: no rows; expected at least one, for nothing is no evidence; leave the file out"
        )
    try:
        for row, configuration in rows:
            evidence = file.judge(row, configuration)
            for change in file.changes(row):
                output.say(change, err=True)
            again = f"{file.place(row)}: still violates: {row}"
            fixed = file.told_fixed(row, evidence.verdict)
            output.say(again if evidence.verdict == "violates" else fixed, err=True)
            found[evidence.id] = evidence
    except KeyboardInterrupt:
        raise Interrupted(list(found.values())) from None
    except Exception as error:
        keep_evidence(error, list(found.values()))
        raise
    return list(found.values())


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
    from sgverify.evidence.answers import read_answers
    from sgverify.evidence.differences import difference

    found = difference(read_answers(old), read_answers(new), apart)
    if json_path:
        output.show_json(dict(found.document()), json_path)
    if json_path != "-":
        with output.quiet_pipe():
            for outcome, line in found.told(every):
                output.say(line, outcome)
    return CONFORMS if found.same else VIOLATES
