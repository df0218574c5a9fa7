"""The pages, opened in headless Chromium: on a desktop, dark, narrow, without script, on paper, and across. Writes browser/.

The pages are the committed ones of the papers, and those that `sgverify verify --html` writes about a right and a wrong scheme.
Each page is held to the rules of axe-core (WCAG 2.2 A and AA, and best practice); what the console says, what a page asks of
the network, what the filters leave, what folds out, what is copied, where the link past the contents leads and how many sheets
of paper it takes is recorded; so are the pages of the documentation site (`site`). `pytest -m browser` needs Chromium, node and
npm, which puts the libraries named in `LIBRARIES` into a temporary folder.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.making import site, transcripts
from sgverify.keeping.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "report" / "open_pages.mjs"
LIBRARIES = ("puppeteer-core@24.43.1", "axe-core@4.14.1")
SUITES = ("chen2015", "vr-resgld", "awsgld")
REPORT = ("index.html", "evidence.html")
OWN = {**{name: f"{transcripts.FILE}:{name}" for name in transcripts.NAMES}, "sghmc-aboba": "sghmc-aboba"}
"""Schemes whose pages are opened beside those of the papers: the right and the wrong one of a user's file, and a splitting."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SHEETS = 8
"""The most sheets of paper that the page of a scheme takes; of its evidence what is unfolded is printed."""
LOOKS = ("desktop", "dark", "narrow", "unfolded")

Seen = Mapping[str, Any]
"""What was seen of some pages of one folder, as `open_pages.mjs` prints it."""


def missing() -> str:
    """What this machine lacks to open pages; "" where it lacks nothing."""
    lacks = [name for name in ("node", "npm") if shutil.which(name) is None]
    lacks += ["Chromium"] * (browser() is None)
    return ", ".join(lacks)


