"""`verify --format github`: which annotations does a step of GitHub Actions show beside the lines of a pull request?

An annotation is a line of stdout, `::error file=mine.py,line=17,title=...::message` (docs.github.com, "Workflow commands for GitHub
Actions"). A failure is an error at the line that the mend edits, or at the scheme's definition; an undecided answer is a warning; a
violation that a baseline holds is a notice, and a warning where it became worse. A claim that is refuted as printed speaks about a
paper and not about the user's file: it has no annotation.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from sgverify.cli.shared import output
from sgverify.errors import UserError, escaped

if TYPE_CHECKING:
    from sgverify.advice.diagnosis.model import Diagnosis
    from sgverify.evidence import Evidence
    from sgverify.evidence.recorded import Compared
    from sgverify.verdict.results import Results

TEXT, GITHUB = "text", "github"

FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice([TEXT, GITHUB]),
    default=TEXT,
    show_default=True,
    help="With github, also annotations for the lines of a pull request.",
)

MOST = 10
"""The most annotations of one level that GitHub shows for a step; it drops the others without a word."""

Level = Literal["error", "warning", "notice"]


@dataclass(frozen=True)
class Annotation:
    """One annotation: its level, title and message, and the file and line where it is shown, None without a place."""

    level: Level
    title: str
    message: str
    file: str | None = None
    line: int | None = None

    @property
    def command(self) -> str:
        """The line of stdout that makes it.

        >>> Annotation("error", "local-order: found 0", "50 %", "mine.py", 3).command
        '::error file=mine.py,line=3,title=local-order%3A found 0::50 %25'
        """
        properties = {"file": self.file, "line": self.line, "title": self.title}
        told = ",".join(
            f"{name}={_property(str(value))}" for name, value in properties.items() if value is not None
        )
        return f"::{self.level} {told}::{_data(self.message)}"


def refuse_two_on_stdout(form: str, json_path: str | None) -> None:
    """Raise `click.UsageError` where annotations and JSON would share stdout."""
    if form == GITHUB and json_path == "-":
        raise click.UsageError(
            "--format github with --json -: annotations are lines of stdout, which would hold JSON alone; expected one of the two "
            "there; write the JSON to a file"
        )


@contextmanager
def annotated_mistakes(form: str, reference: str) -> Iterator[None]:
    """A context in which a user's mistake is shown as an annotation of the scheme's file too, and raised again."""
    try:
        yield
    except UserError as error:
        if form == GITHUB:
            place = SourcePlace.of(reference)
            told = re.search(rf"\b{re.escape(place.path.name)}:(\d+)", str(error)) if place.path else None
            line = int(told.group(1)) if told else place.line
            output.say_command(
                Annotation("error", f"sgverify: {type(error).__name__}", str(error), place.file, line).command
            )
        raise


def annotate(results: Results, compared: Compared | None = None) -> None:
    """Print the annotations of an answer, and those of its comparison with a baseline, on stdout."""
    for annotation in annotations_of(results, compared):
        output.say_command(annotation.command)


def annotations_of(results: Results, compared: Compared | None = None) -> list[Annotation]:
    """At most `MOST` annotations of each level; where there were more, the last one sums up the others."""
    found = [*_failures(results, compared), *_undecided(results), *_of_the_baseline(compared)]
    if not found and results.outcome == "undecided":
        scheme = results[0].scheme if results else "nothing"
        found = [_placed("warning", scheme, "UNDECIDED", results.verdict.finding)]
    levels: tuple[Level, ...] = ("error", "warning", "notice")
    return [item for level in levels for item in _few([item for item in found if item.level == level])]


def _failures(results: Results, compared: Compared | None) -> Iterator[Annotation]:
    """One error for each new violation that follows from no other; the first has cause and mend, where none was known before."""
    from sgverify.verdict.findings import consequences, findings_of, folded, said

    failed = [item for item in results if item.outcome == "fail"] if compared is None else compared.new
    # A diagnosis is of all failures: beside known ones its cause may be theirs.
    known = compared is not None and bool(compared.known)
    for number, finding in enumerate(folded(findings_of(failed))):
        item = finding.first
        more = f"; {consequences(finding.folded)}" if finding.folded else ""
        lines = [f"{item.scheme}: {item.check}: {said(item)}{more}"]
        lines += [item.reason] if item.reason != said(item) else []
        found = _placed("error", item.scheme, f"FAIL {item.check}: {said(item)}", "")
        diagnosis = results.diagnosis if number == 0 and not known else None
        if diagnosis is not None:
            lines += _cause(diagnosis)
            edit = diagnosis.edit
            place = SourcePlace.in_file(edit.file) if edit and edit.file else None
            if edit and place and place.file:
                found = replace(found, file=place.file, line=edit.line)
        yield replace(found, message="\n".join([*lines, f"replay: {item.replay}"]))


def _cause(diagnosis: Diagnosis) -> Iterator[str]:
    yield f"cause: {diagnosis.cause.sentence}"
    edit = diagnosis.edit
    if edit is not None:
        yield f"mend: {edit.file or 'the printed formula'}, {edit.sentence}"
        yield f"- {edit.before.strip()}"
        yield f"+ {edit.after.strip()}"


def _undecided(results: Results) -> Iterator[Annotation]:
    from sgverify.verdict.findings import findings_of

    for finding in findings_of(item for item in results if item.outcome == "undecided"):
        item = finding.first
        message = f"{item.scheme}: {item.check}: {item.reason}\nreplay: {item.replay}"
        yield _placed("warning", item.scheme, f"UNDECIDED {item.check}", message)


def _of_the_baseline(compared: Compared | None) -> Iterator[Annotation]:
    """A warning for each known violation that became worse; a notice for the others, and one for rows that may go."""
    if compared is None:
        return
    worse = {id(item) for item, _ in compared.worse}
    for item, row in compared.worse:
        message = f"{row}: it was recorded with the sentence: {row.reason}\nnow: {item.reason}\nreplay: {item.replay}"
        yield _placed("warning", item.scheme, f"a known violation became worse: {item.check}", message)
    same = [item for item in compared.known if id(item) not in worse]
    if same:
        yield _placed("notice", same[0].scheme, f"known violations: {len(same)}", _listed(same))
    if compared.fixed:
        message = "\n".join(f"{row}, now {outcome}" for row, outcome in compared.fixed)
        yield Annotation(
            "notice", "sgverify: known violations that no longer occur; their rows may be removed", message
        )


def _listed(evidence: Sequence[Evidence]) -> str:
    return "\n".join(f"{item.claim} ({item.check}): {item.reason}" for item in evidence)


def _few(found: Sequence[Annotation]) -> list[Annotation]:
    """At most `MOST` annotations of one level."""
    if len(found) <= MOST:
        return list(found)
    kept, others = found[: MOST - 1], found[MOST - 1 :]
    message = "\n".join(item.message.partition("\n")[0] for item in others)
    return [*kept, replace(others[0], title=f"sgverify: {len(others)} more of this kind", message=message)]


@dataclass(frozen=True)
class SourcePlace:
    """Where a scheme is defined: the path, the path as annotations name it (None outside the repository), and the line."""

    path: Path | None = None
    file: str | None = None
    line: int | None = None

    @classmethod
    def of(cls, reference: str) -> SourcePlace:
        """The place of a scheme by its reference; without any for a catalogue name."""
        where, _, attribute = reference.rpartition(":")
        if not where:
            return cls()
        if where.endswith(".py"):
            return cls.in_file(where, attribute)
        try:
            spec = importlib.util.find_spec(where)
        except (ImportError, ValueError):
            return cls()
        return cls() if spec is None or spec.origin is None else cls.in_file(spec.origin, attribute)

    @classmethod
    def in_file(cls, file: str, attribute: str = "") -> SourcePlace:
        """The place in a file, with the line that binds the attribute."""
        path = Path(file).resolve()
        # A step may run in a folder inside the repository, and annotations name files from the repository's root.
        root = Path(os.environ.get("GITHUB_WORKSPACE") or os.getcwd()).resolve()
        if not path.is_relative_to(root):
            return cls(path)
        return cls(path, path.relative_to(root).as_posix(), _line(path, attribute.split(".")[0]))


def _placed(level: Level, reference: str, title: str, message: str) -> Annotation:
    place = SourcePlace.of(reference)
    return Annotation(level, f"sgverify: {title}", message, place.file, place.line)


def _line(path: Path, name: str) -> int | None:
    """The last line of a file that binds a name; None where none does, or where the file is no Python."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    lines = [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name)
    ]
    return max(lines, default=None)


def _data(text: str) -> str:
    return escaped(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
