"""The documentation site in headless Chromium: every page in 1280 and 390 pixels and by night. Writes browser/site.

`mkdocs build --strict` makes the site in a temporary folder. Each page is held to the rules of axe-core (WCAG 2.2 A and AA, and
best practice), by night to those about contrast; links are followed to files and to places in them; what a page is wider than
the screen, and each block of code that is wider than its column, is recorded; and twelve questions are typed into the search.
Chromium, node and npm are needed, as for the other pages.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.making.places import place_of
from sgverify.keeping.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "documentation" / "open_site.mjs"
LOOKS = {"wide": "1280 px", "dark": "1280 px, by night", "narrow": "390 px"}
QUESTIONS = {
    "neural network": "network-step.html",
    "learning rate": "configuration.html",
    "mean loss": "optimizers.html",
    "friction": "configuration.html",
    "install": "index.html",
    "exit code": "commands.html",
    "pytest": "test-suite.html",
    "github actions": "continuous-integration.html",
    "csv file": "data.html",
    "jax": "other-libraries.html",
    "burn in": "sampling.html",
    "which sampler is best": "schemes.html",
}
"""What is typed into the search, and the page that answers it: to be among the first three results."""

ENOUGH = 10
"""Of the questions so many are to be answered."""


def look(libraries: Path, chromium: str, pages: Sequence[str] = ()) -> dict[str, Any]:
    """Build the site and open its pages, with `pages` these alone and no search; what `open_site.mjs` prints."""
    questions = json.dumps([] if pages else list(QUESTIONS))
    with tempfile.TemporaryDirectory() as site:
        for command in (
            [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", site],
            ["node", str(SCRIPT), chromium, str(libraries), site, questions, *pages],
        ):
            surroundings = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
            done = subprocess.run(
                command, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"the site was not opened: {(done.stdout + done.stderr).strip()[-2000:]}")
        seen: dict[str, Any] = json.loads(done.stdout)
        return seen


def page_of(document: str) -> str:
    """The page of the site that a document becomes: `docs/compare.md` is compare.html."""
    return place_of(document).removesuffix(".md") + ".html"


def answered(seen: Mapping[str, Any]) -> list[str]:
    """The questions whose page is among the first three results."""
    return [
        question
        for question, place in QUESTIONS.items()
        if any(link.partition("#")[0] == place for result in seen["search"][question] for link in result)
    ]


def faults(seen: Mapping[str, Any]) -> list[str]:
    """What is wrong with the site, in words."""
    wrong = []
    for name, page in seen["pages"].items():
        wrong += [f"{name}: the console says {text}" for text in page["console"]]
        wrong += [f"{name}: asks the network for {text}" for text in page["requests"]]
        wrong += [f"{name}: a link leads nowhere: {link}" for link in page["broken"]]
        for look, shown in page["looks"].items():
            wrong += [
                f"{name}, {look}: {one['id']} at {one['places']} places, first {one['first']}"
                for one in shown["violations"]
            ]
            wrong += [f"{name}, {look}: a block is wider than its column: {text!r}" for text in shown["cut"]]
            if shown["overflow"]:
                wrong.append(f"{name}, {look}: wider than the screen by {shown['overflow']} pixels")
    if len(answered(seen)) < ENOUGH:
        missed = ", ".join(sorted({*QUESTIONS} - {*answered(seen)}))
        wrong.append(f"the search does not answer {missed}")
    return wrong


def make(folder: Path, libraries: Path, chromium: str, documents: Sequence[str] = ()) -> None:
    """Open the site, or the pages of these documents, and write what was seen to FOLDER/browser/site.json."""
    seen = look(libraries, chromium, [page_of(document) for document in documents])
    if documents:
        kept = json.loads((folder / "browser" / "site.json").read_text(encoding="utf-8"))
        seen = {**kept, "pages": dict(sorted({**kept["pages"], **seen["pages"]}.items()))}
    pages = ",\n".join(f"  {json.dumps(name)}: {json.dumps(page)}" for name, page in seen["pages"].items())
    others = {key: value for key, value in seen.items() if key != "pages"}
    text = json.dumps(others, indent=1).rstrip("}").rstrip() + f',\n "pages": {{\n{pages}\n }}\n}}\n'
    write_atomically(folder / "browser" / "site.json", text)


def render(folder: Path) -> None:
    """Write FOLDER/browser/site.md from the stored JSON."""
    seen = json.loads((folder / "browser" / "site.json").read_text(encoding="utf-8"))
    pages = seen["pages"].values()
    lines = [
        "# The documentation site in a browser",
        "",
        str(__doc__).replace("\n", " ").replace("  ", "\n\n").strip(),
        "",
    ]
    lines += [
        f"{seen['browser']}, axe-core {seen['axe']}; {len(pages)} pages with {sum(page['links'] for page in pages)} links, "
        f"{sum(len(page['broken']) for page in pages)} of them broken.",
        "",
        "| look | pages too wide | blocks of code | of them cut | pages with violations of axe-core |",
        "|---|---|---|---|---|",
    ]
    for look, title in LOOKS.items():
        shown = [page["looks"][look] for page in pages]
        counts = [
            sum(bool(one["overflow"]) for one in shown),
            sum(one["blocks"] for one in shown),
            sum(len(one["cut"]) for one in shown),
            sum(bool(one["violations"]) for one in shown),
        ]
        lines.append(f"| {title} | {' | '.join(map(str, counts))} |")
    right = answered(seen)
    lines += [
        "",
        f"The search answers {len(right)} of {len(QUESTIONS)} questions:",
        "",
        "| question | page | first three results |",
    ]
    lines += ["|---|---|---|"]
    for question, place in QUESTIONS.items():
        results = [result[0] if len(result) == 1 else result[1] for result in seen["search"][question]]
        lines.append(
            f"| {question} | {place}{'' if question in right else ' (not among them)'} | {', '.join(results)} |"
        )
    wrong = [f"- {text}" for text in faults(seen)]
    lines += ["", "Wrong:" if wrong else "Nothing was found to be wrong.", *[""] * bool(wrong), *wrong]
    write_atomically(folder / "browser" / "site.md", "\n".join(lines) + "\n")
