"""A Markdown extension: formulas between dollar signs become MathML, which browsers show without a script."""

from __future__ import annotations

import re

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

FORMULA = r"\$\$(.+?)\$\$|\$([^$\s](?:[^$\n]*?[^$\s])?)\$"
"""A formula that is shown apart, or one in the line; a dollar before a space is one."""

AFTER_CODE = 185
"""Between the priorities of code, which keeps its dollars, and of escapes, which would take the backslashes of formulas."""


class Formula(InlineProcessor):
    """Puts MathML in the place of a formula."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:
        """Called by Markdown for each formula."""
        made = convert(m[1].strip(), display="block") if m[1] else convert(m[2])
        if m[1]:
            # It is moved in its place where the screen is narrow, by the keys too.
            made = f'<span class="formula" tabindex="0">{made}</span>'
        return self.md.htmlStash.store(made), m.start(0), m.end(0)


class Formulas(Extension):
    """The extension that `mkdocs.yml` names."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Called by Markdown once."""
        md.inlinePatterns.register(Formula(FORMULA, md), "formula", AFTER_CODE)


def makeExtension(**_: object) -> Formulas:
    """Called by Markdown, which finds an extension by its module."""
    return Formulas()
