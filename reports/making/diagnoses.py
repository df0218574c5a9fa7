"""The diagnoses of wrong definitions whose causes are known. Writes diagnoses/diagnoses.json and diagnoses/diagnoses.md.

Each wrong definition is diagnosed under the configuration of the planted bugs. Its cause is stated beside it; that it is named
counts only where its name comes out. An edit is the inverse of the bug, or equivalent to it, where the mended step has the same
expansion as the right one through the power of h after its order, for every smooth potential; an edit of the claim, where the
right scheme claims the same order. Any other edit makes another scheme, under which proof and exact checks pass as well. The
definitions `unseen` were written before the search for edits was finished, and not diagnosed until then: first_sight.json beside
the table keeps what it did with them at first, and is not made again.

Torch code and the running code have a cause alone, from the checks that refute them. The causes of the running code were stated
beside the rules that name them: their number says how far these rules reach, and not how well they would do with other bugs.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from reports.making.power.kill_matrix import decode_kill_matrix
from sgverify.advice.diagnosis.causes import leading_cause, named_cause, required_order
from sgverify.advice.diagnosis.diagnosing import CAUSES_SEEN, diagnose
from sgverify.advice.diagnosis.model import Diagnosis
from sgverify.advice.diagnosis.trial import ALWAYS
from sgverify.advice.diagnosis.wrong_terms.moments import moments_of
from sgverify.checks.applicable_claims import judge_pair
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.errors import NotExpandableError, UserError
from sgverify.evidence import Evidence
from sgverify.exact.readings.formula import formula
from sgverify.keeping.files import write_atomically
from sgverify.schemes import Scheme
from sgverify.schemes.loading import load_scheme
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from tests.mutants.mutant import CONFIGURATION, Mutant
from tests.mutants.planting import planted
from tests.mutants.registry import mutants
from tests.pools.diagnosed.registry import FAMILIES, UNSEEN, bugs

PLANTED, WRITTEN, LAST, TORCH, RUNNING = (
    "planted in definitions",
    "new definitions",
    "definitions unseen before",
    "torch code",
    "running code",
)
FOLDER = Path(__file__).parents[1]


@dataclass(frozen=True)
class Row:
    """One diagnosis. `equivalent` is None where no edit was found, or the expansions cannot be compared."""

    group: str
    family: str
    name: str
    true_cause: str
    named: str
    sentence: str
    edit: str
    equivalent: bool | None
    seconds: float
    stopped: bool


def rows() -> Iterator[Row]:
    """The diagnoses of all wrong definitions, and of the torch code with planted bugs."""
    causes, failing = {name: mutant.cause for name, mutant in mutants().items()}, _failing_checks()
    groups: dict[str, list[Row]] = {PLANTED: [], TORCH: [], RUNNING: []}
    for mutant in mutants().values():
        group = PLANTED if mutant.in_definition else TORCH if mutant.family == TORCH else RUNNING
        asked = ALWAYS if mutant.in_definition else failing[mutant.name]
        if not asked:
            # A bug of sgverify's own sampler: its own tests refute it, and no user is told a cause.
            continue
        with planted(mutant) as subject:
            found = _row(group, mutant.family, causes[mutant.name], subject, _right(mutant), asked)
            groups[group].append(replace(found, name=mutant.name))
    for rows_of_group in groups.values():
        yield from rows_of_group
    for group, families in ((WRITTEN, FAMILIES), (LAST, UNSEEN)):
        for family in families:
            yield from written(group, family)


def written(group: str, family: str) -> Iterator[Row]:
    """The diagnoses of a family of wrong definitions."""
    with TemporaryDirectory() as folder:
        for bug in bugs(family, Path(folder)):
            subject = make_subject(bug.wrong, load_configuration(CONFIGURATION))
            yield _row(group, family, bug.cause, subject, bug.right, ALWAYS)


def _failing_checks() -> dict[str, list[tuple[str, str]]]:
    """The claims and checks of the running code that refute each planted bug, by the kill matrix: they are asked again."""
    stored = json.loads((FOLDER / "power" / "kill_matrix.json").read_text(encoding="utf-8"))
    return {
        mutant.name: [(t.claim, t.check) for t in mutant.trials if t.kill and t.check in CAUSES_SEEN]
        for mutant in decode_kill_matrix(stored).mutants
    }


def _right(mutant: Mutant) -> Scheme | None:
    return load_scheme(mutant.scheme) if mutant.in_definition else None


def _row(
    group: str,
    family: str,
    cause: str,
    subject: Subject,
    right: Scheme | None,
    asked: Sequence[tuple[str, str]],
) -> Row:
    found = diagnose(subject, _evidence(subject, asked)) or _undiagnosed(subject)
    edit = found.edit
    same = None
    if isinstance(found.mended, Scheme) and edit is not None and right is not None:
        same = (
            found.mended.order == right.order
            if edit.claim
            else equivalent(found.mended, right, required_order(subject))
        )
    return Row(
        group,
        family,
        subject.scheme.name,
        cause,
        found.cause.name,
        found.cause.sentence,
        "" if edit is None else f"{edit.was} -> {edit.now}",
        same,
        round(found.seconds, 2),
        found.stopped,
    )


def _undiagnosed(subject: Subject) -> Diagnosis:
    """The cause of torch code, or of a definition, of which nothing fails that was asked: without a search for an edit."""
    started = time.process_time()
    cause = leading_cause(subject, []) if subject.composite is not None else named_cause(subject, [])
    return Diagnosis(cause, None, time.process_time() - started)


def _evidence(subject: Subject, asked: Sequence[tuple[str, str]]) -> list[Evidence]:
    found: list[Evidence] = []
    for claim, check in asked:
        try:
            found += judge_pair(subject, find_claim(claim), check)
        except UserError:
            # No step is stable, or the configured one is not: that is not judged.
            continue
    return found


def equivalent(mended: Scheme, right: Scheme, order: int) -> bool | None:
    """Whether two steps have one formula, or equal expansions through h^(order + 1) in dimension 2; None if there is none."""
    if formula(mended).split("\n", 1)[1] == formula(right).split("\n", 1)[1]:
        return True
    try:
        own, due = _expansion(mended, order), _expansion(right, order)
    except NotExpandableError:
        return None
    if len(due) == 1:
        # A text may have branches that the right one has not, as where s*s is 1 on both sides of a sign.
        (only,) = due.values()
        return all(found == only for found in own.values())
    return own == due


def _expansion(scheme: Scheme, order: int) -> dict[str, list[dict[tuple[int, ...], str]]]:
    return {
        found.where: [
            {
                index: found.ring.text(value, 10_000)
                for index, value in operator.items()
                if value and any(index)
            }
            for operator in found.operators
        ]
        for found in moments_of(scheme, 2, 2 * (order + 1))
    }


def make(folder: Path) -> None:
    """Diagnose all, and write FOLDER/diagnoses."""
    found = []
    for row in rows():
        print(f"{row.seconds:5.2f} s  {row.name}: {row.named}, {row.edit or 'no edit'}", flush=True)
        found.append(row)
    (folder / "diagnoses").mkdir(exist_ok=True)
    text = json.dumps([asdict(row) for row in found], indent=1)
    write_atomically(folder / "diagnoses" / "diagnoses.json", text + "\n")
    render(folder)


def render(folder: Path) -> None:
    """Write FOLDER/diagnoses/diagnoses.md from the table beside it."""
    stored = json.loads((folder / "diagnoses" / "diagnoses.json").read_text(encoding="utf-8"))
    found = [Row(**row) for row in stored]
    write_atomically(folder / "diagnoses" / "diagnoses.md", page(found))


def page(found: Sequence[Row]) -> str:
    """The table as Markdown: a summary by group and family first."""
    lines = ["# Diagnoses of wrong definitions", "", str(__doc__).split("\n\n", 1)[1].strip(), ""]
    lines += [_first_sight(), ""]
    head = "| group | family | bugs | true cause named | edit proposed | inverse or equivalent | median s | longest s |"
    lines += [head, "|---|---|--:|--:|--:|--:|--:|--:|"]
    for group in dict.fromkeys(row.group for row in found):
        of_group = [row for row in found if row.group == group]
        lines.append(_summary(f"**{group}**", "all", of_group))
        counts = Counter(row.family for row in of_group)
        for family in counts if len(counts) > 1 else ():
            lines.append(_summary("", family, [row for row in of_group if row.family == family]))
    lines += ["", "| bug | true cause | named | edit | equivalent | s |", "|---|---|---|---|---|--:|"]
    for row in found:
        same = {True: "yes", False: "no", None: ""}[row.equivalent]
        named = row.named if row.named == row.true_cause else f"**{row.named}**"
        edit = (
            f"`{row.edit}`".replace("|", "\\|").replace("\n", " ")
            if row.edit
            else "time ended"
            if row.stopped
            else ""
        )
        lines.append(f"| {row.name} | {row.true_cause} | {named} | {edit} | {same} | {row.seconds:.2f} |")
    return "\n".join(lines) + "\n"


def record_first_sight(folder: Path) -> None:
    """Write FOLDER/diagnoses/first_sight.json, the diagnoses of the families that were never diagnosed before."""
    found = [row for family in UNSEEN for row in written(LAST, family)]
    text = json.dumps([asdict(row) for row in found], indent=1)
    write_atomically(folder / "diagnoses" / "first_sight.json", text + "\n")


def _first_sight() -> str:
    stored = json.loads((FOLDER / "diagnoses" / "first_sight.json").read_text(encoding="utf-8"))
    found = [Row(**row) for row in stored]
    named, edits, same = _counts(found)
    return (
        f"Of the {len(found)} definitions unseen before, at first sight: the true cause named in {named}, an edit proposed in "
        f"{edits}, the inverse or an equivalent one in {same}."
    )


def _counts(found: Sequence[Row]) -> tuple[int, int, int]:
    """How often the true cause is named, an edit proposed, and the edit is the inverse or equivalent."""
    return (
        sum(row.named == row.true_cause for row in found),
        sum(bool(row.edit) for row in found),
        sum(row.equivalent is True for row in found),
    )


def _summary(group: str, family: str, found: Sequence[Row]) -> str:
    named, edits, same = _counts(found)
    seconds = [row.seconds for row in found]
    counts = f"{len(found)} | {named} | {edits} | {same}"
    return f"| {group} | {family} | {counts} | {median(seconds):.2f} | {max(seconds):.2f} |"


if __name__ == "__main__":
    make(FOLDER)
