"""The outcome as a small picture for a README or a list of integrators: an SVG of text, the same bytes for the same answer."""

from __future__ import annotations

from html import escape

LABEL = "sgverify"

COLOURS = {"pass": "#1a7f37", "fail": "#b3202c", "undecided": "#7d5700"}
"""Grounds of the word in white, each of a contrast above 4.5 to 1."""

GROUND, WHITE = "#3d4349", "#ffffff"
HEIGHT, SIZE, MARGIN = 20, 11, 7

ADVANCE = 6.6
"""The width of a letter that the text is set in, whatever font a viewer has: `textLength` makes it so."""


def badge(scheme: str, outcome: str, order: str | None = None) -> str:
    """An `<svg>` element: `sgverify | pass, order 2`, with the scheme in its title, for those who hear or point at it.

    `outcome` is pass, fail or undecided; `order` the order that was found, None where none was.

    >>> print(badge("mine.py:heun", "pass", "1").partition("</title>")[0].partition("<title>")[2])
    mine.py:heun: pass, order 1 (sgverify)
    """
    message = outcome if order is None else f"{outcome}, order {order}"
    left, right = (round(len(text) * ADVANCE) + 2 * MARGIN for text in (LABEL, message))
    title = escape(f"{scheme}: {message} ({LABEL})")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" '
        f'viewBox="0 0 {left + right} {HEIGHT}" role="img" aria-label="{title}">\n'
        f"<title>{title}</title>\n"
        f'<rect width="{left + right}" height="{HEIGHT}" rx="3" fill="{GROUND}"/>\n'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v{HEIGHT - 6}a3 3 0 0 1-3 3h-{right - 3}z" fill="{COLOURS[outcome]}"/>\n'
        f"{_text(LABEL, 0, left)}{_text(message, left, right)}</svg>\n"
    )


def _text(words: str, start: int, width: int) -> str:
    """White words in the middle of a part of the badge."""
    return (
        f'<text x="{start + MARGIN}" y="14" textLength="{width - 2 * MARGIN}" lengthAdjust="spacingAndGlyphs" '
        f'font-family="Verdana,DejaVu Sans,sans-serif" font-size="{SIZE}" fill="{WHITE}">{escape(words)}</text>\n'
    )


__all__ = ["badge"]
