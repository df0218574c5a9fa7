"""A baseline is a file of known violations, so that only new ones fail a run.

A row is one scheme, one claim, one check and one configuration. A violation is known if the file holds just this row, so that a
baseline hides no violation of another scheme, claim, check or configuration. It speaks of violations alone: nothing undecided
becomes a pass by it, and the outcome of the evidence stays `fail`. A known violation does not fail a run again when its rate falls
below the recorded one, but it is named as worse. The file is meant to be committed: rows are sorted, and paths in them start from
its folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from sgverify.evidence.differences.values import slower
from sgverify.evidence.model import Evidence, Found, Outcome, whole_outcome
from sgverify.evidence.published import Name, Published, Says
from sgverify.evidence.regression import changed, question_key, reference_beside
from sgverify.evidence.storage import read_json
from sgverify.keeping.files import alone_in, json_text, write_atomically

Tree = dict[str, Any]

SCHEMA_NAME = "sgverify/baseline/1"


GONE = "not asked of it any more"
"""In the place of an outcome: the question no longer applies to the scheme."""


@dataclass(frozen=True)
class KnownViolation:
    """One row of a baseline: a violation by its scheme, claim, check and configuration, and the reason that was given."""

    scheme: Annotated[Name, Says("a file by its path from the folder of the baseline")]
    claim: Annotated[str, Says("paper/id", pattern="^[^/\\s]+/\\S+$")]
    check: Name
    configuration: Annotated[
        Tree, Says("the keys that differ from the defaults; null where a default is left out")
    ]
    found: Annotated[Found, Says("the exponent that was found when the row was written, with its interval")]
    reason: Annotated[Name, Says("one sentence: how it violated when the row was written")]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity of a row: scheme, claim, check and configuration."""
        return question_key(self.scheme, self.claim, self.check, self.configuration)

    def __str__(self) -> str:
        return f"{self.scheme} {self.claim} ({self.check})"


@dataclass(frozen=True)
class Baseline:
    """Known violations, so that a run fails by new ones alone."""

    violations: tuple[KnownViolation, ...]


BASELINE = Published(
    SCHEMA_NAME,
    Baseline,
    "a baseline",
    "Write it again with `sgverify verify SCHEME --write-baseline FILE`.",
)


