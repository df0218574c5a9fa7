"""What mkdocs calls: generated pages and files of the repository join the site; links and formulas are made fit for it."""

from __future__ import annotations

import sys
from pathlib import Path

# mkdocs loads this file by its path: the package around it, and the sgverify that it documents, are those of this checkout.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from documentation.mathematics import with_mathml
from documentation.pages import PAGES
from documentation.places import README, ROOT, in_repository, place_of, rewritten, targets


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, the README, and every file of the repository that a document links to."""
    texts = {in_repository(place): generate() for place, generate in PAGES.items()}
    for path, text in texts.items():
        files.append(File.generated(config, place_of(path), content=text))
    waiting = [README, *texts, *(in_repository(file.src_uri) for file in files.documentation_pages())]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        source = ROOT / path
        if source.is_file() and files.get_file_from_path(place_of(path)) is None:
            place, kept = place_of(path), InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, place, abs_src_path=str(source), inclusion=kept))
        if path in texts or (path.endswith(".md") and source.is_file()):
            text = texts.get(path) or source.read_text(encoding="utf-8")
            waiting += [target for target in targets(text, path) if target not in seen]
            seen.update(waiting)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links lead to the places of the site, and formulas are MathML."""
    return with_mathml(rewritten(markdown, in_repository(page.file.src_uri)))
