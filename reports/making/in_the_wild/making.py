"""Judge the installed samplers as they are, and those of the finds again with their lines mended; write the JSON and the page."""

from __future__ import annotations

import importlib
import inspect
import json
import runpy
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from reports.making.in_the_wild import page
from reports.making.in_the_wild.finds import FINDS, Find
from reports.making.in_the_wild.issues import found_by, read_finds, written
from reports.making.in_the_wild.libraries import LIBRARIES, SAMPLERS, ReleasedLibrary
from reports.making.suites import made_by
from sgverify import __version__
from sgverify.evidence import Evidence, read_evidence, whole_outcome, write_evidence
from sgverify.keeping.files import json_text, write_atomically
from sgverify.papers.suites import SuiteCase
from sgverify.testing.planting import edited_source, source_text

FOLDER, PART = "in-the-wild", "in-the-wild"
REPRODUCTIONS = Path(__file__).parent / "reproductions"
FILES = (
    "index.html",
    "evidence.html",
    "finds.json",
    "mended.json",
    *(f"{library.distribution}.json" for library in LIBRARIES),
)
"""The files of the folder."""

NEEDS_VERSIONS = ("torch", "jax", "numpy")
"""The packages whose releases are told besides those of the libraries."""


def make(folder: Path) -> None:
    """Judge what is installed; what is stored of libraries that are not stays as it is."""
    if not any(library.release for library in LIBRARIES):
        names = ", ".join(library.distribution for library in LIBRARIES)
        raise SystemExit(f"{PART}: none of its libraries is installed; expected one at least of {names}")
    here = folder / FOLDER
    here.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for library in LIBRARIES:
        if library.release:
            found = [item for case in library.cases for item in judged(case)]
            write_evidence(here / f"{library.distribution}.json", found, made_by(PART))
    finish(folder)


def finish(folder: Path) -> None:
    """The finds, from the stored evidence: mended, reproduced, and written with the page; those of what is absent as stored."""
    here = folder / FOLDER
    before = read_finds(here / "finds.json")
    kept_rows = {row["name"]: row for row in before["finds"]}
    kept = read_evidence(here / "mended.json").evidence
    mended: list[Evidence] = []
    rows = []
    for find in FINDS:
        library = library_of(find)
        if library.release is None:
            schemes = {f"{SAMPLERS}.{name}" for name, _ in find.judged}
            mended.extend(item for item in kept if item.scheme in schemes and item.check in find.by)
            rows.append(kept_rows[find.name])
            continue
        stored = read_evidence(here / f"{library.distribution}.json").evidence
        with mending(find):
            after = [item for case in cases_of_find(find) for item in judged(case)]
            after_found = reproduced(find)["found"]
        mended.extend(after)
        rows.append(row_of(find, library, stored, after, after_found))
    write_evidence(here / "mended.json", mended, made_by(PART))
    releases = {**before["versions"], **versions()}
    write_atomically(here / "finds.json", json_text({"versions": releases, "finds": rows}))
    render(folder)


def judged(case: SuiteCase) -> list[Evidence]:
    """The evidence of one case; seconds are left out, so that the files are the same on every machine."""
    print(case.title, file=sys.stderr, flush=True)
    return [replace(item, seconds=0.0) for item in case.run()]


def cases_of_find(find: Find) -> list[SuiteCase]:
    """The samplers of a find, with the checks that are to see it."""
    return [SuiteCase(f"{SAMPLERS}.{name}", settings, find.by) for name, settings in find.judged]


@contextmanager
def mending(find: Find) -> Iterator[None]:
    """A context in which the library's lines are mended; raises `PlantError` where a line is not there exactly once."""
    if find.patch is not None:
        with find.patch():
            yield
        return
    places: dict[str, list[tuple[str, str]]] = {}
    for place, was, now in find.edits:
        places.setdefault(place, []).append((was, now))
    with ExitStack() as stack:
        for place, edits in places.items():
            _load(place)
            stack.enter_context(edited_source(place, edits))
        _forget()
        try:
            yield
        finally:
            _forget()


def _load(place: str) -> None:
    """The modules of a library that the suite loads in a way of its own."""
    package = place.partition(":")[0].partition(".")[0]
    if package in ("sgmcmcjax", "jax_sgmc", "torch_uncertainty"):
        importlib.import_module(f"{SAMPLERS}.{package}")


def _forget() -> None:
    """Steps are made and traced anew: the code of a library has changed."""
    for name in [name for name in sys.modules if name.startswith(f"{SAMPLERS}.")]:
        del sys.modules[name]


def reproduced(find: Find) -> dict[str, float]:
    """The numbers that the script of a find computes in this process: `found`, by the library, and `expected`, by the formula."""
    names = runpy.run_path(str(script_path(find)))
    return {key: float(names[key]) for key in ("found", "expected")}


