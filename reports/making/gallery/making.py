"""Write the gallery: the numbers to gallery.json; and from the stored numbers its page, its tables and its pictures."""

from __future__ import annotations

import json
from pathlib import Path

from reports.making.gallery import curves, pictures, tables
from reports.making.gallery.frame import Picture, drawn
from reports.making.gallery.settings import CHAPTERS
from sgverify.keeping.files import write_atomically
from sgverify.report.svg import file_svg, pdf

PICTURES: tuple[Picture, ...] = (*curves.PICTURES, *pictures.PICTURES)
FILES = (
    "gallery.json",
    "schemes.md",
    "schemes.tex",
    *(
        f"figures/{name}.{kind}"
        for name in (*CHAPTERS, *(p.name for p in PICTURES))
        for kind in ("svg", "pdf")
    ),
)


def make(folder: Path) -> None:
    """Compute FOLDER/gallery/gallery.json, and render."""
    from reports.making.gallery.numbers import measured

    place = folder / "gallery" / "gallery.json"
    write_atomically(place, json.dumps(measured(), separators=(",", ":"), allow_nan=False) + "\n")
    render(folder)


def render(folder: Path) -> None:
    """Write page, tables and pictures from FOLDER/gallery/gallery.json."""
    home = folder / "gallery"
    numbers = json.loads((home / "gallery.json").read_text(encoding="utf-8"))
    write_atomically(home / "schemes.md", tables.page(numbers, PICTURES))
    write_atomically(home / "schemes.tex", tables.latex(numbers))
    (home / "figures").mkdir(exist_ok=True)
    for name, comparison in tables.comparisons(numbers).items():
        if comparison.panel is not None:
            for kind in ("svg", "pdf"):
                comparison.plot(home / "figures" / f"{name}.{kind}")
    for picture in PICTURES:
        drawing = drawn(picture, numbers)
        told = file_svg(drawing, picture.title, picture.caption, "pt")
        write_atomically(home / "figures" / f"{picture.name}.svg", told)
        write_atomically(home / "figures" / f"{picture.name}.pdf", pdf(drawing))
