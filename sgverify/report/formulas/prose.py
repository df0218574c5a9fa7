"""Formulas in prose, as reasons, cards and errata are written, and in the printed definition of a scheme, line by line.

Where does a formula begin and end? It is the longest run of its signs, without words of the language, that has something in it
which prose has not (a power, an index, a relation, a function of something, the name of a Greek letter), and that the grammar can
read. What it cannot read stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from sgverify.report.formulas.reading import NoFormula, parse
from sgverify.report.formulas.shown import elements, line, segments
from sgverify.report.formulas.tokens import (
    FUNCTIONS,
    GREEK,
    OPENING,
    RELATIONS,
    SIGNS,
    SUMS,
    Token,
    is_symbol,
    tokens,
)

if TYPE_CHECKING:
    from markupsafe import Markup

_ARTICLES = ("a", "A")
_OF_A_LABEL = re.compile(
    r"(?:appendix|algorithm|letters?|section|figure|equation|assumptions?|lemmas?|theorems?|remarks?|corollary|definition"
    r"|dimensions?|fractions?)\s+$",
    re.IGNORECASE,
)
"""Words after which a letter or a number is a label, not a quantity."""

_LETTERS = frozenset("hKLnNmkUVTDpxXSEQ")
"""Letters that are quantities even where they stand alone."""

_ORDINALS = ("st", "nd", "rd", "th")
_ALONE = {" >= ": " ≥ ", " <= ": " ≤ ", " -> ": " → "}
"""Signs between words, "required >= 1"."""

_PRINTED = ("Lh", "lh", "Th", "kh", "hX", "hL")
"""Products of two letters that papers print without a space."""

LONG = 36
"""The most signs of a formula that no line breaks."""

_CODE = re.compile(r"`([^`]+)`")
_FORMAL = frozenset(
    (RELATIONS.keys() - {"~"}) | {"^", "**", "_", "√", "'", "~", "|"} | SIGNS.keys() | GREEK.keys()
)
"""Signs that prose has not."""

_ENDS = frozenset("([{⟨⌊|√")


@cache
def formula(source: str, definition: bool = False) -> str:
    """The text of a formula as a `<math>` element, with the same in one line as its text alternative.

    A long formula is several elements in a row, between which a line may end; they are one formula to who does not see it.
    Raises `NoFormula` for a text that is none.
    """
    tree = parse(source, definition)
    label = escape(line(tree))
    pieces = segments(tree) if len(label) > LONG else []
    if len(pieces) > 1:
        shown = "<wbr>".join(f'<math aria-hidden="true">{piece}</math>' for piece in pieces)
        return f'<span role="math" aria-label="{label}">{shown}</span>'
    return f'<math aria-label="{label}">{elements(tree)}</math>'


@cache
def with_formulas(text: str) -> Markup:
    """Prose as HTML with its formulas as MathML, and what stands between back-quotes as code."""
    from markupsafe import Markup

    pieces = []
    for number, piece in enumerate(_CODE.split(str(text))):
        if number % 2:
            pieces.append(f"<code>{escape(piece, quote=False)}</code>")
        else:
            pieces += _pieces(piece, formula, lambda plain: escape(plain, quote=False))
    return Markup("".join(pieces))


@cache
def in_a_line(text: str) -> str:
    """Prose with its formulas in plain text, as `θ²`."""
    pieces = _CODE.split(str(text))
    return "".join(
        f"`{piece}`" if number % 2 else "".join(_pieces(piece, lambda source: line(parse(source)), str))
        for number, piece in enumerate(pieces)
    )


def _pieces(text: str, shown: Callable[[str], str], plain: Callable[[str], str]) -> Iterator[str]:
    end = 0
    for start, stop in _formulas(text):
        try:
            piece = shown(text[start:stop])
        except NoFormula:
            continue
        yield plain(_signed(text[end:start]))
        yield piece
        end = stop
    yield plain(_signed(text[end:]))


def _signed(words: str) -> str:
    for sign, shown in _ALONE.items():
        words = words.replace(sign, shown)
    return words


def _formulas(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of the formulas of a text, in their order."""
    signs = tokens(text)
    start = 0
    while start < len(signs):
        found = _run(text, signs, start)
        if found is None:
            start += 1
            continue
        stop, end = found
        yield signs[start].start, end
        start = stop


def _run(text: str, signs: list[Token], start: int) -> tuple[int, int] | None:
    """The longest formula that begins at a sign: the number of the sign after it, and where it ends in the text."""
    first = signs[start]
    if not (_capable(first) and _may_begin(text, signs, start)):
        return None
    depth: list[str] = []
    stop = start
    while stop < len(signs) and _goes_on(signs, stop, depth):
        stop += 1
    while stop > start:
        last = signs[stop - 1]
        source = text[first.start : last.end]
        if (
            _may_end(last)
            and not _applied_to(signs, stop)
            and _balanced(source)
            and _formal(signs[start:stop], text)
        ):
            try:
                parse(source)
            except (NoFormula, RecursionError):
                pass
            else:
                return stop, last.end
        stop -= 1
    return None