def reproduced_alone(find: Find, script: Path | None = None) -> dict[str, Any]:
    """The numbers and the calls of a find's script in a process that has its library, and neither sgverify nor this code."""
    alone = Path(__file__).with_name("alone.py")
    package = library_of(find).packages[-1]
    done = subprocess.run(
        [sys.executable, "-I", str(alone), str(script or script_path(find)), package],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    told: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return told


def script_path(find: Find) -> Path:
    """The file of a find's script."""
    return REPRODUCTIONS / f"{find.name}.py"


def commands_of(find: Find) -> list[str]:
    """The commands that find it, in a checkout."""
    return [
        " ".join(
            (
                f"sgverify verify {case.scheme} --checks {','.join(case.checks)}",
                *(f"--set {setting}" for setting in case.settings),
            )
        )
        for case in cases_of_find(find)
    ]


def row_of(
    find: Find,
    library: ReleasedLibrary,
    stored: Sequence[Evidence],
    after: Sequence[Evidence],
    after_found: float,
) -> dict[str, Any]:
    """One find with everything that was computed of it."""
    schemes = {f"{SAMPLERS}.{name}" for name, _ in find.judged}
    failing = [
        item for item in stored if item.scheme in schemes and item.check in find.by and item.outcome == "fail"
    ]
    still = [item for item in after if item.outcome == "fail"]
    here = reproduced_alone(find)
    calls = here["calls"]
    return {
        "name": find.name,
        "library": library.distribution,
        "release": library.release,
        "title": written(find.title, calls),
        "root": find.root or find.name,
        "shared_by": [f"{SAMPLERS}.{name}" for name in find.shared_by],
        "verdict": failing[0].verdict if failing else "inconclusive",
        "evidence": [
            {"id": item.id, "scheme": item.scheme, "check": item.check, "reason": item.reason}
            for item in failing
        ],
        "mended": {
            "verdict": still[0].verdict
            if still
            else "conforms"
            if whole_outcome(after) == "pass"
            else "inconclusive",
            "checks": [
                {"scheme": item.scheme, "check": item.check, "outcome": item.outcome} for item in after
            ],
            "found": after_found,
        },
        "lines": [{"place": line_of(place, was), "was": was, "now": now} for place, was, now in find.edits],
        "expected": written(find.expected, calls),
        "weight": written(find.weight, calls),
        "time_scale": written(find.time_scale, calls),
        "upstream": asdict(find.upstream),
        "slight": find.slight,
        "reproduction": script_path(find).read_text(encoding="utf-8"),
        "calls": calls,
        "found": here["found"],
        "beside": here["beside"],
        "expected_number": here["expected"],
        "predicted": find.predicted(),
        "provenance": found_by(find, commands_of(find), __version__, versions()),
    }


def text_at(place: str) -> str:
    """The source text of the function or class at a place, dedented."""
    module, _, name = place.partition(":")
    found = getattr(importlib.import_module(module), name, None)
    return textwrap.dedent(inspect.getsource(found)) if isinstance(found, type) else source_text(place)


def line_of(place: str, was: str) -> str:
    """FILE:LINE of the text's last line in the installed source, the file from the root of its package.

    Raises `ValueError` unless the function or class has the text exactly once.
    """
    _load(place)
    if text_at(place).count(was) != 1:
        raise ValueError(f"{place}: has {was!r} {text_at(place).count(was)} times; expected exactly once")
    module = importlib.import_module(place.partition(":")[0])
    whole = Path(inspect.getfile(module)).read_text(encoding="utf-8").split("\n")
    # The function's text is dedented; its lines are found by what they say.
    own = [line.strip() for line in text_at(place).rstrip().split("\n")]
    stripped = [line.strip() for line in whole]
    start = next(k for k in range(len(whole)) if stripped[k : k + len(own)] == own)
    within = text_at(place).partition(was)[0].count("\n") + was.count("\n")
    parts = Path(inspect.getfile(module)).parts
    root = place.partition(".")[0].partition(":")[0]
    first = len(parts) - 1 - parts[::-1].index(root)
    return f"{'/'.join(parts[first:])}:{start + within + 1}"


def library_of(find: Find) -> ReleasedLibrary:
    """The library of a find."""
    return next(library for library in LIBRARIES if library.distribution == find.library)


def versions() -> dict[str, str]:
    """The releases that are installed."""
    found = {library.distribution: library.release for library in LIBRARIES if library.release}
    return {**found, **{name: version(name) for name in NEEDS_VERSIONS if find_spec(name)}}


def render(folder: Path) -> None:
    """Write the pages from the JSON that is stored."""
    here = folder / FOLDER
    stored = read_finds(here / "finds.json")
    evidence = {
        library.distribution: read_evidence(here / f"{library.distribution}.json").evidence
        for library in LIBRARIES
    }
    page.write(here, evidence, stored, made_by(PART))