@dataclass(frozen=True)
class Compared:
    """Evidence beside a baseline.

    `known` and `new` are the violations; `worse` are the known ones whose rate is lower than the recorded one, each with its row.
    `fixed` are rows whose question does not fail any more, each with its outcome now; `undecided` are rows whose
    question was asked and not decided; `unasked` is the number of rows about other questions.
    """

    evidence: tuple[Evidence, ...]
    known: tuple[Evidence, ...]
    new: tuple[Evidence, ...]
    worse: tuple[tuple[Evidence, KnownViolation], ...]
    fixed: tuple[tuple[KnownViolation, str], ...]
    undecided: tuple[KnownViolation, ...]
    unasked: int

    @property
    def counting(self) -> tuple[Evidence, ...]:
        """The evidence that an exit code goes by: all but the known violations."""
        known = {id(item) for item in self.known}
        return tuple(item for item in self.evidence if id(item) not in known)

    @property
    def outcome(self) -> str:
        """The outcome beside the baseline: "fail" by new violations alone, "pass" where known ones are all that fails."""
        outcomes: list[Outcome] = [item.outcome for item in self.counting]
        return whole_outcome([*outcomes, "pass"] if self.known else outcomes)


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
        return KnownViolation(
            scheme=reference_beside(evidence.scheme, folder),
            claim=evidence.claim,
            check=evidence.check,
            configuration=_beside(changed(evidence.configuration), folder),
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
        failed = [(item, self.known_row(item)) for item in evidence if item.outcome == "fail"]
        held = [(item, row) for item, row in failed if row is not None]
        outcomes: dict[tuple[str, ...], set[str]] = {}
        for item in evidence:
            outcomes.setdefault(self.row_of(item).key, set()).add(item.outcome)
        subjects = {(scheme, settings) for scheme, _, _, settings in outcomes}
        fixed, undecided, unasked = [], [], 0
        for row in self.baseline.violations:
            now = outcomes.get(row.key, set())
            if not now and complete and (row.key[0], row.key[3]) in subjects:
                fixed.append((row, GONE))
            elif not now:
                unasked += 1
            elif "undecided" in now and "fail" not in now:
                undecided.append(row)
            elif "fail" not in now:
                fixed.append((row, " and ".join(sorted(now))))
        new = [item for item, row in failed if row is None]
        return Compared(
            (*evidence, *unheld),
            known=tuple(item for item, _ in held),
            new=(*new, *(item for item in unheld if item.outcome == "fail")),
            worse=tuple((item, row) for item, row in held if slower(item, row.found)),
            fixed=tuple(fixed),
            undecided=tuple(undecided),
            unasked=unasked,
        )

    @cached_property
    def _rows(self) -> dict[tuple[str, ...], KnownViolation]:
        return {row.key: row for row in self.baseline.violations}


def write_baseline(path: str | Path, evidence: Iterable[Evidence], *, complete: bool = False) -> Baseline:
    """Write what fails in the evidence to a baseline, and return the baseline.

    A file that is there is brought up to date: rows of questions that were asked and do not fail are removed, rows of undecided or
    other questions stay (`complete`: see `BaselineFile.compared`). So one file serves several schemes. The file is replaced in one
    step, by one writer at a time. Raises `UserError` where the file is no baseline, or cannot be written.
    """
    path = Path(path)
    with alone_in(Path(os.path.abspath(path)).parent):
        old = BaselineFile.read(path) if path.exists() else BaselineFile(path)
        compared = old.compared(evidence, complete=complete)
        gone = {row.key for row, _ in compared.fixed}
        rows = {row.key: row for row in old.baseline.violations if row.key not in gone}
        rows |= {row.key: row for row in map(old.row_of, (*compared.known, *compared.new))}
        baseline = Baseline(tuple(rows[key] for key in sorted(rows)))
        violations = [asdict(row) for row in baseline.violations]
        for row in violations:
            if row["found"]["note"] is None:
                del row["found"]["note"]
        document = {"schema": SCHEMA_NAME, "violations": violations}
        BASELINE.check(document, "the baseline to be written")
        write_atomically(path, json_text(document))
    return baseline


def told(compared: Compared, path: str | Path) -> list[str]:
    """Sentences about a comparison, for people: the outcome with its numbers, then the rows that call for an action.

    >>> told(Compared((), (), (), (), (), (), 2), "baseline.json")
    ['UNDECIDED against the baseline baseline.json: 0 known violations, 0 new; 2 rows are about other questions']
    """
    known, fixed = len(compared.known), len(compared.fixed)
    parts = [f"{known} known {'violation' if known == 1 else 'violations'}, {len(compared.new)} new"]
    if compared.worse:
        parts.append(f"{len(compared.worse)} of the known became worse")
    if fixed:
        parts.append(
            f"{fixed} known {'violation no longer occurs' if fixed == 1 else 'violations no longer occur'}"
        )
    undecided = sum(item.outcome == "undecided" for item in compared.counting)
    if undecided:
        parts.append(
            f"{undecided} {'answer' if undecided == 1 else 'answers'} undecided, which no baseline holds"
        )
    if compared.unasked:
        parts.append(
            f"{compared.unasked} {'row is' if compared.unasked == 1 else 'rows are'} about other questions"
        )
    worse = (
        (row, f"found exponent {_number(item)}, recorded {_number(row)}") for item, row in compared.worse
    )
    return [
        f"{compared.outcome.upper()} against the baseline {path}: {'; '.join(parts)}",
        *(f"worse: {text}" for text in _together(worse)),
        *(
            f"no longer occurs, may be removed: {text}"
            for text in _together(
                (row, {"refuted": "now refuted as printed", GONE: GONE}.get(outcome, f"now {outcome}"))
                for row, outcome in compared.fixed
            )
        ),
        *(f"stays: {text}" for text in _together((row, "undecided now") for row in compared.undecided)),
    ]


def _together(rows: Iterable[tuple[KnownViolation, str]]) -> list[str]:
    """A line for each scheme and check, with all claims and remarks on it."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row, remark in rows:
        found.setdefault((row.scheme, row.check), []).append((row.claim, remark))
    lines = []
    for (scheme, check), told in found.items():
        claims, remarks = (dict.fromkeys(texts) for texts in zip(*told, strict=True))
        lines.append(f"{scheme} {check} ({', '.join(claims)}), {' or '.join(remarks)}")
    return lines


def _number(holder: Evidence | KnownViolation) -> str:
    exponent = holder.found.exponent
    return "none" if exponent is None else f"{float(exponent):.3g}"


def _beside(tree: Tree, folder: Path) -> Tree:
    """The tree with the target's files by their paths from the folder, so that a row means the same on every machine."""
    target = tree.get("target")
    if not isinstance(target, dict):
        return tree
    target = dict(target)
    if isinstance(target.get("name"), str):
        target["name"] = reference_beside(target["name"], folder)
    if isinstance(target.get("file"), str):
        target["file"] = Path(os.path.relpath(os.path.abspath(target["file"]), folder)).as_posix()
    return {**tree, "target": target}


__all__ = [
    "BASELINE",
    "Baseline",
    "BaselineFile",
    "Compared",
    "KnownViolation",
    "told",
    "write_baseline",
]
