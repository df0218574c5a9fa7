"""Formulas for readers: MathML on pages, and one line of plain text in figures and Markdown.

Cards and errata mark their formulas, `$h^2/12$`, in the plain text that terminals, JSON and reasons show without the marks; a page
finds the marked text by the plain one. In any other prose a power, `h^2`, and a letter with an index, `h_l`, are formulas, and
the name of a Greek letter is that letter; the rest stays as it is written.
"""

# ruff: noqa: RUF001
from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgverify.claims.loading import carrying, unmarked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eps": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "varpi": "ϖ",
    "Gamma": "Γ", "Delta": "Δ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
SIGNS = GREEK | {
    "inf": "∞", "grad": "∇", "int": "∫", "sum": "∑", "Laplace": "Δ", "in": "∈", "<=": "≤", ">=": "≥", "!=": "≠",
    "->": "→", ":=": "≔", "+-": "±", "...": "…", "-": "−", "~": "∼", ".": "·", "\\": "∖", " | ": "∣",
}  # fmt: skip
"""One sign for each word and each pair of signs that stands for it within a formula."""

ACCENTS = {"hat": r"\hat", "bar": r"\bar", "tilde": r"\tilde", "~": r"\tilde"}
SCRIPTS = {"_": "_", "^": "^", "**": "^"}
CLOSING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⌊": "⌋"}

LONG = 36
"""The most signs of a formula that fits on a narrow screen; a longer one has a box to be moved in."""

_CODE = re.compile(r"(`[^`]+`)")
_MARKED = re.compile(r"\$([^$]+)\$")
_TYPED = re.compile(
    r"(\w*~?(?:\^|\*\*)(?:\([^()]*\)|-?[\w.]*\w)"
    rf"|(?<![\w.])(?:[^\W\d_]|{'|'.join(GREEK)})~?_[^\W_](?![\w.]))"
)
"""A power, or a letter with an index of one sign."""

_GREEK = re.compile(rf"(?<![\w.'~])(?<!\w-)(?<![A-Za-z]/)({'|'.join(GREEK)})(?:_?(\d+)(?!\w))?(?![A-Za-z])")
_WHOLE_POWER = re.compile(r"(?:\^|\*\*)(-?\d+)(?!\w|\.\d)")
_NUMBERED = re.compile(r"(?<![^\W_])([^\W\d_])_(\d+)(?!\w)")
_TILDE = re.compile(r"(?<=[A-Za-zα-ωΑ-Ω])~(?![A-Za-z])")
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")

_LEXEMES = re.compile(r" \| |\s+|\d+(?:\.\d+)?|expm1|[A-Za-z]+|<=|>=|!=|->|:=|\+-|\*\*|'+|\.\.\.|.")
_FRACTION = re.compile(r"\\frac(\{(?:[^{}]|\{[^{}]*\})*\}){2}")
_ANGLES = re.compile(r"<([A-Za-z][^<>=|]*, [^<>=|]*)>")
"""An inner product, `<x, y>`."""


@cache
def with_formulas(text: str) -> Markup:
    """Prose as HTML with its formulas as MathML, and what stands between back-quotes as code."""
    from markupsafe import Markup

    marked = marked_texts().get(" ".join(text.split()))
    shown = []
    for place, piece in enumerate(_CODE.split(marked or text)):
        if place % 2:
            shown.append(f"<code>{escape(piece.strip('`'), quote=False)}</code>")
            continue
        for number, part in enumerate((_MARKED if marked else _TYPED).split(piece)):
            shown.append(formula(part) if number % 2 else escape(_plain(part), quote=False))
    return Markup("".join(shown))


@cache
def marked_texts() -> dict[str, str]:
    """The texts of cards and errata that mark formulas, by the same texts without marks."""
    rooms = [*(Path(__file__).parents[1] / "papers").glob("*/"), *(plugin.folder() for plugin in carrying())]
    texts: list[str] = []
    for room in filter(None, rooms):
        for file in (*room.glob("cards/*/*.toml"), *room.glob("errata/printed.toml")):
            with suppress(tomllib.TOMLDecodeError):  # A card that is refused is shown nowhere.
                texts += _strings(tomllib.loads(file.read_text(encoding="utf-8")))
    return {unmarked(text): text for text in texts if "$" in text}


