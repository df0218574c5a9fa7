"""The printed formula of a scheme, a short Python function, as equations line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.report.formulas.prose import formula
from sgverify.report.formulas.reading import NoFormula

if TYPE_CHECKING:
    from markupsafe import Markup


def equations(listing: str) -> list[Markup] | None:
    """The lines of a printed definition as MathML, `θ₁ = θ + h/2 p`; None if a line is beyond the grammar.

    The last line says what the state becomes: `(θ, p) → (θ₁, p₁)`.
    """
    from markupsafe import Markup

    head, *body = [text.strip() for text in listing.strip().splitlines()]
    if not head.startswith("def ") or not body:
        return None
    given = head.partition("(")[2].rpartition(")")[0].partition("*,")[0].strip(" ,")
    try:
        return [Markup(formula(_equation(text, given), True)) for text in body]
    except NoFormula:
        return None


def _equation(text: str, given: str) -> str:
    returned = text.removeprefix("return ")
    if returned == text:
        return text
    several = "," in given
    return f"({given}) -> ({returned})" if several else f"{given} -> {returned}"


__all__ = ["equations"]
