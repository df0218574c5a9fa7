"""The page on citing: an entry for a bibliography, from the metadata of the project."""

from __future__ import annotations

import tomllib

from docs.making.markdown import block, page
from docs.making.places import ROOT
from sgverify import __version__

CITE = """\
# How to cite

[CITATION.cff](../CITATION.cff) at the root of the repository has the metadata, which code hosts and reference managers read. For
BibTeX:"""

VERSION = """\
`sgverify --version` prints the version, and every JSON document that is written names it under `provenance`: cite the version that
found what you report. The claims that are judged are those of the papers, which [claims](claims.md) names; cite them for what they
prove."""


def citation_page() -> str:
    """How to cite this version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    authors = " and ".join(f"{{{author['name']}}}" for author in project["authors"])
    lines = [
        "@software{sgverify,",
        f"  author = {{{authors}}},",
        f"  title = {{{{{project['name']}}}: {project['description']}}},",
        f"  version = {{{__version__}}},",
        "}",
    ]
    return page(CITE, block("bibtex", "\n".join(lines)), VERSION)