def _strings(entry: Any) -> Iterator[str]:
    """The texts in a table, each in one line."""
    if isinstance(entry, str):
        yield " ".join(entry.split())
    elif isinstance(entry, dict | list):
        for item in entry.values() if isinstance(entry, dict) else entry:
            yield from _strings(item)


def in_a_line(text: str) -> str:
    """Prose with powers, indices and Greek letters as signs: `theta**2` as `θ²`; what stands between back-quotes stays."""
    pieces = enumerate(_CODE.split(str(text)))
    return "".join(piece if place % 2 else _plain(piece) for place, piece in pieces)


def _plain(words: str) -> str:
    words = _GREEK.sub(lambda name: GREEK[name[1]] + (name[2] or "").translate(_LOWERED), words)
    words = _TILDE.sub("\u0303", words)
    words = _WHOLE_POWER.sub(lambda power: power[1].translate(_RAISED), words)
    words = _NUMBERED.sub(lambda index: index[1] + index[2].translate(_LOWERED), words)
    return words.replace(" >= ", " ≥ ").replace(" <= ", " ≤ ").replace(" -> ", " → ")


@cache
def formula(source: str, definition: bool = False) -> str:
    """A formula as a `<math>` element with its plain text as alternative; in a `definition` every star multiplies."""
    from latex2mathml.converter import convert

    shown = re.sub(r"&#x(\w+);", lambda code: escape(unescape(code[0])), convert(latex(source, definition)))
    shown = re.sub(r"<mi>([^\w<])</mi>", r"<mo>\1</mo>", shown)
    shown = re.sub(r"<mo[^>]*>([|/])</mo>", r"<mi>\1</mi>", shown)
    shown = re.sub(r"([(\[{⟨=<>≤≥→,]</mo>)<mo>−", r'\1<mo form="prefix">−', shown)
    shown = re.sub(r"<mrow>(<m([ino])>[^<]*</m\2>)</mrow>", r"\1", shown)
    shown = f'<math aria-label="{escape(_plain(source))}">' + shown.partition(">")[2]
    return f'<span class="wide" tabindex="0">{shown}</span>' if len(source) > LONG else shown


def latex(source: str, definition: bool = False) -> str:
    r"""The formula in LaTeX, `(h/2) x^(-1/2)` as `\frac{h}{2} x^{-1/2}`: a fraction within an exponent stays in its line."""
    return _Reader(source, definition).row("", False).replace(r" \text", r"\,\text")