def _goes_on(signs: list[Token], place: int, depth: list[str]) -> bool:
    """Can this sign belong to the formula so far? `depth` holds the closing brackets that are still to come."""
    sign = signs[place]
    if sign.kind == "bracket":
        if sign.text in OPENING:
            depth.append(OPENING[sign.text])
            return True
        return bool(depth) and depth.pop() == sign.text
    if sign.text in ",;":
        return bool(depth)
    if sign.kind == "name" and place and not is_symbol(sign.text):
        before = signs[place - 1]
        condition = before.text == "|" and bool(depth) and signs[place + 1].text == ")"
        printed = before.kind == "number" and not sign.spaced and len(sign.text) in (2, 3)
        return condition or before.text == "_" or (printed and sign.text not in _ORDINALS) or _capable(sign)
    if sign.text == "." or sign.text == ":":
        return sign.spaced == sign.loose and place + 1 < len(signs)
    return _capable(sign)


def _capable(sign: Token) -> bool:
    """May the sign be one of a formula?"""
    if sign.kind == "name":
        return (
            is_symbol(sign.text)
            or sign.text in ("hat", "bar")
            or (len(sign.text) == 2 and sign.text in _PRINTED)
        )
    return sign.kind != "other"


def _applied_to(signs: list[Token], stop: int) -> bool:
    """Does an argument follow at once, so that a formula cannot end here?"""
    return stop < len(signs) and signs[stop].text in "([_^" and not signs[stop].spaced


def _may_begin(text: str, signs: list[Token], place: int) -> bool:
    sign = signs[place]
    before = text[sign.start - 1] if sign.start else " "
    if before.isalnum() or (before in "_-/.'~" and sign.kind != "sum"):
        return False
    if sign.kind == "name":
        return sign.text not in ("hat", "bar") and not _OF_A_LABEL.search(text[: sign.start])
    if sign.kind == "sum":
        return not sign.loose and place + 1 < len(signs)
    if sign.kind == "number":
        return not _OF_A_LABEL.search(text[: sign.start])
    return sign.text in _ENDS or (sign.text == "<" and not sign.loose)


def _may_end(sign: Token) -> bool:
    return sign.kind in ("number", "name", "dots") or sign.text in (
        ")",
        "]",
        "}",
        "⟩",
        "⌋",
        "|",
        "'",
        "~",
        "*",
        "⋆",
        ">",
    )


def _balanced(source: str) -> bool:
    return all(source.count(opening) == source.count(closing) for opening, closing in OPENING.items())


def _formal(signs: list[Token], text: str) -> bool:
    """Is there anything in it that prose has not?"""
    if len(signs) == 1:
        return _formal_alone(signs[0], text)
    first, last = signs[0], signs[-1]
    if first.text in _ARTICLES and first.loose and signs[1].kind in ("name", "number"):
        return False
    if last.text in _ARTICLES and last.spaced and signs[-2].kind in ("name", "number"):
        return False
    names = [sign.text for sign in signs if sign.kind == "name"]
    if first.text in "([" and not names:
        return False
    if any(_of_code(*three) for three in zip(signs, signs[1:], signs[2:], strict=False)):
        return False
    marks = {sign.text for sign in signs}
    if marks & _FORMAL:
        return bool(names) or bool(marks & {"^", "+-", "±"})
    if any(sign.kind == "sum" for sign in signs):
        return bool(names) or (first.text in SUMS and len(signs) == 2) or bool(marks & {"+-", "±"})
    called = any(one.text in FUNCTIONS and two.text == "(" for one, two in pairwise(signs))
    divided = bool(marks & {"/", "*"}) and bool(names)
    commutes = "[" in marks and len(names) > 1
    return called or divided or commutes or _applied(signs) or _product(signs)


def _of_code(first: Token, second: Token, third: Token) -> bool:
    """A function's name with a word below it, `log_posterior`: the name of a variable in code."""
    return (
        first.text in FUNCTIONS and second.text == "_" and third.kind == "name" and not is_symbol(third.text)
    )


def _formal_alone(sign: Token, text: str) -> bool:
    """One sign: a Greek letter, a letter that is a quantity, or a number with a power of ten."""
    after = text[sign.end : sign.end + 1]
    letter = sign.text in _LETTERS and after not in ("-", "'", "_")
    return sign.text in GREEK or letter or (sign.kind == "number" and "e" in sign.text)


def _applied(signs: list[Token]) -> bool:
    """A letter of a function with its argument at once, `O(1)`, `p(x)`."""
    return any(one.kind == "name" and two.text in "([" and not two.spaced for one, two in pairwise(signs))


def _product(signs: list[Token]) -> bool:
    """Letters and numbers side by side: `L h`, `2 n`, `p1`."""
    if not all(sign.kind in ("name", "number") for sign in signs):
        return False
    letters = [sign.text for sign in signs if sign.kind == "name"]
    if len(signs) == 2 and signs[0].kind == "name" and signs[1].kind == "number":
        return not signs[1].spaced
    return bool(letters) and all(letter not in _ARTICLES for letter in letters)


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


__all__ = ["equations", "formula", "in_a_line", "with_formulas"]
