"""Quotations and the texts that they are from, brought to one form: the same words and symbols, whatever the typesetting.

A text is plain where it was extracted from a PDF file and LaTeX where it was extracted from a web page. What is made equal:
typefaces, spacing, line breaks and hyphens at them, ligatures, sizes of brackets, braces and brackets that group; a command
and its symbol (\\nabla and ∇); \\frac{a}{b} and a/b, \\tilde{U} and U~, \\hat{U} and U_hat, \\bar{U} and U_bar, \\sqrt{h} and
√h. No word and no other symbol is added, dropped or moved. A quotation leaves out what stands between its pieces by ` [...] `.
"""

# ruff: noqa: RUF001

from __future__ import annotations

import re
import unicodedata

OMISSION = "[...]"

DROPPED = frozenset(
    re.findall(
        r"\w+",
        """displaystyle textstyle scriptstyle operatorname mathbf bm mathcal cal mathrm rm mathbb hbox text mbox textrm varvec bf
        left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr quad qquad nonumber mathclap stackrel underbrace overbrace
        begin end aligned array split align limits hskip boldsymbol square""",
    )
)
SYMBOLS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "phi": "φ", "varphi": "φ", "psi": "ψ", "omega": "ω", "varpi": "ϖ", "Delta": "Δ", "Theta": "Θ", "Phi": "Φ", "Psi": "Ψ",
    "Sigma": "Σ", "Pi": "Π", "Upsilon": "ϒ", "bigtriangleup": "△", "nabla": "∇", "sum": "∑", "int": "∫", "infty": "∞",
    "cdot": "·", "times": "×", "circ": "∘", "cup": "∪", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠",
    "lesssim": "≲", "propto": "∝", "approx": "≈", "sim": "∼", "simeq": "≃", "triangleq": "≜", "in": "∈", "vee": "∨",
    "wedge": "∧", "ldots": "...", "cdots": "...", "dots": "...", "langle": "⟨", "rangle": "⟩", "Vert": "|", "|": "|",
    "lVert": "|", "rVert": "|", "star": "⋆", "top": "⊤", "lfloor": "⌊", "rfloor": "⌋", "rightarrow": "→",
}  # fmt: skip
"""Commands that are symbols; those of words, such as \\log, are their words."""
AFTER = {"tilde": "~", "widetilde": "~", "hat": "_hat", "widehat": "_hat", "bar": "_bar", "overline": "_bar"}
TOKEN = re.compile(r"\\[A-Za-z]+\s?|\\.|[^\\]", re.DOTALL)
VARIANTS = "ϖϒ"
"""Letters of their own, which compatibility forms would make another letter."""
THETA = re.compile(r"\\mathchar 28946\s?\\relax")
"""The web page's theta."""


def pieces(quotation: str) -> list[str]:
    """What is quoted, without what it leaves out."""
    return [one_form(piece) for piece in quotation.split(OMISSION)]


def one_form(text: str) -> str:
    """The text in the form in which a quotation is a part of it."""
    text = "".join(c if c in VARIANTS else unicodedata.normalize("NFKC", c) for c in THETA.sub("θ", text))
    text = text.translate(str.maketrans("−∗‘’∥", "-*''|"))
    text = re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", text)
    text = re.sub(r"\\(left|right)\s*\.", "", text)
    found, _ = _read(TOKEN.findall(text), 0, whole=True)
    return re.sub(r"\|+", "|", re.sub(r"[\s(){}\[\]&$]", "", found))


def _read(tokens: list[str], at: int, *, whole: bool = False) -> tuple[str, int]:
    """The symbols from here to the end, or to the brace that closes."""
    found: list[str] = []
    while at < len(tokens):
        token = tokens[at]
        if token == "}" and not whole:
            return "".join(found), at + 1
        text, at = _one(tokens, at)
        found.append(text)
    return "".join(found), at


def _one(tokens: list[str], at: int) -> tuple[str, int]:
    token, at = tokens[at], at + 1
    if token == "{":
        return _read(tokens, at)
    if token == "}":
        return "", at
    if not token.startswith("\\"):
        return token, at
    name = token[1:].strip()
    if name in ("frac", "tfrac", "dfrac"):
        above, at = _argument(tokens, at)
        below, at = _argument(tokens, at)
        return f"{above}/{below}", at
    if name in AFTER:
        under, at = _argument(tokens, at)
        return under + AFTER[name], at
    if name == "sqrt":
        under, at = _argument(tokens, at)
        return "√" + under, at
    if name in SYMBOLS:
        return SYMBOLS[name], at
    if name in DROPPED or not name.isalpha():
        return "", at
    return name, at


def _argument(tokens: list[str], at: int) -> tuple[str, int]:
    while at < len(tokens) and tokens[at].isspace():
        at += 1
    return _one(tokens, at) if at < len(tokens) else ("", at)
