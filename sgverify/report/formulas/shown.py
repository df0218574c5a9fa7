"""A formula for readers, by walks over its tree that change no order and no bracket: MathML, and one line of plain text.

One line, as `θ²` or `L^(−1/2)`, is for text alternatives, figures and Markdown.
"""

# ruff: noqa: RUF001
# ruff: noqa: RUF001, RUF002
from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from sgverify.report.formulas.reading import ends_in_number
from sgverify.report.formulas.tokens import FUNCTIONS, GREEK, LARGE, SIGNS

if TYPE_CHECKING:
    from sympy import Basic

GAP = '<mspace width=".2em"/>'


def elements(tree: Basic, raised: bool = False) -> str:
    """The elements of a formula, side by side. `raised`: within an exponent or index, where a fraction has a slash."""
    name = _name(tree)
    sign, _, rest = name.partition(" ")
    parts = tree.args
    if tree.is_Symbol or tree.is_Number:
        return leaf(str(tree))
    if tree.is_Add:
        return "".join(_term(part, raised, first=number == 0) for number, part in enumerate(parts))
    if tree.is_Pow:
        return f"<msup>{_one(parts[0], raised)}{_one(_bare(parts[1]), True)}</msup>"
    if tree.is_Mul:
        return _product(tree, raised)
    if sign == "quotient":
        if raised:
            return f"{elements(parts[0], True)}<mo>/</mo>{elements(parts[1], True)}"
        return f"<mfrac>{_one(_bare(parts[0]), False)}{_one(_bare(parts[1]), False)}</mfrac>"
    if sign == "relation":
        signs = rest.split()
        shown = [elements(parts[0], raised)]
        shown += [
            f"<mo>{escape(mark)}</mo>{elements(part, raised)}"
            for mark, part in zip(signs, parts[1:], strict=True)
        ]
        return "".join(shown)
    if sign == "infix":
        left, right = (elements(part, raised) for part in parts)
        return f"{left}<mo>{rest}</mo>{right}" if rest else left + right
    if sign == "±":
        return f"<mo>±</mo>{elements(parts[0], raised)}"
    if sign == "brackets":
        opening, closing = rest.split()
        return _enclosed(opening, closing, _listed(parts, raised))
    if sign == "group":
        return _listed(parts, raised)
    if sign == "abs":
        return _enclosed("|", "|", elements(parts[0], raised))
    if sign == "given":
        return f"{elements(parts[0], raised)}<mo>|</mo>{elements(parts[1], raised)}"
    if sign == "sqrt":
        return f"<msqrt>{elements(_bare(parts[0]), raised)}</msqrt>"
    if sign == "apply":
        return elements(parts[0], raised) + elements(parts[1], raised)
    if sign == "index":
        return f"<msub>{_one(parts[0], raised)}{_one(_bare(parts[1]), True)}</msub>"
    if sign == "accent":
        return f'<mover accent="true">{_one(parts[0], raised)}<mo stretchy="false">{rest}</mo></mover>'
    if sign in ("prime", "star"):
        return f"<msup>{_one(parts[0], raised)}<mo>{'′' if sign == 'prime' else '*'}</mo></msup>"
    raise ValueError(f"sign={name!r}: expected one that sgverify.report.formulas.reading makes")


