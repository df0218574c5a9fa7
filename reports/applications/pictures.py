"""How are images that a model has learnt drawn? Side by side in an SVG file, whose bytes follow from the levels alone."""

from __future__ import annotations

import math

from reports.applications.result import Picture

GREYS = 32
"""The grey levels that are told apart in the file."""

SIDE = 480
"""The width at which the file is shown."""


def svg(picture: Picture) -> str:
    """The file: rows of images with a line between them; one path for all pixels of one grey."""
    height, width, count = picture.height, picture.width, len(picture.tiles)
    across = math.ceil(math.sqrt(count))
    down = math.ceil(count / across)
    wide, high = across * (width + 1) + 1, down * (height + 1) + 1
    pixels: dict[int, list[str]] = {}
    for number, tile in enumerate(picture.tiles):
        row, column = divmod(number, across)
        for place, level in enumerate(tile):
            y, x = divmod(place, width)
            at = f"M{column * (width + 1) + 1 + x} {row * (height + 1) + 1 + y}h1v1h-1"
            pixels.setdefault(round(level * (GREYS - 1)), []).append(at)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{SIDE}" height="{round(SIDE * high / wide)}" '
        f'viewBox="0 0 {wide} {high}" shape-rendering="crispEdges">',
        f"<title>{_escaped(picture.title)}</title>",
        f'<path fill="#5b8bb5" d="M0 0h{wide}v{high}h-{wide}"/>',
    ]
    for grey, places in sorted(pixels.items()):
        value = round(255 * grey / (GREYS - 1))
        lines.append(f'<path fill="#{value:02x}{value:02x}{value:02x}" d="{"".join(places)}"/>')
    return "\n".join([*lines, "</svg>\n"])


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
