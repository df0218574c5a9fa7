"""Which violations are known already? A baseline is a file of them, so that only new violations fail a run.

A row is one scheme, one claim, one check and one configuration. A violation is known if the file holds just this row, so that a
baseline hides no violation of another scheme, claim, check or configuration. It speaks of violations alone: nothing undecided
becomes a pass by it. The file is meant to be committed: rows are sorted, and paths in them start from its folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

from sgverify.evidence.model import Evidence, canonical_numbers
from sgverify.evidence.published import Name, Published, Says
from sgverify.evidence.regression import reference_beside
from sgverify.evidence.storage import alone_in, json_text, read_json, write_atomically

Tree = dict[str, Any]

SCHEMA_NAME = "sgverify/baseline/1"


@dataclass(frozen=True)
class KnownViolation:
    """One row of a baseline: a violation by its scheme, claim, check and configuration, and the reason that was given."""

    scheme: Annotated[Name, Says("a file by its path from the folder of the baseline")]
    claim: Annotated[str, Says("paper/id", pattern="^[^/\\s]+/\\S+$")]
    check: Name
    configuration: Annotated[
        Tree, Says("the keys that differ from the defaults; null where a default is left out")
    ]
    reason: Annotated[Name, Says("one sentence: how it violated when the row was written")]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity of a row: all fields but the reason. 2 and 2.0 are one setting."""
        numbers = json.dumps(canonical_numbers(self.configuration), sort_keys=True, ensure_ascii=False)
        return self.scheme, self.claim, self.check, numbers

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

    `known` and `new` are the violations; `fixed` are rows whose question was asked and does not fail any more, each with its
    outcome now; `undecided` those that were asked and not decided; `unasked` the number of rows about other questions.
    """

    evidence: tuple[Evidence, ...]
    known: tuple[Evidence, ...]
    new: tuple[Evidence, ...]
    fixed: tuple[tuple[KnownViolation, str], ...]
    undecided: tuple[KnownViolation, ...]
    unasked: int

    @property
    def counting(self) -> tuple[Evidence, ...]:
        """The evidence that an exit code goes by: all but the known violations."""
        known = {id(item) for item in self.known}
        return tuple(item for item in self.evidence if id(item) not in known)


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
            reason=evidence.reason,
        )

    def knows(self, evidence: Evidence) -> bool:
        """Is this a violation that the baseline holds?"""
        return evidence.outcome == "fail" and self.row_of(evidence).key in self._keys

    def compared(self, evidence: Iterable[Evidence]) -> Compared:
        """The evidence beside the baseline."""
        evidence = tuple(evidence)
        failed = [item for item in evidence if item.outcome == "fail"]
        known = tuple(item for item in failed if self.knows(item))
        outcomes: dict[tuple[str, ...], set[str]] = {}
        for item in evidence:
            outcomes.setdefault(self.row_of(item).key, set()).add(item.outcome)
        fixed, undecided, unasked = [], [], 0
        for row in self.baseline.violations:
            now = outcomes.get(row.key, set())
            if not now:
                unasked += 1
            elif "undecided" in now and "fail" not in now:
                undecided.append(row)
            elif "fail" not in now:
                fixed.append((row, " and ".join(sorted(now))))
        new = tuple(item for item in failed if not self.knows(item))
        return Compared(evidence, known, new, tuple(fixed), tuple(undecided), unasked)

    @cached_property
    def _keys(self) -> frozenset[tuple[str, ...]]:
        return frozenset(row.key for row in self.baseline.violations)


def write_baseline(path: str | Path, evidence: Iterable[Evidence]) -> Baseline:
    """Write what fails in the evidence to a baseline, and return the baseline.

    A file that is there is brought up to date: rows of questions that were asked and do not fail are removed, rows of undecided or
    other questions stay. So one file serves several schemes. The file is replaced in one step, by one writer at a time. Raises
    `UserError` where the file is no baseline, or cannot be written.
    """
    path = Path(path)
    with alone_in(Path(os.path.abspath(path)).parent):
        old = BaselineFile.read(path) if path.exists() else BaselineFile(path)
        compared = old.compared(evidence)
        gone = {row.key for row, _ in compared.fixed}
        rows = {row.key: row for row in old.baseline.violations if row.key not in gone}
        rows |= {row.key: row for row in map(old.row_of, (*compared.known, *compared.new))}
        baseline = Baseline(tuple(rows[key] for key in sorted(rows)))
        document = {"schema": SCHEMA_NAME, **json.loads(json.dumps(asdict(baseline), allow_nan=False))}
        BASELINE.check(document, "the baseline to be written")
        write_atomically(path, json_text(document))
    return baseline


def told(compared: Compared, path: str | Path) -> list[str]:
    """Sentences about a comparison, for people: how many violations are known and how many new, and which rows may be removed.

    >>> told(Compared((), (), (), (), (), 2), "baseline.json")
    ['baseline.json: no known violations, no new ones; 2 rows are about other questions']
    """
    known = _counted(len(compared.known), "known violation")
    new = f"{len(compared.new)} new" if compared.new else "no new ones"
    verb = "row is" if compared.unasked == 1 else "rows are"
    others = f"; {compared.unasked} {verb} about other questions" if compared.unasked else ""
    return [
        f"{path}: {known}, {new}{others}",
        *(
            f"{path}: {'fixed' if outcome == 'pass' else 'no longer fails'}, may be removed: {row}, now {outcome}"
            for row, outcome in compared.fixed
        ),
        *(f"{path}: undecided now, the row stays: {row}" for row in compared.undecided),
    ]


def changed(configuration: Mapping[str, Any]) -> Tree:
    """The keys of a stored configuration that differ from the defaults; a default that is left out is null.

    So a key that a later version adds, with its default, is in no row.
    """
    return _changed(configuration, _defaults())


@cache
def _defaults() -> Tree:
    # Imported here: the configuration's model takes long to load, and a list of the schemas needs none of it.
    from sgverify.configuration import Configuration

    return Configuration().as_dict()


def _changed(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> Tree:
    found: Tree = {}
    for key in sorted({*given, *defaults}):
        value, default = given.get(key), defaults.get(key)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            inside = _changed(value, default)
            if inside:
                found[key] = inside
        elif canonical_numbers(value) != canonical_numbers(default):
            found[key] = value
    return found


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


def _counted(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


__all__ = [
    "BASELINE",
    "Baseline",
    "BaselineFile",
    "Compared",
    "KnownViolation",
    "changed",
    "told",
    "write_baseline",
]
