"""Errata: what theory refutes comes out refuted, what is put in its place is confirmed, and neither is taken on trust."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
import sympy

from sgverify.errors import UnknownNameError, UserError
from sgverify.evidence import Erratum, Provenance, encode_errata
from sgverify.evidence.erratum import powers
from sgverify.papers.chen2015.errata.generators import compare as compare_generators
from sgverify.papers.chen2015.errata.products import FORMULAS as PRODUCTS
from sgverify.papers.chen2015.errata.products import compare, words_of
from sgverify.papers.formula import (
    Examination,
    Formula,
    PrintedRow,
    UnconfirmedError,
    _row,
    check_errata,
    check_formula,
    formulas,
    rows,
)
from sgverify.report.errata import roots
from sgverify.schemes import dynamics

HALF = Fraction(1, 2)
HEAVY = PrintedRow(
    where="here", printed="printed", read_as="read", holds="mended",
    severity="local", root="chen2015/planted", affects="nothing", because="it is planted",
)  # fmt: skip

FAILING = {
    "equation-10": "the equation of Algorithm 1",
    "equation-8": "2D for D",
    "equation-41": "2 for 1",
    "equation-42-generator": "2D for D",
    "equation-44": "2 for 1",
    "appendix-i2-generator": "2D for D",
    "appendix-j-generator": "2D for D",
    "delta-v": "the sign of Delta V",
    "equation-3": "the order of the product",
    "equation-40": "the upper bound",
    "equation-42": "the product is another scheme",
    "lemma-13-third-line": "h^2/2 for h^2/4",
    "lemma-13-word": "another word",
    "appendix-j-three-batches": "plus for minus",
    "theorem-14": "every minibatch has its weight",
    "remark-7-bias": "log L",
    "remark-7-first-term": "only below 1/2",
    "symmetric-words-constant-equivalence": "constants differ",
    "algorithm-2": "two schemes",
    "theorem-4-stationary-bias": "minibatch noise is of first order",
    "equation-26": "ABOAB is of first order",
    "equation-46": "h^3 is missing",
    "equation-24-signs": "minus for plus",
    "equation-38-signs": "plus for minus",
    "equation-11": "the sign of p.p",
    "equation-12": "the sign and the dimension",
    "equation-12-clock": "no dt",
    "equation-21": "the states before the steps for those after",
    "equation-35": "the second power for the k-th",
}


@pytest.fixture(scope="module")
def found() -> dict[str, Erratum]:
    return {formula.id: formula for formula in check_errata(["chen2015"])}


@pytest.mark.parametrize("name", FAILING)
def test_a_known_erratum_fails_with_its_certificate(found: dict[str, Erratum], name: str) -> None:
    formula = found[f"chen2015/{name}"]
    assert formula.fails and formula.holds
    assert formula.certificate["difference"]


def test_what_is_right_as_printed_stands(found: dict[str, Erratum]) -> None:
    standing = {id for id, formula in found.items() if not formula.fails}
    assert standing == {
        "chen2015/equation-10-density",
        "chen2015/lemma-13-second-line",
        "chen2015/equation-40-lower",
        "chen2015/appendix-j-two-batches",
        "chen2015/corollary-6-consistency",
    }


def test_ids_are_unique_and_chosen_ones_come_alone() -> None:
    ids = [formula.id for formula in formulas()]
    assert len(ids) == len(set(ids))
    assert [formula.id for formula in check_errata(["chen2015/equation-3"])] == ["chen2015/equation-3"]
    with pytest.raises(UnknownNameError, match="chen2015/equation-3"):
        check_errata(["chen2015/equation-33"])


def test_a_wrong_correction_is_no_erratum() -> None:
    def wrong() -> Examination:
        low = {1: {"A": HALF, "B": HALF}}
        return compare("AB", (HALF, HALF), low, {**low, 2: {"[A,B]": Fraction(1, 4)}}, 2)

    with pytest.raises(UnconfirmedError, match=r"1/8 h\^2 \[A,B\]"):
        check_formula(Formula("chen2015/planted", wrong, HEAVY))


def test_a_printed_formula_that_is_mended_stands() -> None:
    """The same examinations, told the truth: their verdict is not written down beforehand."""
    low = {1: {"O": Fraction(1), "A": Fraction(1), "B": HALF}}
    right = {**low, 2: {"[A,B]": Fraction(1, 4), "[O,B]": Fraction(1, 4)}}
    third = next(formula for formula in PRODUCTS if formula.id.endswith("third-line"))
    mended = replace(third, examine=lambda: compare("AOAB", (HALF, Fraction(1), HALF, HALF), right, right, 2))
    assert check_formula(third).fails and not check_formula(mended).fails

    @dynamics(theta="vector")
    def brownian(theta, *, grad):
        return -grad(theta), 1

    assert compare_generators(brownian, brownian, brownian).printed == ""


def test_commutators_are_spelled_out() -> None:
    a, b = sympy.symbols("A B", commutative=False)
    nested = a * (a * b - b * a) - (a * b - b * a) * a
    assert (
        sum(
            weight * sympy.prod([{"A": a, "B": b}[x] for x in word])
            for word, weight in words_of("[A,[A,B]]").items()
        )
        == nested.expand()
    )


def test_the_bound_of_the_sum_fails_where_mpmath_says_so(found: dict[str, Erratum]) -> None:
    mpmath.mp.dps = 30
    fails = [
        length
        for length in range(2, 40)
        if mpmath.nsum(lambda l: l ** mpmath.mpf("-0.5"), [1, length])
        >= 1 + mpmath.quad(lambda x: x ** mpmath.mpf("-0.5"), [1, length - 1])
    ]
    assert fails == list(range(2, 11))
    assert "alpha = 1/2: false for L = 1 to 10" in found["chen2015/equation-40"].certificate["difference"]


def test_the_certificate_of_theorem_4_names_the_exponents(found: dict[str, Erratum]) -> None:
    certificate = found["chen2015/theorem-4-stationary-bias"].certificate
    assert (certificate["exponent found"], certificate["exponent predicted"]) == (1, 2)
    assert certificate["in its place"]["claim"] == "corrected/theorem-4"


def test_the_sign_alone_mends_the_thermostat_in_one_dimension_only(found: dict[str, Erratum]) -> None:
    certificate = found["chen2015/equation-12"].certificate
    mended = certificate["with the sign alone mended, exp(-U - p.p/2 - (xi - D)^2/2)"]
    assert mended.startswith("dimension 2:") and "dimension 1" not in mended
    assert certificate["exp(-U - p.p/2 - dim/2 (xi - D)^2)"] == "L* rho = 0 in dimension 1, 2"


def test_a_formula_that_was_to_stand_and_falls_is_a_fault_of_ours() -> None:
    low = {1: {"A": HALF, "B": HALF}}
    right = {**low, 2: {"[A,B]": Fraction(1, 8)}}
    falls = Formula(
        "chen2015/planted", lambda: compare("AB", (HALF, HALF), low, right, 2), replace(HEAVY, holds="")
    )
    with pytest.raises(UnconfirmedError, match="nothing is put in its place"):
        check_formula(falls)


def test_a_row_without_a_family_or_with_an_unknown_key_is_the_authors_to_mend() -> None:
    """The author of another paper is told the row in one line (exit code 2), and no internal error."""
    limit = replace(HEAVY, printed="it converges to 1")
    falls = Formula("chen2015/planted", lambda: Examination("2, not 1", "", {"x": 2}), limit)
    with pytest.raises(
        UserError, match="chen2015/planted speaks of a limit, which no finite example refutes"
    ):
        check_formula(falls)
    short = Formula("chen2015/planted", lambda: powers("h", 2, 2, "a model"), limit)  # type: ignore[arg-type,return-value]
    with pytest.raises(UserError, match="chen2015/planted: along h -> 0 the ratio may be as printed"):
        check_formula(short)
    with pytest.raises(
        UserError, match="chen2015/planted: becuse is no key of a row; expected where, printed"
    ):
        _row("chen2015", "planted", {"where": "here", "printed": "x", "becuse": "y"}, {})


def test_the_errata_follow_their_schema_and_an_error_counts_once(found: dict[str, Erratum]) -> None:
    document = encode_errata(found.values(), Provenance.gather(command="sgverify errata", seconds=0.0))
    assert len(document["errata"]) + len(document["standing"]) == len(found)
    noise = [item["id"] for item in document["errata"] if item["root"] == "chen2015/fresh-gradient-noise"]
    factors = [item["id"] for item in document["errata"] if item["root"] == "chen2015/second-derivatives"]
    assert (len(noise), len(factors)) == (10, 6)
    counts = roots(found.values())
    assert counts["consequence"]["chen2015/fresh-gradient-noise"] == 10
    assert counts["typographical"]["chen2015/second-derivatives"] == 6
    assert sum(sum(shown.values()) for shown in counts.values()) == len(document["errata"])


@pytest.mark.parametrize("left_out", ["severity", "root", "affects", "because"])
def test_a_failure_of_unknown_weight_is_a_fault_of_ours(left_out: str) -> None:
    def off() -> Examination:
        low = {1: {"A": HALF, "B": HALF}}
        return compare("AB", (HALF, HALF), low, {**low, 2: {"[A,B]": Fraction(1, 8)}}, 2)

    assert check_formula(Formula("chen2015/planted", off, HEAVY)).severity == "local"
    with pytest.raises(UnconfirmedError, match=f"not said: {left_out}"):
        check_formula(Formula("chen2015/planted", off, replace(HEAVY, **{left_out: ""})))


@pytest.mark.parametrize("paper", ["awsgld", "chen2015", "vr-resgld"])
def test_every_row_has_its_computation_and_every_computation_its_row(paper: str) -> None:
    assert {f"{paper}/{name}" for name in rows(paper)} == {formula.id for formula in formulas(paper)}


def test_rows_of_one_error_name_one_root_and_a_root_of_one_paper() -> None:
    roots = {row.root for paper in ("awsgld", "chen2015", "vr-resgld") for row in rows(paper).values()} - {""}
    ids = {formula.id for formula in formulas()}
    shared = roots - ids
    assert shared == {
        "awsgld/square-root-of-k", "chen2015/fresh-gradient-noise", "chen2015/lemma-13-commutator", "chen2015/logarithm",
        "chen2015/mean-flow-commutators", "chen2015/remainder-in-time", "chen2015/second-derivatives",
        "vr-resgld/correction-factor", "vr-resgld/two-replicas",
    }  # fmt: skip


def test_a_paper_names_all_its_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgverify.papers.formula.formulas", lambda paper=None: PRODUCTS[:3])
    assert [formula.id for formula in check_errata(["chen2015"])] == [formula.id for formula in PRODUCTS[:3]]
    with pytest.raises(UnknownNameError, match="chen2015"):
        check_errata(["chen2016"])
