"""The regression file of a test suite: what failed once is tried first ever after."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from sgverify.checks.applicable_claims import judge_pair
from sgverify.checks.registry import find_check
from sgverify.claims import find_claim
from sgverify.configuration import Configuration, load_configuration, tree_of
from sgverify.errors import UserError
from sgverify.evidence import (
    Evidence,
    RecordedFailure,
    add_regression,
    read_regressions,
    reference_beside,
    reference_from,
)
from sgverify.evidence.answers import path_from
from sgverify.named_code import changes, named_in, recorded_for, refuse_unasked
from sgverify.subject.binding import make_subject


@dataclass(frozen=True)
class Regressions:
    """A regression file, and whether new rows are written to it or only shown.

    One row to a line, JSON: the scheme (a path is relative to the file's folder), the claim, the check, the keys of the
    configuration that differ from the defaults, and what was found. It is meant to be committed.
    """

    path: Path
    writes: bool = True

    def rows(self) -> list[tuple[RecordedFailure, Configuration]]:
        """All rows with their configurations; raises `UserError` with file and line for an unreadable row."""
        return [(row, self._configuration(row)) for row in read_regressions(self.path)]

    def rows_of(self, references: Collection[str], check: str) -> list[tuple[RecordedFailure, Configuration]]:
        """The rows of one scheme, under any of its names, and of one check, for every claim.

        Raises `UserError` for a row that names code, such as a target in a file, which was not asked for.
        """
        own = {reference_beside(reference, self.path.parent) for reference in references}
        found = [pair for pair in self.rows() if pair[0].scheme in own and pair[0].check == check]
        for row, configuration in found:
            refuse_unasked(self.place(row), named_in(tree_of(configuration)), self._recorded(row))
        return found

    def row_of(self, evidence: Evidence, configuration: Configuration) -> RecordedFailure:
        """The row that remembers a violation."""
        tree, folder = tree_of(configuration), self.path.parent
        ran = recorded_for(evidence.scheme, tree)
        return RecordedFailure(
            scheme=reference_beside(evidence.scheme, folder),
            claim=evidence.claim,
            check=evidence.check,
            configuration=tree,
            reason=evidence.reason,
            code={path_from(name, Path(), folder): digest for name, digest in ran.items()},
        )

    def add(self, row: RecordedFailure) -> bool:
        """Put a row into the file; False where it is there already, or where nothing is written."""
        return self.writes and add_regression(self.path, row)

    def judge(self, row: RecordedFailure, configuration: Configuration) -> Evidence:
        """The present evidence under the configuration of a row: a violating piece if there is one, else that of its claim.

        Raises `UserError` with file and line if the scheme cannot be loaded or refuses the configuration, or if the row names code
        that was not asked for.
        """
        scheme = reference_from(row.scheme, self.path.parent)
        named = {"scheme": scheme, **named_in(tree_of(configuration))}
        refuse_unasked(self.place(row), named, self._recorded(row))
        try:
            subject = make_subject(scheme, configuration)
            subject.validate()
            found = judge_pair(subject, find_claim(row.claim), row.check)
        except UserError as error:
            raise UserError(f"{self.place(row)}: {error}") from None
        return next((item for item in found if item.outcome == "fail"), found[-1])

    def changes(self, row: RecordedFailure) -> list[str]:
        """A sentence for every file of the user's code that is another one than when the row was written."""
        return [f"{self.place(row)}: {change}" for change in changes(self._recorded(row))]

    def place(self, row: RecordedFailure) -> str:
        """FILE:LINE of a row."""
        return f"{self.path}:{row.line}"

    def told_fixed(self, row: RecordedFailure, outcome: str) -> str:
        """The message about a row without a violation any more; only the owner of the file removes the row."""
        return f"{self.place(row)}: fixed, may be removed: {row}, now {outcome}"

    def _recorded(self, row: RecordedFailure) -> dict[str, str]:
        """The sha256 that a row has of the user's files, by path from the current folder."""
        return {path_from(name, self.path.parent, Path()): digest for name, digest in row.code.items()}

    def _configuration(self, row: RecordedFailure) -> Configuration:
        """The configuration of a row, whose claim speaks of its check, and whose scheme exists: it would be skipped unnoticed."""
        try:
            claim = find_claim(row.claim)
            find_check(row.check)
            if row.check not in claim.quantities:
                raise UserError(
                    f"check={row.check!r}: {claim.id} does not speak of it; expected {', '.join(claim.quantities)}"
                )
            place, _, attribute = reference_from(row.scheme, self.path.parent).rpartition(":")
            lost = None
            if place.endswith(".py") and not os.path.isfile(place):
                lost = f"there is no file {place!r}; expected the file that makes the scheme"
            elif place.endswith(".py") and attribute.split(".")[0].encode() not in Path(place).read_bytes():
                lost = f"{place} has no {attribute!r}; expected the scheme of the row"
            if lost:
                raise UserError(
                    f"scheme={row.scheme!r}: {lost}; give its new name in the row, or delete the row"
                )
            return load_configuration(row.configuration)
        except UserError as error:
            raise UserError(f"{self.place(row)}: {error}") from None
