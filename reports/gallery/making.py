"""Write the gallery: the numbers to gallery.json; and from the stored numbers its page, its tables and its pictures."""

from __future__ import annotations

import json
from pathlib import Path

from reports.gallery import curves, pictures, tables
from reports.gallery.frame import Picture, drawn
from sgverify.report.svg import file_svg, pdf

PICTURES: tuple[Picture, ...] = (*curves.PICTURES, *pictures.PICTURES)
FILES = (
    "gallery.json",
    "schemes.md",
    "schemes.tex",
    *(f"figures/{picture.name}.{kind}" for picture in PICTURES for kind in ("svg", "pdf")),
)


def make(folder: Path) -> None:
    """Compute FOLDER/gallery/gallery.json, and render."""
    from reports.gallery.numbers import measured

    place = folder / "gallery" / "gallery.json"
    place.write_text(json.dumps(measured(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    render(folder)


def render(folder: Path) -> None:
    """Write page, tables and pictures from FOLDER/gallery/gallery.json."""
    home = folder / "gallery"
    numbers = json.loads((home / "gallery.json").read_text(encoding="utf-8"))
    (home / "schemes.md").write_text(tables.page(numbers, PICTURES), encoding="utf-8")
    (home / "schemes.tex").write_text(tables.latex(numbers), encoding="utf-8")
    (home / "figures").mkdir(exist_ok=True)
    for picture in PICTURES:
        drawing = drawn(picture, numbers)
        told = file_svg(drawing, picture.title, picture.caption)
        (home / "figures" / f"{picture.name}.svg").write_text(told, encoding="utf-8")
        (home / "figures" / f"{picture.name}.pdf").write_bytes(pdf(drawing))
