"""What is printed of the papers is a quotation: every piece of it stands in the paper's text, word for word.

The texts are not part of this repository. SGVERIFY_PAPERS names a folder of text files, each with the name of its paper in its
own (chen2015, awsgld, vr-resgld), plain or with LaTeX formulas; without it the comparison is skipped, and its rules are tested.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from sgverify.papers.formula import Formula, formulas
from tests.papers.quotations import OMISSION, one_form, pieces
from tests.tables import each_row

FOLDER = "SGVERIFY_PAPERS"
WEB = (
    r"where ψ𝜓subscript \displaystyle\mathcal{L}_{O_{l}}=-\nabla_{{\bm{\mathchar 28946\relax}}}"
    r"\tilde{U}({\bm{\mathchar 28946\relax}})\cdot\nabla_{\operatorname{\mathbf{p}}}"
    r"+2D\operatorname{\mathbf{I}}_{n}:\nabla_{\operatorname{\mathbf{p}}}^{T}~{}. (8) and so on"
)


@pytest.mark.parametrize("paper", ["awsgld", "chen2015", "vr-resgld"])
def test_every_piece_of_a_quotation_stands_in_the_paper(paper: str) -> None:
    if FOLDER not in os.environ:
        pytest.skip(f"the texts of the papers are not here: name their folder in {FOLDER}")
    texts = [
        one_form(path.read_text(encoding="utf-8"))
        for path in Path(os.environ[FOLDER]).iterdir()
        if paper in path.name
    ]
    assert texts, f"no text of {paper} in {os.environ[FOLDER]}"
    missing = [
        (formula.id, piece)
        for formula in formulas(paper)
        for piece in pieces(formula.row.printed)
        if not any(piece in text for text in texts)
    ]
    assert missing == []


LABEL = re.compile(r"^\s*\((\d+)\)\s*$|(?<=[^\n])\s\((\d+)\)\s*$", re.MULTILINE)
"""The number of an equation, at the end of its line or on one of its own."""


def cited(formula: Formula) -> str:
    """The number of the equation that a row is named after; "" where it is named after something else."""
    found = re.fullmatch(r"equation-(\d+)", formula.id.partition("/")[2])
    return found[1] if found else ""


def between(text: str, number: str) -> list[str]:
    """The texts that end with the number of an equation, each from the number before it."""
    labels = list(LABEL.finditer(text))
    starts = [0, *(label.end() for label in labels)]
    return [
        text[start : label.start()]
        for start, label in zip(starts, labels, strict=False)
        if number in (label[1], label[2])
    ]


def test_a_row_that_is_named_after_an_equation_cites_it_first() -> None:
    for formula in formulas():
        if number := cited(formula):
            assert re.search(r"\((\d+)\)", formula.row.where)[1] == number, formula.id


@pytest.mark.parametrize("paper", ["awsgld", "vr-resgld"])
def test_a_quotation_stands_at_the_equation_that_it_cites(paper: str) -> None:
    """As far as the texts have the numbers: a row named after an equation quotes what ends with that number.

    chen2015 is cited by the numbers of its supplement, whose text breaks formulas over lines; the text that has them in one
    piece is another edition, with numbers of its own.
    """
    if FOLDER not in os.environ:
        pytest.skip(f"the texts of the papers are not here: name their folder in {FOLDER}")
    texts = [
        path.read_text(encoding="utf-8") for path in Path(os.environ[FOLDER]).iterdir() if paper in path.name
    ]
    elsewhere, held = {}, 0
    for formula in formulas(paper):
        number, first = cited(formula), pieces(formula.row.printed)[0]
        # Of a text that lacks the quotation in one piece, or the number, nothing is asked.
        places = [
            one_form(part) for text in texts if first in one_form(text) for part in between(text, number)
        ]
        if number and places and formula.row.where.startswith("equation"):
            held += 1
            if not any(first in place for place in places):
                elsewhere[formula.id] = first
    assert elsewhere == {}
    assert held > 1


def test_a_quotation_of_another_equation_is_found() -> None:
    text = r"$$\theta = (1 + o(1)) P$$" "\n(22)\n and " r"$$\theta = P + o(P)$$" "\n(37)\n"
    assert [one_form("P + o(P)") in one_form(part) for part in between(text, "37")] == [True]
    assert [one_form("P + o(P)") in one_form(part) for part in between(text, "22")] == [False]


def test_every_row_quotes_something() -> None:
    for formula in formulas():
        found = pieces(formula.row.printed)
        # The shortest piece that tells anything apart is a relation between two symbols.
        assert sum(map(len, found)) >= 8 and any(found), formula.id
        assert OMISSION not in formula.row.read_as


@each_row(
    ("quotation", "stands"),
    [
        ("L_{O_l} = -∇_θ U~(θ) · ∇_p + 2D I_n : ∇_p^T", True),
        ("where [...] 2D I_n : ∇_p^T [...] and so on", True),
        ("L_{O_l} = -∇_θ U~(θ) · ∇_p + D I_n : ∇_p^T", False),
        ("L_{O_l} = ∇_θ U~(θ) · ∇_p + 2D I_n", False),
        ("L_{O_l} = -∇_θ U(θ) · ∇_p + 2D I_n", False),
        ("and so it goes on", False),
    ],
)
def test_typesetting_is_made_equal_and_nothing_else(quotation: str, stands: bool) -> None:
    assert all(piece in one_form(WEB) for piece in pieces(quotation)) is stands


@each_row(
    ("one", "other"),
    [
        (r"\frac{h^{2}}{2L}", "{h^2}/{2L}"),
        (r"\sqrt{\frac{\sum _{i=1}^k \omega _i}{k}}", "√{{∑_{i=1}^k ω_i}/k}"),
        (r"{\varvec{{\varvec{x}}}}_{k+1}", "x_{k+1}"),
        (r"\widehat{\theta }_{\star }", "θ_hat_⋆"),
        (r"\left\|\Delta V_{l}\right\|^{2}", "|ΔV_l|^2"),
        ("an eﬃcient inte-\ngrator", "an efficient integrator"),
        (r"\varpi _{\theta }", "ϖ_θ"),
    ],
)
def test_a_formula_and_its_symbols_have_one_form(one: str, other: str) -> None:
    assert one_form(one) == one_form(other)


@each_row(
    ("one", "other"),
    [("ϖ_θ", "π_θ"), ("h/2", "h^2"), ("U~", "U"), ("L-1", "L+1"), ("a < b", "a ≤ b"), ("θ*", "θ_⋆")],
)
def test_other_symbols_have_other_forms(one: str, other: str) -> None:
    assert one_form(one) != one_form(other)
