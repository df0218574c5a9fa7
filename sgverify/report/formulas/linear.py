"""A tree of a formula in one line of plain text: `θ²`, `L^(−1/2)`, for text alternatives, figures and Markdown."""

# ruff: noqa: RUF001, RUF002
from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.report.formulas.tokens import GREEK, LARGE, SIGNS

if TYPE_CHECKING:
    from sympy import Basic

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


__all__ = ["line"]