def browser() -> str | None:
    """The program that opens pages."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def install(folder: Path) -> str:
    """Put the libraries into a folder by npm; what npm says where that fails, "" where it succeeds."""
    command = [
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--prefix",
        str(folder),
        *LIBRARIES,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def write_own(folder: Path) -> None:
    """Write FOLDER/NAME.html for each scheme of `OWN`, as `sgverify verify SCHEME --html` writes it."""
    import sgverify

    with contextlib.chdir(folder):
        write_atomically(transcripts.FILE, transcripts.SOURCE)
        for name, scheme in OWN.items():
            sgverify.verify(scheme).write_page(f"{name}.html")


def look(folder: Path, libraries: Path, pages: Sequence[str] = REPORT, pictures: Path | None = None) -> Seen:
    """Open pages of a folder; `pictures` is a folder for screenshots and prints."""
    command = ["node", str(SCRIPT), str(browser()), str(libraries), str(folder), str(pictures or ""), *pages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the pages of {folder.name} were not opened: {done.stderr.strip()[-2000:]}")
    seen: Seen = json.loads(done.stdout)
    return seen


def faults(seen: Seen) -> list[str]:
    """What is wrong with pages that were seen, in words."""
    found = []
    for name, page in seen["pages"].items():
        found += [f"{name}: the console says {text}" for text in page["console"]]
        found += [f"{name}: asks the network for {text}" for text in page["requests"]]
        for kind in LOOKS:
            shown = page["looks"][kind]
            found += [
                f"{name}, {kind}: {one['id']} at {one['places']} places, first {one['first']}: {one['why']}"
                for one in shown["violations"]
            ]
            if shown["overflow"]:
                found.append(f"{name}, {kind}: wider than the screen by {shown['overflow']} pixels")
        left, folds = page["filters"], page["details"]
        chosen = [key for key in ("scheme", "claim", "outcome", "search") if key in left]
        found += [
            f"{name}: the filter {key} leaves {left[key]} of {left['all']}"
            for key in chosen
            if not 0 < left[key] < left["all"]
        ]
        found += [f"{name}: {key}: {left[key]}" for key in left if key.endswith("amiss") and left[key]]
        if left["cleared"] != left["all"]:
            found.append(f"{name}: after clearing the filters {left['cleared']} of {left['all']} are left")
        if not (folds["expanded"] == folds["count"] and folds["before"] == 0):
            found.append(f"{name}: what is folded does not fold out and back: {folds}")
        if name.removesuffix(".html") in OWN and page["sheets"] > SHEETS:
            found.append(f"{name}: is printed on {page['sheets']} sheets, {SHEETS} at most")
        if page["skip"] != {"shown": True, "reached": "content"}:
            found.append(f"{name}: the link past the contents: {page['skip']}")
        copied = page["copied"]
        if not (0 < copied["links"] == copied["right"] and copied["said"] == "link copied"):
            found.append(f"{name}: links to sections and evidence are not copied: {copied}")
        if not 0 < page["formulas"]["count"] == page["formulas"]["named"]:
            found.append(f"{name}: formulas without a text: {page['formulas']}")
        if not page["withoutScript"]["tools"] or page["withoutScript"]["entries"] != left["all"]:
            found.append(f"{name}: without script it shows something else: {page['withoutScript']}")
    first, *others = seen["pages"]
    across = {"page": others[0] if others else first, "visible": True, "open": True, "back": first}
    if seen["across"] != across:
        found.append(f"the way to the evidence and back: {seen['across']}")
    return found


def make(folder: Path) -> None:
    """Open the pages, and write what was seen to FOLDER/browser/browser.json and its page."""
    with _libraries() as libraries, tempfile.TemporaryDirectory() as own:
        seen = {suite: look(folder / suite, libraries) for suite in SUITES}
        write_own(Path(own))
        seen |= {name: look(Path(own), libraries, [f"{name}.html"]) for name in OWN}
        site.make(folder, libraries, str(browser()))
    target = folder / "browser"
    target.mkdir(exist_ok=True)
    write_atomically(target / "browser.json", json.dumps(seen, indent=1) + "\n")
    render(folder)


def make_pages(folder: Path, documents: Sequence[str]) -> None:
    """Open the pages of a few documents of the site alone, `docs/compare.md`, and keep what was seen of the others."""
    with _libraries() as libraries:
        site.make(folder, libraries, str(browser()), documents)
    site.render(folder)


@contextlib.contextmanager
def _libraries() -> Iterator[Path]:
    """A folder with the libraries. Ends the program where they, or a program, are missing."""
    if missing():
        raise SystemExit(f"browser: there is no {missing()} on this machine")
    with tempfile.TemporaryDirectory() as libraries:
        problem = install(Path(libraries))
        if problem:
            raise SystemExit(f"browser: npm: {problem}")
        yield Path(libraries)


def render(folder: Path) -> None:
    """Write FOLDER/browser/browser.md and site.md from the stored JSON."""
    site.render(folder)
    seen = json.loads((folder / "browser" / "browser.json").read_text(encoding="utf-8"))
    first = next(iter(seen.values()))
    lines = [
        "# The pages in a browser",
        "",
        str(__doc__).replace("\n", " ").replace("  ", "\n\n").strip(),
        "",
    ]
    lines += [f"{first['browser']}, axe-core {first['axe']}.", ""]
    lines += [
        "| page | look | rules of axe-core passed | violations | wider than the screen |",
        "|---|---|---|---|---|",
    ]
    rows = [
        (name if group in OWN else f"{group}/{name}", page)
        for group, one in seen.items()
        for name, page in one["pages"].items()
    ]
    for name, page in rows:
        lines += [
            f"| {name} | {kind} | {page['looks'][kind]['rules']} | {len(page['looks'][kind]['violations'])} | "
            f"{page['looks'][kind]['overflow']} px |"
            for kind in LOOKS
        ]
    lines += [
        "",
        "| page | messages of the console | requests | entries | by scheme | by claim | by outcome | by search | folded, "
        "expanded | sheets | links, copied | formulas, with text |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, page in rows:
        left, folds = page["filters"], page["details"]
        chosen = " | ".join(
            str(left.get(key, "—")) for key in ("all", "scheme", "claim", "outcome", "search")
        )
        copied, formulas = page["copied"], page["formulas"]
        lines.append(
            f"| {name} | {len(page['console'])} | {len(page['requests'])} | {chosen} | {folds['count']}, "
            f"{folds['expanded']} | {page['sheets']} | {copied['links']}, {copied['right']} | "
            f"{formulas['count']}, {formulas['named']} |"
        )
    wrong = [f"- {group}: {text}" for group, one in seen.items() for text in faults(one)]
    lines += ["", "Wrong:" if wrong else "Nothing was found to be wrong.", *[""] * bool(wrong), *wrong]
    write_atomically(folder / "browser" / "browser.md", "\n".join(lines) + "\n")
