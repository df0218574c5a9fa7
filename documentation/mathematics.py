"""Formulas between dollar signs become MathML, which browsers show without a script."""

from __future__ import annotations

import re

from latex2mathml.converter import convert

_FORMULA = re.compile(
    r"^```.*?^```$|`[^`\n]+`|\$\$(?P<shown>.+?)\$\$|\$(?P<inline>[^$\s](?:[^$\n]*[^$\s])?)\$", re.M | re.S
)


def with_mathml(text: str) -> str:
    """The document with $...$ and $$...$$ outside code replaced."""

    def formula(match: re.Match[str]) -> str:
        if match["shown"]:
            return convert(match["shown"].strip(), display="block")
        return convert(match["inline"]) if match["inline"] else match[0]

    return _FORMULA.sub(formula, text)