class _Reader:
    def __init__(self, source: str, definition: bool) -> None:
        self.signs = [*_LEXEMES.findall(_ANGLES.sub(r"⟨\1⟩", source.strip())), "", ""]
        self.definition = definition

    def read(self) -> str:
        return self.signs.pop(0) if self.signs[0] else ""

    def row(self, closing: str, raised: bool) -> str:
        """The formula before the closing bracket, or the end; two wholes with a `/` close between them are a fraction."""
        row: list[tuple[str, str]] = []
        while self.signs[0] and self.signs[0] not in closing:
            divides = self.signs[0] == "/" and bool(row and row[-1][1])
            row.append(self.atom(raised))
            if divides and self.signs[0].strip():
                row.append(self.atom(raised))
                (left, above), _, (right, below) = row[-3:]
                if below and (not raised or r"\{" in (left[:2], right[:2])):
                    row[-3:] = [(rf"\frac{{{above}}}{{{below}}}",) * 2]
        return "".join(text for text, _ in row)

    def atom(self, raised: bool) -> tuple[str, str]:
        """A sign with its scripts and arguments, and the same without brackets of its own; that is "" where it is no whole."""
        sign = self.read()
        name, text, whole = sign.isalpha(), "", ""
        if sign in SCRIPTS:
            self.signs.insert(0, sign)
        elif sign in CLOSING:
            text, whole = self.brackets(sign, raised)
            if sign == "(" and _FRACTION.fullmatch(whole) and self.signs[0] not in SCRIPTS:
                text = whole
        elif sign in ("sqrt", "√") and self.signs[0] in CLOSING:
            text = whole = rf"\sqrt{{{self.brackets(self.read(), raised)[1]}}}"
        else:
            text = self.sign(sign)
            whole = text if text[:1].isalnum() else ""
        scripts = ""
        while True:
            found, after = self.signs[:2]
            if (found == "~" and name) or (found == "_" and after in ACCENTS):
                del self.signs[: 1 + (found == "_")]
                text = f"{ACCENTS[found if found == '~' else after]}{{{text}}}"
            elif found[:1] == "'":
                text, scripts = f"{{{text}{self.read()}}}", ""
            elif found in SCRIPTS or (name and found.isdigit() and not scripts):
                mark = SCRIPTS[self.read()] if found in SCRIPTS else "_"
                text = f"{{{text}}}" if mark in scripts else text
                text, scripts = f"{text}{mark}{{{self.script()}}}", scripts + mark
            elif found == "*" and name and not self.definition and not after[:1].isalnum():
                text, scripts = f"{text}^{{{self.read()}}}", scripts + "^"
            elif found == "!":
                text += self.read()
            elif found in ("(", "[") and name:
                text += self.brackets(self.read(), raised)[0]
                whole, name, scripts = text, False, "^_"
            else:
                return text, whole
            whole = whole and text

    def brackets(self, opening: str, raised: bool) -> tuple[str, str]:
        """A pair of brackets with its contents, and the contents; intervals may be open at one end."""
        inside = self.row(")]" if opening in "([" else CLOSING[opening], raised)
        closing = self.read()
        left, right = (rf"\{sign}" if sign in ("{", "}") else sign for sign in (opening, closing))
        tall = r"\frac" in inside and opening in "([{" and closing
        return (rf"\left{left}{inside}\right{right}" if tall else f"{left}{inside}{right}"), inside

    def script(self) -> str:
        """An exponent or an index: the contents of brackets, a signed atom, or one sign."""
        sign = self.read()
        if sign in ("(", "{"):
            return self.brackets(sign, True)[1]
        if sign == "-":
            return f"−{self.atom(True)[0]}" if self.signs[0].strip(" )]}") else "−"
        return rf"\tilde{{{self.sign(sign)}}}" if self.signs[0] == "~" and self.read() else self.sign(sign)

    def sign(self, sign: str) -> str:
        """A number, a letter, a word or another sign, in LaTeX; two letters are a product of two quantities."""
        gap = self.signs[0].isspace()
        if sign == "*":
            return "·" if self.signs[0][:1].isdigit() else " "
        if sign in SIGNS and not (sign == "inf" and gap):
            return SIGNS[sign]
        longest = 1 if self.definition or sign == "tr" else 2
        if sign.isalnum() and not sign[0].isdigit() and len(sign) > longest:
            return rf"\text{{{sign}}}" + r"\," * gap
        return rf"\{sign}" if sign in ("%", "#", "&", "$") else sign


def equations(listing: str) -> list[Markup] | None:
    """The lines of a printed definition as MathML, `θ₁ = θ + h/2 p`, the last as `(θ, p) → (θ₁, p₁)`.

    None where it calls methods, as of a metric.
    """
    from markupsafe import Markup

    head, *lines = listing.strip().splitlines()
    lines = [_hessians(line) for line in lines]
    if not head.startswith("def ") or re.search(r"[a-z]\.[a-z]", "".join(lines)):
        return None
    state = head[head.index("(") + 1 : head.index(", *")]
    becomes = f"{state} -> {lines.pop().strip().removeprefix('return ')}"
    lines.append(becomes if "," not in state else f"({becomes.replace(' -> ', ') -> (')})")
    # A definition calls the gradient `grad`; its formula names the potential too.
    return [Markup(formula(re.sub(r"\bgrad\(", "grad U(", line.strip()), True)) for line in lines]


def _hessians(line: str) -> str:
    """The line with `grad.hessian(x, v)`, the Hessian of U times v, as `grad^2 U(x) v`."""
    before, call, rest = line.partition("grad.hessian(")
    if not call:
        return line
    depth, ends = 0, []
    for place, sign in enumerate(rest):
        depth += (sign in "([") - (sign in ")]")
        if depth < 0 or (sign == "," and not depth):
            ends.append(place)
        if depth < 0:
            break
    where, vector = (_hessians(part) for part in (rest[: ends[0]], rest[ends[0] + 2 : ends[1]]))
    times = f"({vector})" if " " in vector else vector
    return f"{before}grad^2 U({where}) {times}{_hessians(rest[ends[1] + 1 :])}"
