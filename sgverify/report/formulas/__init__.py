"""Formulas for readers: MathML on pages, one line of plain text elsewhere, from the text that evidence, cards and errata hold.

In an order for reading: `tokens` (the signs), `reading` (a tree of sympy, parsed and never evaluated), `shown` (walks over the
tree), `prose` (formulas within sentences, and the printed formula of a scheme, line by line).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.report.formulas.prose import equations, formula, in_a_line, with_formulas
    from sgverify.report.formulas.reading import NoFormula, parse

__all__ = ["NoFormula", "equations", "formula", "in_a_line", "parse", "with_formulas"]

__getattr__, __dir__ = lazily(__name__)
