"""Which versions does the package run with? A selection of the tests in the environments of tox.ini, and the distributions.

`python -m reports versions` makes the environments `lowest` and `newest` by tox, runs the selection in each, and tries the wheel
and the source distribution. `python -m reports.making.versions NAME PYTHON [NOTE]` records the selection under another
interpreter, such as that of an environment that was made by hand.
"""

from __future__ import annotations

import configparser
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from reports.making import distributions, slow_tests
from sgverify.keeping.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ("lowest", "newest")
LIBRARIES = (
    "numpy",
    "scipy",
    "torch",
    "sympy",
    "python-flint",
    "pydantic",
    "hypothesis",
    "arviz",
    "xarray",
    "zarr",
)

ASK = f"""
import json, platform
from importlib.metadata import version
print(json.dumps({{"Python": platform.python_version(), **{{name: version(name) for name in {LIBRARIES!r}}}}}))
"""


def selection() -> list[str]:
    """The tests of the section `smoke` of tox.ini."""
    read = configparser.ConfigParser()
    read.read(ROOT / "tox.ini", encoding="utf-8")
    return read["smoke"]["tests"].split()


def run(python: str, note: str = "") -> dict[str, Any]:
    """Run the selection with a Python in whose environment the package's requirements are."""
    versions = json.loads(
        subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=True).stdout
    )
    plugins = [word for name in distributions.PLUGINS for word in ("-p", name)]
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "junit.xml"
        command = [
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore",
            "--disable-plugin-autoload",
            *plugins,
        ]
        started = time.monotonic()
        done = subprocess.run([*command, f"--junitxml={written}", *selection()], cwd=ROOT, check=False)
        outcomes = slow_tests.read(written.read_text(encoding="utf-8"))
    if done.returncode not in (0, 1):
        raise SystemExit(f"versions: pytest ended with {done.returncode}")
    counts = Counter(outcomes.values())
    return {
        "versions": versions,
        **{word: counts[word] for word in ("passed", "failed", "skipped")},
        "failing": sorted(name for name, outcome in outcomes.items() if outcome == "failed"),
        "minutes": round((time.monotonic() - started) / 60, 1),
        "note": note,
    }


def make(folder: Path) -> None:
    """Make the environments and the distributions, try them, and write what came of it."""
    for name in ENVIRONMENTS:
        subprocess.run([sys.executable, "-m", "tox", "-e", name, "--notest"], cwd=ROOT, check=True)
        keep(folder, name, run(str(ROOT / ".tox" / name / "bin" / "python")))
    keep_distributions(folder)


def keep(folder: Path, name: str, found: dict[str, Any]) -> None:
    """Store what came of one environment, beside what is stored of the others."""
    _write(folder, lambda stored: stored["environments"].update({name: found}))


def keep_distributions(folder: Path) -> None:
    """Build and try the distributions, and store what came of it."""
    with tempfile.TemporaryDirectory() as work:
        tried = distributions.try_out(Path(work))
    _write(folder, lambda stored: stored.update(distributions=tried))


def _write(folder: Path, change: Any) -> None:
    path = folder / "versions" / "versions.json"
    path.parent.mkdir(exist_ok=True)
    stored: dict[str, Any] = {"environments": {}, "distributions": []}
    if path.exists():
        stored = json.loads(path.read_text(encoding="utf-8"))
    change(stored)
    write_atomically(path, json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    render(folder)


def render(folder: Path) -> None:
    """Write FOLDER/versions/versions.md from the stored JSON."""
    stored = json.loads((folder / "versions" / "versions.json").read_text(encoding="utf-8"))
    lines = [
        "# Versions",
        "",
        "The selection of tests that `tox -e lowest` and `tox -e newest` run, with the oldest and the newest versions;",
        "the whole suite runs with the versions of `constraints.txt`.",
        "",
        f"| environment | Python | {' | '.join(LIBRARIES)} | passed | failed | skipped |",
        f"|---|---|{'---|' * len(LIBRARIES)}---|---|---|",
    ]
    notes = []
    for name, found in stored["environments"].items():
        versions = found["versions"]
        row = [name, versions["Python"], *(versions[library] for library in LIBRARIES)]
        lines.append(
            f"| {' | '.join(map(str, [*row, found['passed'], found['failed'], found['skipped']]))} |"
        )
        notes += [f"- {name}: {found['note']}"] if found["note"] else []
        notes += [f"- {name}: fails: `{test}`" for test in found["failing"]]
    lines += ["", *notes, *[""] * bool(notes)]
    if stored["distributions"]:
        lines += [
            "The distributions, each installed into a new environment with the versions of `constraints.txt`:",
            "",
            "| distribution | files of the package | doctor | verify sghmc-baoab | tests of the source distribution |",
            "|---|---|---|---|---|",
        ]
    else:
        lines.append("The distributions as installed: not recorded.")
    lines += [
        f"| {one['name']} | {one['files']} | exit {one['doctor']} | exit {one['verify']} | {one['tests']} |"
        for one in stored["distributions"]
    ]
    write_atomically(folder / "versions" / "versions.md", "\n".join(lines) + "\n")


if __name__ == "__main__":
    place, interpreter, *told = sys.argv[1:]
    keep(Path("reports"), place, run(interpreter, " ".join(told)))
