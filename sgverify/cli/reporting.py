"""`sgverify report`: a suite of schemes and configurations, judged and written down."""

from __future__ import annotations

from typing import Any

import click

from sgverify.cli import output
from sgverify.cli.workers import Job, Lost, default_workers, run_apart
from sgverify.errors import ConfigurationError
from sgverify.evidence import Document, Erratum, Evidence, Study, exit_code

DEFAULT_FOLDER = "sgverify-report"


def run_report(
    suite: str, folder: str, quick: bool | None, strict: bool, workers: int | None, watch: output.Stopwatch
) -> int:
    """Judge every case of the suite, build its studies, write the report; what is done is written even after Ctrl-C."""
    from sgverify.papers.errata import check_errata
    from sgverify.papers.own_suites import load_suite
    from sgverify.papers.paper import publication_of
    from sgverify.papers.studies import build_study, studies_of
    from sgverify.papers.suites import find_suite
    from sgverify.report import counted, counts, prepare_folder, write_report

    effort = {True: "quick", False: "full", None: "default"}[quick]
    own = load_suite(suite) if ":" in suite else None
    cases = (own or find_suite(suite))(effort)
    if not folder:
        raise ConfigurationError(f"--out {folder!r}: expected a folder; leave it out for {DEFAULT_FOLDER}")
    prepare_folder(folder)
    names = () if own else studies_of(suite)
    # Studies first: they take longest, and nothing should wait for the last of them.
    jobs: list[Job] = [(build_study, (name, effort)) for name in names] + [(case.run, ()) for case in cases]
    titles = [*names, *(case.title for case in cases)]
    last = len(jobs)
    if own is None:
        jobs.append((check_errata, ((), suite)))
        titles.append("errata")
    done: dict[int, Any] = {}
    interrupted = False
    try:
        with output.progress(f"report {suite}") as progress:
            for number, result in run_apart(jobs, default_workers() if workers is None else workers):
                done[number] = result
                if progress:
                    progress(titles[number], len(done), len(jobs))
    except KeyboardInterrupt:
        interrupted = True
    lost = {number: done.pop(number) for number in sorted(done) if isinstance(done[number], Lost)}
    shown: list[Study] = [done[number] for number in range(len(names)) if number in done]
    found: list[Evidence] = [item for number in range(len(names), last) for item in done.get(number, ())]
    formulas: list[Erratum] = done.get(last, [])
    document = Document(tuple(found), watch.provenance())
    if own:
        page = write_report(document, folder, title=own.title)
    else:
        page = write_report(document, folder, shown, formulas, publication_of(suite))
    tally = ", ".join(f"{number} {verdict}" for verdict, number in counts(found).items() if number)
    studies = f"; {len(shown)} studies" if shown else ""
    errata = f"; {counted(formulas)}" if formulas else ""
    click.echo(f"{page}: {len(found)} pieces of evidence: {tally or 'none'}{studies}{errata}")
    for number, item in lost.items():
        click.echo(f"not in the report: {titles[number]}: {item.reason}", err=True)
    if interrupted:
        click.echo("interrupted: the report holds what was answered so far", err=True)
        return 130
    if lost:
        return max(item.code for item in lost.values())
    return exit_code(found) if strict else 0
