"""A drawing as an SVG element that lives inside a page: themed by its CSS, described in words, with ids of its own."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING

from sgverify.report.drawing import COLOURS, GRID, INK, PAPER, SOFT, STYLE, draw
from sgverify.report.figures import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_THEMED = {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    GRID: "var(--grid)",
    PAPER: "var(--paper)",
    **{colour: f"var(--c{place})" for place, colour in enumerate(COLOURS)},
}


def inline_svg(figure: Figure, prefix: str) -> str:
    """The figure as an `<svg>` element, as `embedded` makes it."""
    return embedded(draw(figure), prefix, figure.title, figure.description)


def embedded(drawing: Drawing, prefix: str, title: str, description: str) -> str:
    """A drawing as an `<svg>` element: no prologue, no metadata, no address of anything outside the page.

    The same drawing gives the same bytes. `prefix` keeps its ids apart from those of the page's other figures;
    title and description are for readers who do not see it.
    """
    text = _body(_rendered(drawing))
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'(xlink:href="|href="|url\()#', rf"\1#{prefix}-", text)
    text = text.replace("xlink:href=", "href=")
    for colour, variable in _THEMED.items():
        text = text.replace(colour, variable)
    text = re.sub(r"font: ([0-9.]+px) [^;\"]+", r"font-size: \1", text)
    opening = (
        f'<svg role="img" aria-labelledby="{prefix}-title {prefix}-desc" viewBox="{_view_box(text)}">'
        f'<title id="{prefix}-title">{escape(title)}</title>'
        f'<desc id="{prefix}-desc">{escape(description)}</desc>'
    )
    return opening + text[text.index(">", text.index("<svg")) + 1 :]


def standalone_svg(drawing: Drawing) -> str:
    """A drawing as a file of its own, in its own colours; the same drawing gives the same bytes."""
    return _rendered(drawing)


def _rendered(drawing: Drawing) -> str:
    import matplotlib

    stream = io.StringIO()
    with matplotlib.rc_context(STYLE):
        drawing.savefig(
            stream, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    return stream.getvalue()


def _body(text: str) -> str:
    text = text[text.index("<svg") :]
    return re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL).strip()


def _view_box(text: str) -> str:
    found = re.search(r'viewBox="([^"]+)"', text)
    if found is None:
        raise ValueError("the drawing has no viewBox")
    return found.group(1)
