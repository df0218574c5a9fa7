"""Write the committed page of a suite: `python reports/pages.py SUITE ... [--effort quick|default|full] [--workers N]`.

The claims are judged and the errata computed anew; the experiments, which take long, are those that `reports/experiments.py`
wrote to `reports/SUITE/studies.json`. Nothing of the machine is in what is written.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sgverify.checks.errata import check_errata
from sgverify.checks.suites import EFFORTS, find_suite
from sgverify.cli.workers import Lost, default_workers, run_apart
from sgverify.evidence import Document, Provenance, read_studies, write_studies
from sgverify.report import counted, counts, write_report

FOLDER = Path(__file__).resolve().parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge every case of each suite, and write its page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suites", nargs="+", metavar="SUITE")
    parser.add_argument("--effort", default="default", choices=EFFORTS)
    parser.add_argument("--workers", type=int, default=None, metavar="N")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER", help="of the suites' folders")
    given = parser.parse_args(arguments)
    for suite in given.suites:
        started = time.perf_counter()
        jobs = [(case.run, ()) for case in find_suite(suite)(given.effort)]
        done = dict(run_apart([*jobs, (check_errata, ((), suite))], given.workers or default_workers()))
        lost = next((item for item in done.values() if isinstance(item, Lost)), None)
        if lost is not None:
            print(f"{suite}: {lost.reason}", file=sys.stderr)
            return lost.code
        evidence = tuple(replace(item, seconds=0.0) for number in range(len(jobs)) for item in done[number])
        formulas = done[len(jobs)]
        held = read_studies(FOLDER / suite / "studies.json")
        page = write_report(Document(evidence, PROVENANCE), given.out / suite, held.studies, formulas)
        # They were not computed here, and say by what they were.
        write_studies(given.out / suite / "studies.json", held.studies, held.provenance)
        tally = ", ".join(f"{number} {verdict}" for verdict, number in counts(evidence).items() if number)
        seconds = time.perf_counter() - started
        print(
            f"{page}: {len(evidence)} pieces of evidence: {tally}; {counted(formulas)}; {seconds:.0f} s",
            file=sys.stderr,
        )
    return 0


PROVENANCE = Provenance(
    version="", python="", torch="", platform="", command="python reports/pages.py", seconds=0.0
)


if __name__ == "__main__":
    sys.exit(main())
