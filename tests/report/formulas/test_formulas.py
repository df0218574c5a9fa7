"""Formulas: what is one within prose, what its tree is, and what readers see."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
import sympy

from sgverify.claims import claims
from sgverify.exact.readings.formula import formula as printed_formula
from sgverify.report.formulas import NoFormula, equations, formula, in_a_line, parse, with_formulas
from sgverify.report.formulas.shown import elements
from sgverify.schemes import find_scheme
from sgverify.schemes.catalogue import NAMED


@pytest.mark.parametrize(
    "source, shown",
    [
        ("theta**2", "θ²"),
        ("exp(-D*h)", "exp(−D h)"),  # noqa: RUF001
        ("h = C L^(-1/2)", "h = C L^(−1/2)"),  # noqa: RUF001
        ("L^(-2/3) log L", "L^(−2/3) log L"),  # noqa: RUF001
        ("2 p^2 D + 2 p U' + 2 D", "2 p² D + 2 p U′ + 2 D"),  # noqa: RUF001
        ("3/2 [L,dV1] + 5/2 [L,dV2]", "3/2 [L, dV₁] + 5/2 [L, dV₂]"),
        ("|E phi_hat - phi_bar|", "|E φ̂ − φ̄|"),  # noqa: RUF001
        ("((1 + o(1)) (p_1 + ... + p_i)/Z~)^(1/zeta)", "((1 + o(1)) (p₁ + … + p_i)/Z̃)^(1/ζ)"),
        ("theta*(i)^zeta Z~", "θ*(i)^ζ Z̃"),
        ("<grad g, grad L>", "⟨∇g, ∇L⟩"),
        ("{∑_l |E ΔV_l|}/L", "(∑_l |E Δ V_l|)/L"),
        ("E[|∇ L(x_i|β_k^{(h)})|^2]", "E[|∇L(x_i | β_k^(h))|²]"),
        ("-8.96112e-05", "−8.96112e-05"),  # noqa: RUF001
    ],
)
def test_a_formula_in_one_line(source, shown):
    assert in_a_line(source) == shown


@pytest.mark.parametrize(
    "text, formulas",
    [
        ("the bias of theta**2 at h = C L^(-1/2) decays", ["θ²", "h = C L^(−1/2)"]),  # noqa: RUF001
        ("at L = 700 0.000391 against 0.253", ["L = 700"]),
        ("lemma D5, appendix D, in dimensions 1 to 5", []),
        ("2 to 6 minibatches, a step in 3 of 4 cases (14)", []),
        ("a K-th order integrator, K >= 2", ["K ≥ 2"]),
        ("off by -0.0509 +- 0.062, p = 0.42", ["−0.0509 ± 0.062", "p = 0.42"]),  # noqa: RUF001
        ("ABOBA ~ OBABO; see data_seed 0", []),
    ],
)
def test_formulas_are_found_in_prose(text, formulas):
    assert re.findall(r'<(?:math|span role="math") aria-label="([^"]*)"', with_formulas(text)) == formulas


def test_what_is_no_formula_stays_as_it_is_and_is_escaped():
    assert with_formulas("one <b>bold</b> claim & more") == "one &lt;b&gt;bold&lt;/b&gt; claim &amp; more"
    assert with_formulas("`theta**2` is set") == "<code>theta**2</code> is set"
    assert with_formulas("required >= 1") == "required ≥ 1"
    with pytest.raises(NoFormula):
        parse("700 0.000391")


@pytest.mark.parametrize(
    "source", ["x + 0", "1*x", "2 + 2", "x/x", "(x + 1)^2 - x^2", "sqrt(4)", "x - x", "0*h"]
)
def test_nothing_is_evaluated(source):
    """Every number and letter of the source is in the tree, in its order."""
    leaves = re.findall(r"\d|x|h", source)
    shown = re.sub(r"<[^>]*>|[^\dxh]", "", with_formulas(source).replace("sqrt", ""))
    assert list(shown) == leaves or not shown


@pytest.mark.parametrize(
    "source, value",
    [
        ("a/b c", "a*c/b"),
        ("a b/c", "a*b/c"),
        ("-(3/2) a b^2", "-3*a*b**2/2"),
        ("a - b - c", "a - b - c"),
        ("a - (b - c)", "a - b + c"),
        ("-a^2", "-a**2"),
        ("1/(a b)", "1/(a*b)"),
        ("2^-a", "2**(-a)"),
        ("h/2*a", "a*h/2"),
        ("a + b/c - 1/2 c", "a + b/c - c/2"),
    ],
)
def test_the_tree_means_what_is_written(source, value):
    assert sympy.simplify(meant(parse(source, True)) - sympy.sympify(value)) == 0


def meant(tree):
    """The value of a tree whose only own signs are fractions and round brackets."""
    parts = [meant(part) for part in tree.args]
    name = str(tree.func.__name__)
    if name == "quotient":
        return parts[0] / parts[1]
    if name == "brackets ( )":
        return parts[0]
    return tree.func(*parts) if parts else tree


def test_brackets_stay_where_a_power_needs_them():
    shown = formula("(a + b)^2")
    assert shown.count(">(</mo>") == 1
    assert ">(</mo>" not in formula("2^(a + b)") and ">(</mo>" not in formula("(a + b)/(c + d)")


@pytest.mark.parametrize("name", sorted(NAMED))
def test_printed_schemes_are_equations(name):
    printed = printed_formula(find_scheme(name))
    lines = equations(printed)
    if "metric" in printed:
        return
    assert lines is not None and len(lines) == len(printed.strip().splitlines()) - 1
    assert "→" in lines[-1]


def test_a_long_formula_may_be_broken_and_says_the_same():
    source = "|E phi_hat - phi_bar| = O(1/(L h) + sum_l |E dV_l|/L + h^K + h tr V) + e^{a + b}"
    shown = formula(source)
    pieces = re.findall(r"<math aria-hidden=\"true\">(.*?)</math>", shown)
    assert len(pieces) == 8 and shown.count("<wbr>") == 7 and "aria-label" in shown.partition("<math")[0]
    whole = "".join(re.sub(r"<[^>]*>", "", piece) for piece in pieces)
    assert whole == re.sub(r"<[^>]*>", "", elements(parse(source)))


def test_mathml_is_well_formed_and_every_formula_has_a_text():
    """Of every statement of a card: fractions, scripts and roots have as many children as they need."""
    children = {"mfrac": 2, "msup": 2, "msub": 2, "mover": 2}
    count = 0
    for card in claims().values():
        for text in (card.statement, card.title, card.weighs, *card.assumes):
            root = ElementTree.fromstring(f"<p>{with_formulas(text).replace('<wbr>', '')}</p>")
            for element in root.iter():
                assert len(element) == children.get(element.tag, len(element)), text
                assert element.tag not in ("mi", "mn", "mo") or element.text
                count += element.tag == "math"
    assert count > 200