def segments(tree: Basic) -> list[str]:
    """The elements of a formula in the pieces between which a line may end.

    It may before relations, before the terms of sums, and after commas, within brackets too.
    """
    sign, _, rest = _name(tree).partition(" ")
    parts = tree.args
    if sign == "relation":
        found = segments(parts[0])
        for mark, part in zip(rest.split(), parts[1:], strict=True):
            first, *others = segments(part)
            found += [f'<mo form="infix">{escape(mark)}</mo>{first}', *others]
        return found
    if tree.is_Add:
        found = segments(parts[0])
        for term in parts[1:]:
            first, *others = segments(term)
            signed = _negated(term) or _name(term) == "±"
            found += [_breaking(first if signed else f"<mo>+</mo>{first}"), *others]
        return found
    if _negated(tree):
        return _joined(["<mo>−</mo>"], segments(parts[1]))
    if tree.is_Mul and not any(_name(_bare(part)) == "quotient" or ends_in_number(part) for part in parts):
        gap = GAP if _upright(_last(parts[0])) or _upright(parts[1]) else ""
        return _joined(_joined(segments(parts[0]), [gap]), segments(parts[1]))
    if tree.is_Pow and _bare(parts[1]).is_Add:
        first, *terms = _bare(parts[1]).args
        found = [f"<msup>{_one(parts[0], False)}{_one(first, True)}</msup>"]
        # What follows in the exponent stands on an empty base, for a line may end before it.
        return found + [
            f"<msup><mrow></mrow><mrow>{_breaking(_term(term, True, first=False))}</mrow></msup>"
            for term in terms
        ]
    if sign == "apply":
        return _joined([elements(parts[0])], segments(parts[1]))
    if sign in ("brackets", "abs"):
        opening, closing = rest.split() if rest else "||"
        inside = [piece for part in parts for piece in _joined(segments(part), ["<mo>,</mo>"])]
        inside[-1:] = [inside[-1].removesuffix("<mo>,</mo>")] if inside else []
        return _joined(_joined([_bracket(opening)], inside or [""]), [_bracket(closing)])
    return [elements(tree)]


def _enclosed(opening: str, closing: str, inside: str) -> str:
    """Brackets, which grow with fractions alone: with indices and exponents they would become too large."""
    if "<mfrac>" in inside:
        return f"<mo>{opening}</mo>{inside}<mo>{closing}</mo>"
    return _bracket(opening) + inside + _bracket(closing)


def _joined(left: list[str], right: list[str]) -> list[str]:
    """Pieces in a row, of which the last of the left and the first of the right are one."""
    return [*left[:-1], left[-1] + right[0], *right[1:]]


def _bracket(sign: str) -> str:
    return f'<mo stretchy="false">{sign}</mo>'


def _breaking(term: str) -> str:
    """A term whose sign, the first of its line, keeps the spaces of a sign between two terms."""
    return term.replace("<mo>", '<mo form="infix">', 1)


def leaf(name: str) -> str:
    """A number, a sign, a letter or a word."""
    if name in SIGNS:
        sign = SIGNS[name]
        return f"<mo>{sign}</mo>" if sign in LARGE else f"<mi>{sign}</mi>"
    if name[0].isdigit():
        mantissa, _, power = name.partition("e")
        if not power:
            return f"<mn>{mantissa}</mn>"
        exponent = f"<mo>−</mo><mn>{int(power[1:])}</mn>" if power[0] == "-" else f"<mn>{int(power)}</mn>"
        return f"<mn>{mantissa}</mn><mo>·</mo><msup><mn>10</mn><mrow>{exponent}</mrow></msup>"
    if name in LARGE or name in "*…":
        return f"<mo>{name}</mo>"
    return f"<mi>{escape(GREEK.get(name, name))}</mi>"


def _name(tree: Basic) -> str:
    return str(tree.func.__name__)


def _term(tree: Basic, raised: bool, first: bool) -> str:
    if _name(tree) == "±" or _negated(tree):
        return elements(tree, raised)
    return elements(tree, raised) if first else f"<mo>+</mo>{elements(tree, raised)}"


def _negated(tree: Basic) -> bool:
    return bool(tree.is_Mul and tree.args[0] == -1)


def _product(tree: Basic, raised: bool) -> str:
    if _negated(tree):
        return f"<mo>−</mo>{elements(tree.args[1], raised)}"
    left, right = tree.args
    shown = _factor(left, raised), _factor(right, raised)
    if ends_in_number(left) and _begins_with_number(right):
        return "<mo>·</mo>".join(shown)
    return (GAP if _upright(_last(left)) or _upright(right) else "").join(shown)


def _factor(tree: Basic, raised: bool) -> str:
    """A factor; a fraction needs no brackets where it has a bar."""
    bare = _bare(tree)
    return elements(bare if _name(bare) == "quotient" and not raised else tree, raised)


def _last(tree: Basic) -> Basic:
    """The last factor of a product."""
    while tree.is_Mul:
        tree = tree.args[-1]
    return tree


def _upright(tree: Basic) -> bool:
    """Is it, or does it begin with, a word such as log, which a gap sets apart?"""
    while tree.args:
        if _name(tree).partition(" ")[0] in ("brackets", "group", "abs", "sqrt", "quotient"):
            return False
        tree = tree.args[0]
    return str(tree) in FUNCTIONS


