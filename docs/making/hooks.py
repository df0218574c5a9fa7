"""What mkdocs calls: generated pages and files of the repository join the site, and links lead to their places there."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path

# mkdocs loads this file by its path: the package around it, and the sgverify that it documents, are those of this checkout.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from docs.making.notebooks import notebook_page
from docs.making.pages import PAGES
from docs.making.places import (
    DOCS,
    NOTEBOOK,
    README,
    ROOT,
    in_repository,
    named,
    place_of,
    rewritten,
    targets,
)
from docs.making.words import of_page
from reports.making.parts import render

LOG = logging.getLogger("mkdocs.hooks")
REQUEST = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["']?((?:https?:)?//[^"' >]+)""")
"""What a browser would fetch from elsewhere."""

DRAWN = ("calibration", "app-lda", "app-sbn", "app-classifier", "in-the-wild")
"""The parts of the reports whose pages show pictures, or lead to evidence, that are not committed."""

MEASURED = ("reports/", "benchmarks/")
"""The folders of tables."""


def on_pre_build(config: MkDocsConfig) -> None:
    """Draw the pictures that pages show and that the repository does not hold."""
    render(list(DRAWN))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, the README, the notebooks, and every file of the repository that a document links to."""
    made = {in_repository(place): generate() for place, generate in PAGES.items()}
    for path, content in made.items():
        files.append(File.generated(config, place_of(path), content=content))
    notebooks = [f"notebooks/{path.name}" for path in sorted((ROOT / "notebooks").glob(f"*{NOTEBOOK}"))]
    waiting = [
        README,
        *made,
        *notebooks,
        *(in_repository(file.src_uri) for file in files.documentation_pages()),
    ]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        text = made.get(path) or _text(path)
        if text is not None or (ROOT / path).is_file():
            if files.get_file_from_path(place_of(path)) is None:
                files.append(_of_the_repository(config, path, text))
            if path.endswith("/index.html"):
                waiting.append(path.replace("/index.html", "/evidence.html"))
            waiting += [target for target in targets(text or "", path) if target not in seen]
            seen.update(waiting)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links lead to the places of the site; a search finds the documents, and not every row of the reports."""
    page.meta.update(of_page(page.file.src_uri))
    if page.file.src_uri.startswith(MEASURED):
        page.meta["search"] = {"exclude": True}
    path = in_repository(page.file.src_uri)
    return rewritten(named(markdown, PAGES) if path.startswith(DOCS) else markdown, path)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Warn of what would be fetched from another host: the site is read without a network. The search gets its name."""
    for url in REQUEST.findall(output):
        LOG.warning("%s asks %s, and the site is to need no network", page.file.src_uri, url)
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)


def _text(path: str) -> str | None:
    """The Markdown of a document of the repository; None of another file."""
    source = ROOT / path
    if path.endswith(NOTEBOOK):
        return notebook_page(source.read_text(encoding="utf-8"))
    return source.read_text(encoding="utf-8") if path.endswith(".md") and source.is_file() else None


def _of_the_repository(config: MkDocsConfig, path: str, text: str | None) -> File:
    """A file outside `docs/`: reached by links, and by the navigation where that names it."""
    kept = InclusionLevel.NOT_IN_NAV
    if text is None:
        return File.generated(config, place_of(path), abs_src_path=str(ROOT / path), inclusion=kept)
    return File.generated(config, place_of(path), content=text, inclusion=kept)
