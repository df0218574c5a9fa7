"""Public bug reports of samplers: is each fault found in a few lines of its own, with its cause, and its mend right?

Writes in-the-wild/bug_reports.json and in-the-wild/bug_reports.md: what the command says of the code with the fault, and of the
mended code. `tests/in_the_wild` holds the code, and tests the verdicts.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sgverify.cli.main import main
from sgverify.keeping.files import json_text, write_atomically
from tests.in_the_wild.bug_reports import REPORTS, BugReport

FILES = ("bug_reports.json", "bug_reports.md")


def make(folder: Path) -> None:
    """Ask the command about each code, with its fault and without."""
    rows = [row(report) for report in REPORTS]
    write_atomically(folder / "in-the-wild" / FILES[0], json_text(rows))
    render(folder)


def render(folder: Path) -> None:
    """Write the page from the answers beside it."""
    rows = json.loads((folder / "in-the-wild" / FILES[0]).read_text(encoding="utf-8"))
    write_atomically(folder / "in-the-wild" / FILES[1], page(rows))


def row(report: BugReport) -> dict[str, Any]:
    """One report, with the first screen of the faulty and of the mended code."""
    screens = {}
    with TemporaryDirectory() as folder, chdir(folder):
        for state in ("faulty", "mended"):
            file = Path(f"{report.name.replace('-', '_')}_{state}.py")
            file.write_text(report.text(mended=state == "mended"), encoding="utf-8")
            name = "Sampler" if "class Sampler" in report.code else "sampler"
            screens[state] = screen([f"{file}:{name}", "--set", "gradient.kind=full"])
    return {"name": report.name, "address": report.address, "fault": report.fault, **screens}


def screen(arguments: Sequence[str]) -> list[str]:
    """The lines of `sgverify verify ARGUMENTS --quiet`."""
    with redirect_stdout(io.StringIO()) as said:
        main(["verify", *arguments, "--quiet"])
    return said.getvalue().rstrip().split("\n")


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The reports as a table, and what is said of each faulty code."""
    lines = [
        "# Bug reports",
        "",
        f"{len(rows)} faults of samplers that were reported in public, each written anew in a few lines of torch. Made by "
        "`python -m reports bug-reports`; the code is in `tests/in_the_wild/bug_reports.py`.",
        "",
        "| report | fault | with it | mended |",
        "|---|---|---|---|",
    ]
    for item in rows:
        verdicts = (item[state][0].split()[0] for state in ("faulty", "mended"))
        place = item["address"].removeprefix("https://github.com/")
        lines.append(f"| [{place}]({item['address']}) | {item['fault']} | {' | '.join(verdicts)} |")
    for item in rows:
        lines += ["", f"## {item['name']}", "", "```text", *item["faulty"], "```"]
    return "\n".join(lines) + "\n"
