"""Formulas: marked in cards and errata, as LaTeX, as MathML, and in one line."""

# ruff: noqa: RUF001
from __future__ import annotations

import re
from xml.etree import ElementTree

from sgverify.claims import claims, read_card
from sgverify.exact.readings.formula import formula as printed_formula
from sgverify.papers.formula import rows
from sgverify.report.formulas import equations, formula, in_a_line, latex, marked_texts, with_formulas
from sgverify.schemes import find_scheme
from sgverify.schemes.catalogue import NAMED
from tests.tables import each_row


@each_row(
    "source, shown",
    [
        ("theta**2", "θ²"),
        ("p1 at theta_1, not `theta_1`", "p1 at θ₁, not `theta_1`"),
        ("required >= 1, h -> 0", "required ≥ 1, h → 0"),
        ("h = C L^(-1/2), L^-1", "h = C L^(-1/2), L⁻¹"),
        ("data_seed 0, gradient.delta and eta_max", "data_seed 0, gradient.delta and η_max"),
    ],
)
def test_prose_in_one_line(source, shown):
    assert in_a_line(source) == shown


@each_row(
    "source, shown",
    [
        ("a/b c", r"\frac{a}{b} c"),
        ("(h/2) sigma^2", r"\frac{h}{2} σ^{2}"),
        ("(a + b)/(c d)", r"\frac{a + b}{c d}"),
        ("(a/b)^2", r"\left(\frac{a}{b}\right)^{2}"),
        ("h = C L^(-1/2)", "h = C L^{−1/2}"),
        ("E|theta*|^2/k", "E|θ^{*}|^{2}/k"),
        ("|E phi_hat - phi_bar|", r"|E \hat{φ} − \bar{φ}|"),
        ("varpi_Psi~ of U~_l(theta)", r"ϖ_{\tilde{Ψ}} of \tilde{U}_{l}(θ)"),
        ("theta*(i)^zeta Z~", r"{θ^{*}(i)}^{ζ} \tilde{Z}"),
        ("K*alpha + 2*3", "K α + 2·3"),
        ("Phi''^2", "{Φ''}^{2}"),
        ("<grad g, grad L>", "⟨∇ g, ∇ L⟩"),
        ("x ~ N(0, 1), h -> inf", "x ∼ N(0, 1), h → ∞"),
        ("lim inf x/y!", r"\text{lim}\,\,\text{inf}\, \frac{x}{y!}"),
        ("Cov(x)/Var x", r"\text{Cov}(x)/\text{Var}\, x"),
        ("e^{-{a^2}/{4ε}}", r"e^{−\frac{a^{2}}{4ε}}"),
        ("1{J = j} sqrt(2h)", r"1\{J = j\} \sqrt{2h}"),
        ("l^-alpha_1 + p.p", "l^{−α_{1}} + p·p"),
        ("beta1 + 0.5, L(x | beta)", "β_{1} + 0.5, L(x∣β)"),
        ("/2, x/", "/2, x/"),
        ("theta(t^-)", "θ(t^{−})"),
    ],
)
def test_a_formula_in_latex(source, shown):
    assert latex(source) == shown


def test_a_definition_multiplies_by_every_star():
    assert (
        latex("theta1 = theta + h/2*(p1 - x*grad(theta))", True)
        == r"θ_{1} = θ + \frac{h}{2} (p_{1} − x ∇(θ))"
    )
    assert latex("sqrt(-T*expm1(-2*D*h))*z1", True) == r"\sqrt{−T\,\text{expm1}(−2 D h)} z_{1}"


def test_the_hessian_of_a_definition_is_that_of_the_potential():
    step = "def s(x, *, h, grad):\n    x1 = x + h**3/36*grad.hessian(x - h*grad(x), {})\n    return x1\n"
    for vector, shown in (("grad(x)", "∇U(x)"), ("x - grad.hessian(x, x)", "(x−∇2U(x)x)")):
        text = "".join(ElementTree.fromstring(str(equations(step.format(vector))[0])).itertext())
        assert text.endswith(f"+h336∇2U(x−h∇U(x)){shown}")
    assert equations(step.replace("grad.hessian", "grad.fresh")) is None


def test_a_definition_names_the_potential_under_its_gradient():
    lines = equations("def step(theta, *, h, grad):\n    theta1 = theta - h*grad(theta)\n    return theta1\n")
    assert "∇U(θ)" in "".join(ElementTree.fromstring(str(lines[0])).itertext())


def test_marks_are_taken_off_where_cards_and_errata_are_read():
    texts = [
        *(claim.statement for claim in claims().values()),
        *(row.printed for row in rows("vr-resgld").values()),
    ]
    assert not any("$" in text for text in texts)
    assert sum(text in marked_texts() for text in texts) > 60
    card = read_card(
        "own/x",
        'title = "$h^2$"\nstatement = "s"\nplace = 1\nleft_out = "$h$"\n[source]\npaper = "p"\nsection = "s"\nequation = "e"',
        "x",
    )
    assert (card.title, card.left_out) == ("h^2", "h")


def test_a_page_sets_the_formulas_that_a_card_marks():
    statement = claims()["corrected/theorem-4"].statement
    assert statement.startswith("d(rho_h, rho) = O(h^K + h tr V), V the covariance")
    shown = with_formulas(statement)
    assert (
        shown.startswith('<math aria-label="d(ρ_h, ρ) = O(h^K + h tr V)">')
        and "</math> the covariance" in shown
    )


def test_elsewhere_powers_and_greek_letters_alone_are_set():
    shown = with_formulas(
        "the bias of theta**2 <b> is delta, a $5 rate of L^(-1/2) log L; `h^2` is code, (x + y)^2 none"
    )
    assert re.sub(r"<math.*?</math>", "M", shown) == (
        "the bias of M &lt;b&gt; is δ, a $5 rate of M log L; <code>h^2</code> is code, (x + y)M none"
    )


@each_row("source", ["f(x", "a)/b", "(a/b", "x^", "_", "{a", "\\frac{", "a % b & c # d"])
def test_what_is_no_formula_is_shown_all_the_same(source):
    assert ElementTree.fromstring(formula(source)).get("aria-label") == source


def test_mathml_is_well_formed_and_every_marked_formula_has_a_text():
    """Of everything that cards and errata mark: fractions, scripts and roots have as many children as they need."""
    children = {"mfrac": 2, "msup": 2, "msub": 2, "msubsup": 3, "mover": 2, "msqrt": 1}
    marked = [source for text in marked_texts().values() for source in re.findall(r"\$([^$]+)\$", text)]
    for source in dict.fromkeys(marked):
        root = ElementTree.fromstring(f"<p>{formula(source)}</p>")
        assert next(root.iter("math")).get("aria-label")
        for element in root.iter():
            assert len(element) == children.get(element.tag, len(element)), source
            assert element.tag not in ("mi", "mn", "mo") or element.text, source
        assert "{" in source or not re.search(r"[\\{}]", "".join(root.itertext())), source
    assert len(marked) > 800


@each_row("name", sorted(NAMED))
def test_printed_schemes_are_equations(name):
    printed = printed_formula(find_scheme(name))
    lines = equations(printed)
    assert (lines is None) == ("metric." in printed)
    if lines is not None:
        assert len(lines) == len(printed.strip().splitlines()) - 1
        assert "→" in lines[-1]
