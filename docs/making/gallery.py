"""The page "Which scheme for what": the tables and pictures of the committed gallery."""

from __future__ import annotations

from docs.making.places import ROOT

GALLERY = "reports/gallery"


def schemes_page() -> str:
    """The page that `python -m reports gallery` writes, its pictures where they lie."""
    text = (ROOT / GALLERY / "schemes.md").read_text(encoding="utf-8")
    return text.replace("](figures/", f"](../{GALLERY}/figures/")