def _begins_with_number(tree: Basic) -> bool:
    while tree.is_Mul or tree.is_Pow:
        tree = tree.args[0]
    return ends_in_number(tree)


def _bare(tree: Basic) -> Basic:
    """The contents of round brackets or braces that a fraction, a root or an exponent makes needless."""
    if _name(tree) in ("brackets ( )", "group") and len(tree.args) == 1:
        return tree.args[0]
    return tree


def _listed(parts: tuple[Basic, ...], raised: bool) -> str:
    return "<mo>,</mo>".join(elements(part, raised) for part in parts)


_ELEMENTS = ("index", "sqrt", "accent", "prime", "star")
"""Signs that are one element."""


def _one(tree: Basic, raised: bool) -> str:
    """One element, as a fraction and an index need it."""
    shown = elements(tree, raised)
    alone = tree.is_Symbol or tree.is_Integer or tree.is_Pow or _name(tree).partition(" ")[0] in _ELEMENTS
    alone = alone and not (tree.is_Symbol and "e" in str(tree) and str(tree)[0].isdigit())
    return shown if alone else f"<mrow>{shown}</mrow>"


_RAISED = str.maketrans("0123456789-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_ABOVE = {"^": "\u0302", "¯": "\u0304", "~": "\u0303"}


def line(tree: Basic) -> str:
    """The formula in one line; whole exponents and indices are raised and lowered digits."""
    name = str(tree.func.__name__)
    sign, _, rest = name.partition(" ")
    parts = tree.args
    if tree.is_Symbol or tree.is_Number:
        text = str(tree)
        return SIGNS.get(text, GREEK.get(text, text))
    if tree.is_Add:
        return _sum(parts)
    if tree.is_Pow:
        return line(parts[0]) + _raised(parts[1])
    if tree.is_Mul:
        if parts[0] == -1:
            return f"−{line(parts[1])}"
        return _beside(line(parts[0]), line(parts[1]))
    if sign == "quotient":
        return "/".join(map(line, parts))
    if sign == "relation":
        shown = [line(parts[0])]
        shown += [f"{mark} {line(part)}" for mark, part in zip(rest.split(), parts[1:], strict=True)]
        return " ".join(shown)
    if sign == "infix":
        return (f" {rest} " if rest else "").join(map(line, parts))
    if sign == "±":
        return f"± {line(parts[0])}"
    if sign == "brackets":
        opening, closing = rest.split()
        return f"{opening}{', '.join(map(line, parts))}{closing}"
    if sign == "group":
        inside = ", ".join(map(line, parts))
        return f"({inside})" if any(mark in inside for mark in " /+−") else inside
    if sign == "abs":
        return f"|{line(parts[0])}|"
    if sign == "given":
        return " | ".join(map(line, parts))
    if sign == "sqrt":
        return f"√({line(parts[0])})"
    if sign == "apply":
        return "".join(map(line, parts))
    if sign == "index":
        return line(parts[0]) + _lowered(parts[1])
    if sign == "accent":
        return line(parts[0]) + _ABOVE[rest]
    return line(parts[0]) + {"prime": "′", "star": "*"}[sign]


def _sum(parts: tuple[Basic, ...]) -> str:
    shown = line(parts[0])
    for part in parts[1:]:
        if part.is_Mul and part.args[0] == -1:
            shown += f" − {line(part.args[1])}"
        else:
            shown += f" {line(part)}" if part.func.__name__ == "±" else f" + {line(part)}"
    return shown


def _beside(left: str, right: str) -> str:
    if left[-1:].isdigit() and right[:1].isdigit():
        return f"{left}·{right}"
    return left + right if left in LARGE else f"{left} {right}"


def _raised(exponent: Basic) -> str:
    text = line(exponent)
    if text.lstrip("−").isdigit():
        return text.translate(_RAISED)
    return f"^{text}" if _short(text) else f"^({text})"


def _lowered(index: Basic) -> str:
    text = line(index)
    if text.isdigit():
        return text.translate(_LOWERED)
    return f"_{text}" if _short(text) else f"_({text})"


def _short(text: str) -> bool:
    """One sign, or in brackets already."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


__all__ = ["elements", "line", "segments"]
