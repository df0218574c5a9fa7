"""A paper's experiments, and its page: the claims judged and the errata computed beside the experiments that are stored.

The experiments take long, so they are a part of their own. Nothing of the machine is in what is written.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reports.experiments import build_experiment, experiments_of
from sgverify.cli.shared.answering import TaskAnswers, answers
from sgverify.cli.shared.options import StoreChoice
from sgverify.cli.shared.report_tasks import case_task, errata_task, evidence_of
from sgverify.evidence import (
    Document,
    Erratum,
    Provenance,
    decode_errata,
    read_evidence,
    read_studies,
    write_studies,
)
from sgverify.papers.paper import publication_of
from sgverify.papers.suites import find_suite
from sgverify.report.errata import counted
from sgverify.report.text import counts
from sgverify.report.writing import write_report


def write_experiments(suite: str, folder: Path, effort: str) -> None:
    """Build the figures and experiments of a suite one by one, and write FOLDER/SUITE/studies.json."""
    found = [replace(build_experiment(name, effort), seconds=0.0) for name in experiments_of(suite)]
    (folder / suite).mkdir(parents=True, exist_ok=True)
    write_studies(folder / suite / "studies.json", found, made_by(f"{suite}-experiments"))


def write_page(suite: str, folder: Path, effort: str, workers: int | None) -> None:
    """Judge every case of a suite and compute its errata, and write FOLDER/SUITE; the studies there are shown as they are."""
    started = time.perf_counter()
    cases = [case_task(case) for case in find_suite(suite)(effort)]
    done = answers([*cases, errata_task(suite)], workers, StoreChoice(), suite)
    _stop_without(done, suite)
    evidence = tuple(replace(item, seconds=0.0) for item in evidence_of(done.found, range(len(cases))))
    formulas = done.found[len(cases)]
    page = _write(Document(evidence, made_by(suite)), folder / suite, formulas)
    tally = ", ".join(f"{number} {verdict}" for verdict, number in counts(evidence).items() if number)
    seconds = time.perf_counter() - started
    print(
        f"{page}: {len(evidence)} pieces of evidence: {tally}; {counted(formulas)}; {seconds:.0f} s",
        file=sys.stderr,
    )


def render(suite: str, folder: Path) -> None:
    """Write the page of FOLDER/SUITE anew from the evidence, the errata and the studies that are stored there."""
    errata = json.loads((folder / suite / "errata.json").read_text(encoding="utf-8"))
    _write(read_evidence(folder / suite / "report.json"), folder / suite, decode_errata(errata))


def made_by(part: str) -> Provenance:
    """A provenance that names the command and nothing else, so that the files are the same on every machine."""
    return Provenance(
        version="", python="", torch="", platform="", command=f"python -m reports {part}", seconds=0.0
    )


def _stop_without(done: TaskAnswers, what: str) -> None:
    """End the process where a task failed, or where it was interrupted."""
    if done.interrupted:
        raise KeyboardInterrupt
    for lost in done.lost.values():
        print(f"{what}: {lost.reason}", file=sys.stderr)
        raise SystemExit(lost.code)


def _write(document: Document, folder: Path, formulas: Sequence[Erratum]) -> Path:
    held = read_studies(folder / "studies.json")
    page = write_report(document, folder, held.studies, formulas, publication_of(folder.name))
    # They were not computed here, and say by what they were.
    write_studies(folder / "studies.json", held.studies, held.provenance)
    return page
