"""The diagnoses of wrong definitions whose causes are known. Writes diagnoses/diagnoses.json and diagnoses/diagnoses.md.

Each wrong definition is diagnosed under the configuration of the planted bugs. Its cause is stated beside it; that it is named
counts only where its name comes out. An edit is the inverse of the bug, or equivalent to it, where the mended step has the same
expansion as the right one through the power of h after its order, for every smooth potential. Torch code has a cause alone.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import resource
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

from sgverify.advice.diagnosis.causes import named_cause, required_order
from sgverify.advice.diagnosis.diagnosing import BUDGET
from sgverify.advice.diagnosis.search import SearchResult, search, shown
from sgverify.advice.diagnosis.trial import ALWAYS, SURE, failures
from sgverify.advice.diagnosis.wrong_terms.moments import moments_of
from sgverify.checks.applicable_claims import judge_pair
from sgverify.checks.subject.subject import Subject
from sgverify.checks.verify_and_rate import make_subject
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.errors import NotExpandableError, UserError
from sgverify.evidence import Evidence
from sgverify.exact.readings.formula import formula
from sgverify.schemes import Scheme
from sgverify.schemes.loading import load_scheme
from sgverify.selftest.mutants.mutant import CONFIGURATION, Mutant
from sgverify.selftest.mutants.planting import planted
from sgverify.selftest.mutants.registry import mutants
from sgverify.selftest.mutants.true_causes import TRUE_CAUSES
from sgverify.selftest.pools.diagnosed.registry import bugs

PLANTED, WRITTEN, TORCH = "planted in definitions", "new definitions", "torch code"
FOLDER = Path(__file__).parent

SECONDS, MEMORY = 30, 12 * 2**30
"""The processor time and the address space of one diagnosis, beyond which its search counts as stopped."""

_CONTEXT = multiprocessing.get_context("fork")


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
    for mutant in mutants().values():
        if mutant.name in TRUE_CAUSES:
            group = PLANTED if mutant.in_definition else TORCH
            with planted(mutant) as subject:
                found = _row(group, mutant.family, TRUE_CAUSES[mutant.name], subject, _right(mutant))
                yield replace(found, name=mutant.name)
    for family, wrong in bugs().items():
        for bug in wrong:
            subject = make_subject(bug.wrong, load_configuration(CONFIGURATION))
            yield _row(WRITTEN, family, bug.cause, subject, bug.right)


def _right(mutant: Mutant) -> Scheme | None:
    return load_scheme(mutant.scheme) if mutant.in_definition else None


def _row(group: str, family: str, cause: str, subject: Subject, right: Scheme | None) -> Row:
    """The diagnosis, made in a process of its own; where that passes a limit, the cause without a search for an edit."""
    here, there = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_child, args=(there, group, family, cause, subject, right), daemon=True)
    process.start()
    there.close()
    try:
        found: Row = here.recv()
    except EOFError:
        named = named_cause(subject, _evidence(subject))
        said = (named.name, named.sentence)
        found = Row(group, family, subject.scheme.name, cause, *said, "", None, float(SECONDS), True)
    process.join()
    return found


def _child(answer: Connection, *given: Any) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # At the soft limit the system ends the process, without an answer.
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    # A crash, as for want of memory, ends the process without an answer too.
    with contextlib.suppress(MemoryError):
        answer.send(_diagnosed(*given))


def _diagnosed(group: str, family: str, cause: str, subject: Subject, right: Scheme | None) -> Row:
    evidence = _evidence(subject)
    started = time.process_time()
    failed = [item for item in failures(evidence) if item.method in SURE]
    found = SearchResult(None, 0, 0, False) if subject.black_box else search(subject, failed, BUDGET)
    edit = None if found.mend is None else shown(found.mend)
    named = named_cause(subject, failed, edit)
    seconds = time.process_time() - started
    same = None
    if found.mend is not None and right is not None:
        same = equivalent(found.mend.scheme, right, required_order(subject))
    return Row(
        group,
        family,
        subject.scheme.name,
        cause,
        named.name,
        named.sentence,
        "" if edit is None else f"{edit.was} -> {edit.now}",
        same,
        round(seconds, 2),
        found.stopped,
    )


def _evidence(subject: Subject) -> list[Evidence]:
    found: list[Evidence] = []
    for claim, check in () if subject.black_box else ALWAYS:
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
        return _expansion(mended, order) == _expansion(right, order)
    except NotExpandableError:
        return None


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
    (folder / "diagnoses" / "diagnoses.json").write_text(text + "\n", encoding="utf-8")
    render(folder)


def render(folder: Path) -> None:
    """Write FOLDER/diagnoses/diagnoses.md from the table beside it."""
    stored = json.loads((folder / "diagnoses" / "diagnoses.json").read_text(encoding="utf-8"))
    found = [Row(**row) for row in stored]
    (folder / "diagnoses" / "diagnoses.md").write_text(page(found), encoding="utf-8")


def page(found: Sequence[Row]) -> str:
    """The table as Markdown: a summary by group and family first."""
    lines = ["# Diagnoses of wrong definitions", "", str(__doc__).split("\n\n", 1)[1].strip(), ""]
    unasked = len(mutants()) - sum(row.group != WRITTEN for row in found)
    lines += [f"Not diagnosed here: {unasked} bugs that are planted in the running code.", ""]
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


def _summary(group: str, family: str, found: Sequence[Row]) -> str:
    named = sum(row.named == row.true_cause for row in found)
    edits, same = (
        sum(test(row) for row in found) for test in (lambda r: bool(r.edit), lambda r: r.equivalent is True)
    )
    seconds = [row.seconds for row in found]
    counts = f"{len(found)} | {named} | {edits} | {same}"
    return f"| {group} | {family} | {counts} | {median(seconds):.2f} | {max(seconds):.2f} |"


if __name__ == "__main__":
    make(FOLDER)
