"""Violations that are written down, in files that are committed: a baseline of known ones, and regressions, tried first ever after.

A row is one scheme, one claim, one check and one configuration, and a violation is known again by just these, so that a row speaks
of no violation of another one. Rows are sorted, and paths in them start from the file's folder. One writer at a time replaces the
file, in one step.

A baseline speaks of violations alone: nothing undecided becomes a pass by it, and the outcome of the evidence stays `fail`. A known
violation does not fail a run again when its rate falls below the recorded one, but it is named as worse. Regressions are one to a
line, so that two branches that add rows merge by keeping both sides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from sgverify.errors import UserError
from sgverify.evidence.answers import Key, changed, path_from, question_key, reference_beside
from sgverify.evidence.model import Evidence, Found, Outcome, whole_outcome
from sgverify.evidence.numbers import slower
from sgverify.evidence.published import Name, Published, Says
from sgverify.evidence.storage import read_json
from sgverify.keeping.files import alone_in, each_once, json_text, read_text, write_atomically

DEFAULT_FILE = "sgverify-regressions.jsonl"

GONE = "not asked of it any more"
"""In the place of an outcome: the question no longer applies to the scheme."""


@dataclass(frozen=True, kw_only=True)
class RecordedQuestion:
    """The question of a row: a violation by its scheme, claim, check and configuration."""

    scheme: Annotated[Name, Says("a file by its path from the folder of the rows")]
    claim: Annotated[str, Says("paper/id", pattern="^[^/\\s]+/\\S+$")]
    check: Name
    configuration: Annotated[dict[str, Any], Says("the keys that differ from the defaults")]

    @property
    def key(self) -> Key:
        """The identity of a row, by which a file holds it once."""
        return question_key(self.scheme, self.claim, self.check, self.configuration)

    def __str__(self) -> str:
        return f"{self.scheme} {self.claim} ({self.check})"


@dataclass(frozen=True, kw_only=True)
class KnownViolation(RecordedQuestion):
    """One row of a baseline: a violation by its scheme, claim, check and configuration, and the reason that was given."""

    found: Annotated[Found, Says("the exponent that was found when the row was written, with its interval")]
    reason: Annotated[Name, Says("one sentence: how it violated when the row was written")]


@dataclass(frozen=True)
class Baseline:
    """Known violations, so that a run fails by new ones alone."""

    violations: tuple[KnownViolation, ...]


BASELINE = Published(
    "sgverify/baseline/1",
    Baseline,
    "a baseline",
    "Write it again with `sgverify verify SCHEME --write-baseline FILE`.",
)


@dataclass(frozen=True, kw_only=True)
class RecordedFailure(RecordedQuestion):
    """One row of a regression file: the scheme, claim and check that it violated, and the keys that differ from the defaults.

    `line` is its place in the file, 0 for a row that was not read from one.
    """

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
    def text(self) -> str:
        """The row as the file holds it."""
        row = {"schema": REGRESSION.name, **asdict(self)}
        row = {name: value for name, value in row.items() if name != "line" and (value or name != "code")}
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
    try:
        lines = read_text(path).splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(
            f"{str(path)!r}: cannot be read ({reason}); expected a file of regressions, one to a line"
        ) from None
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            document = json.loads(line, object_pairs_hook=each_once) if line.strip() else None
        except (ValueError, RecursionError):
            raise UserError(
                f"{path}:{number}: {line.strip()[:40]!r} is not JSON; expected one regression to a line. {REGRESSION.mend}"
            ) from None
        if line.strip():
            rows.append(replace(REGRESSION.decode(document, f"{path}:{number}"), line=number))
    return rows


def add_regression(path: str | Path, row: RecordedFailure) -> bool:
    """Put a row into the file in its place; False where the file has it already, and is left as it is."""
    path = Path(path)
    with alone_in(path.parent):
        rows = {old.key: old for old in read_regressions(path)}
        if row.key in rows:
            return False
        rows[row.key] = row
        write_atomically(path, "".join(f"{rows[key].text}\n" for key in sorted(rows)))
    return True


@dataclass(frozen=True)
class Compared:
    """Evidence beside a baseline.

    `held` are the known violations with their rows, `new` the others. `fixed` are rows whose question does not fail any more, each
    with its outcome now; `undecided` are rows whose question was asked and not decided; `unasked` is the number of rows about other
    questions.
    """

    evidence: tuple[Evidence, ...] = ()
    held: tuple[tuple[Evidence, KnownViolation], ...] = ()
    new: tuple[Evidence, ...] = ()
    fixed: tuple[tuple[KnownViolation, str], ...] = ()
    undecided: tuple[KnownViolation, ...] = ()
    unasked: int = 0

    @property
    def known(self) -> tuple[Evidence, ...]:
        """The known violations."""
        return tuple(item for item, _ in self.held)

    @property
    def worse(self) -> tuple[tuple[Evidence, KnownViolation], ...]:
        """The known violations whose rate is lower than the recorded one, each with its row."""
        return tuple(
            (item, row) for item, row in self.held if slower(item.found, row.found, item.predicted.exponent)
        )

    @property
    def counting(self) -> tuple[Evidence, ...]:
        """The evidence that an exit code goes by: all but the known violations."""
        known = {id(item) for item in self.known}
        return tuple(item for item in self.evidence if id(item) not in known)

    @property
    def outcome(self) -> str:
        """The outcome beside the baseline: "fail" by new violations alone, "pass" where known ones are all that fails."""
        outcomes: list[Outcome] = [item.outcome for item in self.counting]
        return whole_outcome([*outcomes, "pass"] if self.held else outcomes)

    def told(self, path: str | Path) -> list[str]:
        """Sentences for people: the outcome with its numbers, then the rows that call for an action.

        >>> Compared(unasked=2).told("baseline.json")
        ['UNDECIDED against the baseline baseline.json: 0 known violations, 0 new; 2 rows are about other questions']
        """
        undecided = sum(item.outcome == "undecided" for item in self.counting)
        counts = (
            (len(self.worse), "of the known became worse", "of the known became worse"),
            (len(self.fixed), "known violation no longer occurs", "known violations no longer occur"),
            (
                undecided,
                "answer undecided, which no baseline holds",
                "answers undecided, which no baseline holds",
            ),
            (self.unasked, "row is about other questions", "rows are about other questions"),
        )
        parts = [f"{number} {one if number == 1 else many}" for number, one, many in counts if number]
        known = f"{len(self.held)} known {'violation' if len(self.held) == 1 else 'violations'}"
        worse = [
            (row, f"found exponent {_number(item.found)}, recorded {_number(row.found)}")
            for item, row in self.worse
        ]
        says = {"refuted": "now refuted as printed", GONE: GONE}
        fixed = [(row, says.get(outcome, f"now {outcome}")) for row, outcome in self.fixed]
        return [
            f"{self.outcome.upper()} against the baseline {path}: {'; '.join([f'{known}, {len(self.new)} new', *parts])}",
            *(f"worse: {text}" for text in _together(worse)),
            *(f"no longer occurs, may be removed: {text}" for text in _together(fixed)),
            *(f"stays: {text}" for text in _together((row, "undecided now") for row in self.undecided)),
        ]


@dataclass(frozen=True)
class BaselineFile:
    """A baseline and the place of its file, from whose folder paths in its rows start."""

    path: Path
    baseline: Baseline = Baseline(())

    @classmethod
    def read(cls, path: str | Path) -> BaselineFile:
        """Read and validate a file; raises `UserError` for one that is missing, unreadable, no baseline or of another version."""
        where = f"baseline {str(path)!r}"
        written = "a file written by `sgverify verify SCHEME --write-baseline FILE`"
        return cls(Path(path), BASELINE.decode(read_json(path, where, written), where))

    def row_of(self, evidence: Evidence) -> KnownViolation:
        """The row that names the question of this evidence."""
        folder = Path(os.path.abspath(self.path)).parent
        settings = changed(evidence.configuration)
        # Files of the target by their paths from the folder, so that a row means the same on every machine.
        if isinstance(target := settings.get("target"), dict):
            target = settings["target"] = dict(target)
            if isinstance(target.get("name"), str):
                target["name"] = reference_beside(target["name"], folder)
            if isinstance(target.get("file"), str):
                target["file"] = path_from(target["file"], Path(), folder)
        return KnownViolation(
            scheme=reference_beside(evidence.scheme, folder),
            claim=evidence.claim,
            check=evidence.check,
            configuration=settings,
            found=evidence.found,
            reason=evidence.reason,
        )

    def known_row(self, evidence: Evidence) -> KnownViolation | None:
        """The row that holds this violation; None for a new one, and for what is no violation."""
        return self._rows.get(self.row_of(evidence).key) if evidence.outcome == "fail" else None

    def compared(
        self, evidence: Iterable[Evidence], unheld: Iterable[Evidence] = (), *, complete: bool = False
    ) -> Compared:
        """The evidence beside the baseline; the violations of `unheld` are new, whatever rows there are.

        `complete`: every question that applies was asked of these schemes under these configurations. A row about another one
        of theirs no longer applies then, as that on the order of a word whose letters have become exact flows.
        """
        evidence, unheld = tuple(evidence), tuple(unheld)
        outcomes: dict[Key, set[str]] = {}
        for item in evidence:
            outcomes.setdefault(self.row_of(item).key, set()).add(item.outcome)
        subjects = {(key[0], key[3]) for key in outcomes}
        fixed, undecided, unasked = [], [], 0
        for key, row in self._rows.items():
            now = outcomes.get(key, set())
            if not now and complete and (key[0], key[3]) in subjects:
                fixed.append((row, GONE))
            elif not now:
                unasked += 1
            elif "undecided" in now and "fail" not in now:
                undecided.append(row)
            elif "fail" not in now:
                fixed.append((row, " and ".join(sorted(now))))
        held = tuple((item, known) for item in evidence if (known := self.known_row(item)))
        excused = {id(item) for item, _ in held}
        everything = (*evidence, *unheld)
        new = tuple(item for item in everything if item.outcome == "fail" and id(item) not in excused)
        return Compared(everything, held, new, tuple(fixed), tuple(undecided), unasked)

    @cached_property
    def _rows(self) -> dict[Key, KnownViolation]:
        return {row.key: row for row in self.baseline.violations}


def write_baseline(path: str | Path, evidence: Iterable[Evidence], *, complete: bool = False) -> str:
    """Write what fails in the evidence to a baseline, and return a sentence that says how much that is.

    A file that is there is brought up to date: rows of questions that were asked and do not fail are removed, rows of undecided or
    other questions stay (`complete`: see `BaselineFile.compared`). So one file serves several schemes. Raises `UserError` where the
    file is no baseline, or cannot be written.
    """
    path = Path(path)
    with alone_in(Path(os.path.abspath(path)).parent):
        old = BaselineFile.read(path) if path.exists() else BaselineFile(path)
        compared = old.compared(evidence, complete=complete)
        gone = {row.key for row, _ in compared.fixed}
        rows = {key: row for key, row in old._rows.items() if key not in gone}
        rows |= {row.key: row for row in map(old.row_of, (*compared.known, *compared.new))}
        violations = [asdict(rows[key]) for key in sorted(rows)]
        for row in violations:
            if row["found"]["note"] is None:
                del row["found"]["note"]
        document = {"schema": BASELINE.name, "violations": violations}
        BASELINE.check(document, "the baseline to be written")
        write_atomically(path, json_text(document))
    failed = len(compared.known) + len(compared.new)
    return f"{failed} {'violation' if failed == 1 else 'violations'} written to {path}, which has {len(rows)} in all"


def _together(rows: Iterable[tuple[KnownViolation, str]]) -> list[str]:
    """A line for each scheme and check, with all claims and remarks on it."""
    lines: dict[tuple[str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for row, remark in rows:
        claims, remarks = lines.setdefault((row.scheme, row.check), ({}, {}))
        claims[row.claim], remarks[remark] = None, None
    return [
        f"{' '.join(key)} ({', '.join(claims)}), {' or '.join(remarks)}"
        for key, (claims, remarks) in lines.items()
    ]


def _number(found: Found) -> str:
    return "none" if found.exponent is None else f"{float(found.exponent):.3g}"
