"""Which signs does a formula consist of, as reasons, cards and errata write it, and as definitions are printed?"""

# ruff: noqa: RUF001
from __future__ import annotations

import re
from dataclasses import dataclass

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eps": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "varpi": "ϖ",
    "Gamma": "Γ", "Delta": "Δ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
SIGNS = {"inf": "∞", "grad": "∇", "int": "∫", "sum": "∑", "Laplace": "Δ"}
"""Names that stand for one sign each."""

FUNCTIONS = frozenset({
    "exp", "log", "sqrt", "expm1", "min", "max", "sup", "lim", "tr", "det", "Var", "Cov", "cov", "dot", "dim", "floor",
    "mod", "diag", "cosh", "sinh", "tanh", "sin", "cos", "sign",
})  # fmt: skip
"""Names of several letters that are set upright."""

RELATIONS = {
    "<=": "≤", ">=": "≥", "!=": "≠", "==": "=", "=": "=", "<": "<", ">": ">", "->": "→", ":=": "≔", "~": "∼",
    "≤": "≤", "≥": "≥", "≠": "≠", "→": "→", "≜": "≜", "∝": "∝", "≈": "≈", "∈": "∈", "≲": "≲", "≔": "≔", "∼": "∼",
}  # fmt: skip
SUMS = {"+": "+", "-": "−", "−": "−", "+-": "±", "±": "±"}
PRODUCTS = {"*": "", "·": "·", ".": "·", ":": ":", "/": "/", "⊗": "⊗"}
OPENING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⌊": "⌋"}
ACCENTS = {"hat": "^", "bar": "¯", "~": "~"}
LARGE = frozenset("∑∫∏∇△Δ∂∪")
"""Signs that act on what follows them."""

_LEXEMES = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+(?![\w]))?)
    |(?P<dots>\.\.\.|…)
    |(?P<name>expm1|[A-Za-z]+|[α-ωϖϱϕΑ-ΩℒℓℝℕⅠ∞∑∫∏∪∇△∂])
    |(?P<relation><=|>=|!=|==|->|:=|[≤≥≠→≜∝≈∈≲≔∼=<>])
    |(?P<raise>\*\*|\^)
    |(?P<sum>\+-|[±+−-])
    |(?P<bracket>[()\[\]{}⟨⟩⌊⌋])
    |(?P<sign>[*·./:,;|_'~√⊗⋆])
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


_ANGLES = re.compile(r"<([A-Za-z][^<>=|]*, [^<>=|]*)>")
"""An inner product, `<x, y>`."""


@dataclass(frozen=True)
class Token:
    """One sign: its kind, its text, its place in the source, and whether white space is before and after it."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool = False
    loose: bool = False


def tokens(source: str) -> list[Token]:
    """The signs of the text without its white space."""
    found = list(_LEXEMES.finditer(_ANGLES.sub(r"⟨\1⟩", source)))
    result = []
    for number, lexeme in enumerate(found):
        kind = str(lexeme.lastgroup)
        if kind != "space":
            before = number > 0 and found[number - 1].lastgroup == "space"
            after = number + 1 < len(found) and found[number + 1].lastgroup == "space"
            result.append(Token(kind, lexeme.group(), lexeme.start(), lexeme.end(), before, after))
    return result


def is_symbol(name: str) -> bool:
    """Does the name stand for a quantity or a sign: one letter, a Greek letter's name, a known function, or d before one?"""
    if len(name) == 1 or name in GREEK or name in SIGNS or name in FUNCTIONS:
        return True
    return is_differential(name)


def is_differential(name: str) -> bool:
    """A d and the name of what changes: `dV`, `dtheta`."""
    known = name in GREEK or name in FUNCTIONS
    return (
        name[0] == "d"
        and not known
        and (name[1:] in GREEK or name in ("dV", "dW", "dt", "dx", "dp", "dX", "dh"))
    )
