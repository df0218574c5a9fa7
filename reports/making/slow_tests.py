"""The last outcome of each test behind the marker `power`. Writes power/slow_tests.json and .md.

`python -m reports.making.slow_tests` runs them all; `python -m reports.making.slow_tests tests/mutants` those of a folder, and
keeps the stored outcomes of the others. A test that the default run leaves out is listed with what came of it when it last ran.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from sgverify.keeping.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parents[1] / "power"

Outcomes = dict[str, str]
"""{test as pytest names it: passed, failed or skipped}."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the tests behind `power`, all or those that pytest's `arguments` choose, and write what came of them."""
    chosen = sys.argv[1:] if arguments is None else arguments
    found: Outcomes = {}
    # The tests of the package, and those of what lies beside it.
    for step in ([], ["--beside"]):
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder) / "junit.xml"
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-m",
                "power",
                f"--junitxml={written}",
                *step,
                *chosen,
            ]
            subprocess.run(command, cwd=ROOT, check=False)
            found |= read(written.read_text(encoding="utf-8"))
    write({**stored(FOLDER), **found})


def read(junit: str) -> Outcomes:
    """The outcomes of a run, from pytest's JUnit XML."""
    outcomes = {}
    for case in ET.fromstring(junit).iter("testcase"):
        place = case.get("classname", "").replace(".", "/")
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        outcomes[f"{place}.py::{case.get('name')}"] = outcome
    return outcomes


def stored(folder: Path) -> Outcomes:
    """The outcomes that are stored, without those of tests that are gone."""
    path = folder / "slow_tests.json"
    rows: Outcomes = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: outcome for name, outcome in rows.items() if exists(name)}


def exists(name: str) -> bool:
    """Whether a test of this name is in its file."""
    place, _, rest = name.partition("::")
    path = ROOT / place
    return path.exists() and f"def {rest.partition('[')[0]}(" in path.read_text(encoding="utf-8")


def write(outcomes: Mapping[str, str]) -> None:
    """Store the outcomes by name, and the page."""
    text = json.dumps(dict(sorted(outcomes.items())), indent=0)
    write_atomically(FOLDER / "slow_tests.json", text + "\n")
    render(FOLDER.parent)


def render(folder: Path) -> None:
    """Write the page of the outcomes that are stored in a folder of reports."""
    rows: Outcomes = json.loads((folder / "power" / "slow_tests.json").read_text(encoding="utf-8"))
    tests: dict[str, Counter[str]] = {}
    for name, outcome in rows.items():
        tests.setdefault(name.partition("[")[0], Counter())[outcome] += 1
    total = Counter(rows.values())
    lines = [
        "# Tests behind the marker `power`",
        "",
        str(__doc__).split("\n\n", 1)[1].strip().replace("\n", " "),
        "",
        f"{len(rows)} tests: {', '.join(f'{number} {outcome}' for outcome, number in sorted(total.items()))}.",
        "",
        "| file | test | cases | last result |",
        "|---|---|---|---|",
    ]
    for name, found in tests.items():
        file, _, test = name.partition("::")
        outcomes = ", ".join(
            outcome if len(found) == 1 else f"{number} {outcome}" for outcome, number in found.items()
        )
        lines.append(f"| {file} | {test} | {found.total()} | {outcomes} |")
    failed = [name for name, outcome in rows.items() if outcome == "failed"]
    if failed:
        lines += ["", "Failed:", "", *(f"- `{name}`" for name in failed)]
    write_atomically(folder / "power" / "slow_tests.md", "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
