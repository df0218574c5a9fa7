"""A drawing as a file of its own, SVG or PDF, or as an element of a page that themes it by CSS.

Matplotlib writes it; here colours become the page's variables, fonts the page's, exponents are raised, and ids begin with a prefix,
so that several drawings share a page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from sgverify.errors import ConfigurationError
from sgverify.report.colours import (
    COLOURS,
    DARK_COLOURS,
    DARK_GRID,
    DARK_INK,
    DARK_PAPER,
    DARK_SOFT,
    GRID,
    INK,
    PAPER,
    SOFT,
    STYLE,
)
from sgverify.report.formulas import in_a_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

SUFFIXES = (".svg", ".png", ".pdf")

_THEMED = {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    GRID: "var(--grid)",
    PAPER: "var(--paper)",
    **{colour: f"var(--c{place})" for place, colour in enumerate(COLOURS)},
}
_EXPONENT = re.compile(r"\^(\([^()]*\)|\S)")
_DARK = dict(
    zip(_THEMED, (DARK_INK, DARK_SOFT, DARK_GRID, DARK_PAPER, *DARK_COLOURS), strict=True),
)
_REFERENCE = re.compile(r"(?<=url\(#)|(?<=^#)")
"""The place before the name in a reference to an id, in a style or a link."""


def check_plot_path(path: str | Path) -> None:
    """Raise `ConfigurationError` for a file that is no SVG, PNG or PDF."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise ConfigurationError(
            f"--plot {str(path)!r}: expected a file that ends in {' or '.join(SUFFIXES)}; name one"
        )


def embedded(drawing: Drawing, prefix: str, title: str, description: str) -> str:
    """A drawing as an `<svg>` element of a page, in the page's colours and font, with nothing from outside the page.

    The same drawing gives the same bytes. `prefix` keeps its ids apart from those of the page's other figures;
    title and description are for readers who do not see it.
    """
    root = _rendered(drawing)
    _named_apart(root, prefix)
    root.attrib = {
        "role": "img",
        "aria-labelledby": f"{prefix}-title {prefix}-desc",
        "viewBox": root.attrib["viewBox"],
        "style": root.attrib["style"],
    }
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        named = Element(tag, id=f"{prefix}-{tag}")
        named.text, named.tail = text, "\n"
        root.insert(place, named)
    for element in root.iter():
        if "style" in element.attrib:
            element.set("style", _themed(element.attrib["style"]))
    return _written(root)


def file_svg(drawing: Drawing, title: str, description: str, unit: str = "") -> str:
    """A drawing as a file of its own for light and dark screens; its lengths in pixels, or in a `unit`."""
    root = ElementTree.fromstring(embedded(drawing, "s", title, description))
    _, _, width, height = root.attrib["viewBox"].split()
    root.attrib |= {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": f"{width}{unit}",
        "height": f"{height}{unit}",
    }
    style = Element("style")
    light = {variable[4:-1]: colour for colour, variable in _THEMED.items()}
    dark = {variable[4:-1]: _DARK[colour] for colour, variable in _THEMED.items()}
    style.text = (
        f"svg{{{_declared(light)};font-family:system-ui,sans-serif}}"
        f"@media(prefers-color-scheme:dark){{svg{{{_declared(dark)}}}}}"
    )
    ground = Element("rect", {"width": "100%", "height": "100%", "style": "fill:var(--paper)"})
    style.tail = ground.tail = "\n"
    root.insert(2, style)
    root.insert(3, ground)
    return _written(root) + "\n"


def pdf(drawing: Drawing) -> bytes:
    """A drawing as PDF, its letters as text; the same drawing gives the same bytes."""
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context({**STYLE, "pdf.fonttype": 42}):
        drawing.savefig(
            stream, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None}
        )
    return stream.getvalue()


def _declared(colours: Mapping[str, str]) -> str:
    return ";".join(f"{name}:{colour}" for name, colour in colours.items())


def _written(root: Element) -> str:
    return ElementTree.tostring(root, encoding="unicode").strip().replace(" />", "/>")


def _rendered(drawing: Drawing) -> Element:
    """Matplotlib's own SVG, its names without namespaces."""
    import matplotlib

    stream = io.StringIO()
    with matplotlib.rc_context(STYLE):
        drawing.savefig(
            stream, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    root = ElementTree.fromstring(stream.getvalue())
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
        if element.tag == "text" and element.text:
            _raise_exponents(element, in_a_line(element.text))
    return root


def _raise_exponents(element: Element, text: str) -> None:
    """Put a text with formulas into the element, what follows a ^ small and above the line."""
    element.text, *pieces = _EXPONENT.split(text)
    for raised, rest in zip(pieces[::2], pieces[1::2], strict=True):
        shown = raised[1:-1] if raised.startswith("(") else raised
        exponent = SubElement(element, "tspan", {"dy": "-0.4em", "font-size": "75%"})
        exponent.text = shown
        if rest:
            # The line is left by 0.4 em of the small font, and found again by 0.3 em of the large one.
            SubElement(element, "tspan", {"dy": "0.3em"}).text = rest


def _themed(style: str) -> str:
    """The style in the page's colours, and in its font."""
    for colour, variable in _THEMED.items():
        style = style.replace(colour, variable)
    style = re.sub(r"\bfont: *([0-9.]+px) [^;]+", r"font-size:\1", style)
    return re.sub(r"\bfont-family:[^;]+;?", "", style)


def _named_apart(root: Element, prefix: str) -> None:
    """Begin every id, and every reference to one, with the prefix; the style sheet becomes an inherited property of the drawing."""
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in ("style", "metadata")]:
            parent.remove(child)
    for element in root.iter():
        for name, value in element.attrib.items():
            element.set(name, f"{prefix}-{value}" if name == "id" else _REFERENCE.sub(f"{prefix}-", value))
    root.set("style", "stroke-linejoin:round")
