"""`sgverify report`: a suite of schemes and configurations, judged and written down."""

from __future__ import annotations

from sgverify.cli.shared import output
from sgverify.cli.shared.options import StoreChoice
from sgverify.errors import ConfigurationError
from sgverify.evidence import Document, Erratum, Study, exit_code
from sgverify.evidence.model import INCONCLUSIVE
from sgverify.keeping.stopping import late

DEFAULT_FOLDER = "sgverify-report"


def run_report(
    suite: str,
    folder: str,
    quick: bool | None,
    strict: bool,
    workers: int | None,
    choice: StoreChoice,
    watch: output.Stopwatch,
) -> int:
    """Judge every case of the suite, build its studies, write the report; what is done is written even after Ctrl-C."""
    from sgverify.cli.shared.answering import answers
    from sgverify.cli.shared.report_tasks import case_task, errata_task, evidence_of, study_task
    from sgverify.papers.paper import publication_of
    from sgverify.papers.suites import find_suite, load_suite, studies_of
    from sgverify.report.errata import counted
    from sgverify.report.text import counts
    from sgverify.report.writing import prepare_folder, write_report

    effort = {True: "quick", False: "full", None: "default"}[quick]
    if suite == "wild":
        raise ConfigurationError(
            "--suite wild: it left the package; expected `python -m reports in-the-wild` in a checkout of the repository; call that"
        )
    own = load_suite(suite) if ":" in suite else None
    cases = (own or find_suite(suite))(effort)
    if not folder:
        raise ConfigurationError(f"--out {folder!r}: expected a folder; leave it out for {DEFAULT_FOLDER}")
    prepare_folder(folder)
    names = () if own else studies_of(suite)
    # Studies first: they take longest, and nothing should wait for the last of them.
    tasks = [*(study_task(name, effort) for name in names), *(case_task(case) for case in cases)]
    last = len(tasks)
    if own is None:
        tasks.append(errata_task(suite))
    done = answers(tasks, workers, choice, f"report {suite}")
    shown: list[Study] = [done.found[number] for number in range(len(names)) if number in done.found]
    found = evidence_of(done.found, range(len(names), last))
    formulas: list[Erratum] = done.found.get(last, [])
    document = Document(tuple(found), done.made_by(watch.provenance()))
    if own:
        page = write_report(document, folder, title=own.title)
    else:
        page = write_report(document, folder, shown, formulas, publication_of(suite))
    tally = ", ".join(f"{number} {verdict}" for verdict, number in counts(found).items() if number)
    studies = f"; {len(shown)} studies" if shown else ""
    errata = f"; {counted(formulas)}" if formulas else ""
    output.say(f"{page}: {len(found)} pieces of evidence: {tally or 'none'}{studies}{errata}")
    for number, item in done.lost.items():
        output.say(f"not in the report: {tasks[number].title}: {item.reason}", err=True)
    if done.interrupted:
        ended = late()
        said = "interrupted" if ended is None else f"{len(tasks) - len(done.found)} of {len(tasks)} {ended}"
        output.say(f"{said}: the report holds what was answered so far", err=True)
        return 130 if ended is None else INCONCLUSIVE
    if done.lost:
        return max(item.code for item in done.lost.values())
    return exit_code(found) if strict else 0
