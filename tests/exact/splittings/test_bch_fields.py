"""Words of higher order over number fields and over the rationals; printed decimals, which refute and never prove."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from sgverify.errors import DefinitionError
from sgverify.exact.splittings.bch import bch, bch_series, first_even_degree
from sgverify.exact.splittings.lyndon import expand, lyndon_coefficients, lyndon_table
from sgverify.exact.splittings.order_conditions import defect_of
from sgverify.schemes.compositions import lengths_of
from sgverify.schemes.numbers.algebraic import Algebraic
from sgverify.schemes.numbers.rounded import Rounded
from tests.exact.splittings.words import as_operator_words

HALF = Fraction(1, 2)


def joined(base: str, copies: int) -> str:
    return base + base[1:] * (copies - 1)


def compose(scales: Sequence[Any], base: str = "ABA") -> tuple[str, list[Any]]:
    """Steps of the word `base` of the given lengths, one after the other, with equal shares."""
    shares = bch(base).coefficients
    return base * len(scales), [share * scale for scale in scales for share in shares]


# --- proofs

COMPOSED = {"yoshida4": 3, "suzuki4": 5}


@pytest.mark.parametrize("base", ["ABA", "BAB", "ABCBA"])
@pytest.mark.parametrize("name", sorted(COMPOSED))
def test_fourth_order_words_are_proved_fourth_order(name: str, base: str) -> None:
    result = bch(joined(base, COMPOSED[name]), name)
    assert (result.order, result.degree, result.proved, result.symmetric) == (4, 5, True, True)
    assert all(isinstance(term.coefficient, Algebraic) for term in result.leading)
    spelt = bch(base * COMPOSED[name], name)
    assert spelt.leading == result.leading


def test_the_text_of_the_papers_does_as_well() -> None:
    w, v = "1/(2-2^(1/3))", "-2^(1/3)/(2-2^(1/3))"
    text = f"{w}/2, {w}, ({w}+{v})/2, {v}, ({w}+{v})/2, {w}, {w}/2"
    assert bch("ABABABA", text) == bch("ABABABA", "yoshida4")


def test_a_cube_root_that_is_a_little_off_has_order_two() -> None:
    """The planted error: the cube root of 2 + 1e-12 for that of 2."""
    w = "(1/(2-root(100000x^3-200001, 1.26)))"
    text = f"{w}/2,{w},(1-{w})/2,1-2*{w},(1-{w})/2,{w},{w}/2"
    assert bch("ABABABA", text).order == 2
    assert bch("ABABABA", text.replace("200001", "200000")).order == 4


def test_sixth_order_is_proved_too() -> None:
    result = bch(joined("ABA", 9), "yoshida6")
    assert (result.order, result.proved, len(result.leading)) == (6, True, 18)


def test_lengths_sum_to_one_and_their_powers_to_zero() -> None:
    for name, outer in (("yoshida4", 3), ("suzuki4", 5)):
        lengths = lengths_of(name)
        assert len(lengths) == outer and sum(lengths, Fraction(0)) == 1
        assert sum((length**3 for length in lengths), Fraction(0)) == 0
    assert sum(lengths_of("yoshida6"), Fraction(0)) == 1


def test_mclachlan_minimises_the_error_of_the_three_stage_word() -> None:
    """Omelyan, Mryglod and Folk 2002 and McLachlan 1995 at the root of 48x^3 - 72x^2 + 38x - 5: of ABABA with
    A = l, 1 - 2l, l and B = 1/2, 1/2 the sum of squares of both leading coefficients is stationary there.
    """

    def errors(l: str) -> list[Any]:
        result = bch("ABABA", f"{l},1/2,1-2*{l},1/2,{l}")
        assert result.order == 2
        return [term.coefficient for term in result.leading]

    best = [float(e) for e in errors("root(48x^3-72x^2+38x-5, 0.19)")]
    around = [
        [float(e) for e in errors(str(Fraction(1931833275, 10**10) + Fraction(step, 10**4)))]
        for step in (-5, 5)
    ]
    assert all(np.hypot(*best) < np.hypot(*other) for other in around)


# 3^3 + 4^3 + 5^3 = 6^3; Lander and Parkin 1966; Borwein, Lisonek and Percival 2003. All sums of lengths are 1.
CUBES = [Fraction(n, 6) for n in (3, 4, 5, -6)]
FIFTH = [Fraction(n, 210) for n in (27, 84, 110, 133, -144)]
SEVENTH = [Fraction(n, 1890) for n in (127, 258, 266, 413, 430, 439, 525, -568)]


def mirrored(scales: Sequence[Fraction]) -> list[Fraction]:
    return [scale / 2 for scale in (*scales, *scales[::-1])]


FOURTH_ORDER = mirrored(CUBES)
SIXTH_ORDER = [a * b for a in mirrored(FIFTH) for b in FOURTH_ORDER]


def test_rational_words_reach_order_six_and_seven() -> None:
    """The degree-8 verdict on a word that was built to reach it: 1281 factors, no error before degree 8."""
    six = bch(*compose(SIXTH_ORDER))
    assert (six.order, six.symmetric, six.degree) == (6, True, 7)
    seven = bch(*compose([a * b for a in SEVENTH for b in SIXTH_ORDER]))
    assert (seven.order, seven.symmetric, seven.degree) == (7, False, 8)


def test_one_length_a_little_off_is_seen_at_once() -> None:
    wrong = [a * b for a in SEVENTH for b in SIXTH_ORDER]
    shift = Fraction(1, 10**30)
    wrong[0], wrong[1] = wrong[0] + shift, wrong[1] - shift
    assert bch(*compose(wrong)).order == 2


# --- the short cut against the whole product, and against floating point of 50 digits


@pytest.mark.parametrize(
    ("word", "coefficients"),
    [
        ("ABC", None),
        ("CABCA", None),
        ("ABABABA", "yoshida4"),
        ("ABAB", "sqrt(2),1-sqrt(3),1-sqrt(2),sqrt(3)"),
        ("ABA", "root(x^3-3x+1, 0.3),1,1-root(x^3-3x+1, 0.3)"),
        ("BAAB", "10000000001/10000000000,1/3,2/3,-1/10000000000"),
    ],
)
def test_lyndon_words_say_what_the_logarithm_says(word: str, coefficients: str | None) -> None:
    result = bch(word, coefficients)
    series = bch_series(word, coefficients, result.degree)
    if result.degree > 1:
        assert series[1] == dict.fromkeys(result.letters, 1)
    assert all(not series[d] for d in range(2, result.degree))
    assert {term.commutator: term.coefficient for term in result.leading} == series[result.degree]


@pytest.mark.parametrize(
    ("word", "name", "degree"), [("ABABABA", "yoshida4", 5), ("ABABABABABA", "suzuki4", 5)]
)
def test_leading_errors_agree_with_fifty_digits(word: str, name: str, degree: int) -> None:
    """Brute force without the package: coefficients of words by recursion in mpmath, then against the expansion."""
    result = bch(word, name)
    with mpmath.workdps(50):
        shares = []
        for c in result.coefficients:
            low, high = c.enclosure(200) if isinstance(c, Algebraic) else (c, c)
            shares.append(mpmath.mpf((low + high).numerator) / (low + high).denominator / 2)

        def coefficient(text: str, at: int) -> Any:
            if at == len(word):
                return mpmath.mpf(not text)
            total, power, n = mpmath.mpf(0), mpmath.mpf(1), 0
            while True:
                total += power / mpmath.factorial(n) * coefficient(text[n:], at + 1)
                if n == len(text) or text[n] != word[at]:
                    return total
                power, n = power * shares[at], n + 1

        for text, exact in as_operator_words(result).items():
            left = coefficient(text, 0) - 1 / mpmath.factorial(degree)
            value = exact.enclosure(200)[0] if isinstance(exact, Algebraic) else exact
            assert abs(left - mpmath.mpf(value.numerator) / value.denominator) < mpmath.mpf(10) ** -45


def test_machine_integers_and_pythons_agree() -> None:
    """The same word with small denominators and, mirrored in a large common one, beyond 2^62."""
    small = [HALF, Fraction(1, 3), HALF, Fraction(2, 3)]
    large = [*small[:2], HALF - Fraction(1, 10**9), *small[3:], Fraction(1, 10**9)]
    plain = defect_of("ABAB", small, 6)
    assert plain == defect_of("ABABA", [*small, Fraction(0)], 6)
    exact = bch_series("ABABA", large, 3)
    assert {t.commutator: t.coefficient for t in bch("ABABA", large).leading} == exact[2]


def test_the_table_holds_every_prefix_of_every_lyndon_word_once() -> None:
    table = lyndon_table("ABC", 8)
    prefixes = {word[:n] for word in table.words for n in range(9)}
    assert (len(table.words), table.size) == (810, len(prefixes))
    ends = {letter: len(ending.targets) for letter, ending in table.endings.items()}
    assert ends == {letter: sum(p.endswith(letter) for p in prefixes) for letter in "ABC"}


def test_a_wrong_lyndon_coefficient_is_no_lie_element_or_another_one() -> None:
    """Planted: one coefficient of the leading error of ABC changed; the whole product does not have it."""
    result = bch("ABC")
    words = as_operator_words(result)
    wrong = {t.commutator: t.coefficient for t in result.leading}
    wrong["[A,C]"] += Fraction(1, 7)
    assert expand(wrong) != words and lyndon_coefficients(words) != wrong
    assert bch("ACB").leading != result.leading  # and another order of the letters has other signs


# --- time symmetry


def test_z_is_odd_exactly_for_palindromes() -> None:
    assert first_even_degree("ABABABA", "yoshida4", 6) is None
    assert first_even_degree("ABABABA", "1/4,1/2,1/4,0,1/4,1/2,1/4") is None
    assert first_even_degree("ABAB") == 2
    assert first_even_degree("ABABA", "1/4,1/2,1/2,1/2,1/4") is None
    # Order 3 but not symmetric: the error of degree 4 is the first even part.
    assert first_even_degree(*compose(CUBES)) == 4


@pytest.mark.parametrize("coefficients", ["1/3,1/2,1/3,1/2,1/3", "1/6,1/2,1/3,1/2,1/2", "1,1/2,0,1/2,0"])
def test_the_first_even_degree_is_that_of_the_logarithm(coefficients: str) -> None:
    series = bch_series("ABABA", coefficients, 6)
    even = next((d for d in (2, 4, 6) if series[d]), None)
    assert first_even_degree("ABABA", coefficients, 6) == even


# --- printed decimals

# Yoshida 1990, solution A of order 6, as printed; w0 = 1 - 2(w1 + w2 + w3).
W1, W2, W3 = "-1.17767998417887", "0.235573213359357", "0.784513610477560"


def solution_a(mark: str, w3: str = W3) -> list[str]:
    outer = [f"{mark}{w}" for w in (w3, W2, W1)]
    lengths = [*outer, f"(1-2*({'+'.join(outer)}))", *outer[::-1]]
    shares = [f"{lengths[0]}/2"]
    for length, following in zip(lengths, [*lengths[1:], "0"], strict=True):
        shares += [length, f"{length}/2+{following}/2"]
    return shares


def test_printed_decimals_are_not_refuted_where_the_true_numbers_have_the_order() -> None:
    result = bch("AB" * 7 + "A", solution_a("~"))
    assert (result.order, result.proved, result.degree, result.symmetric) == (6, False, 7, True)
    assert "order 7 is refuted" in result.reason and "consistent with" in result.reason
    assert all(
        isinstance(t.coefficient, Rounded) and not t.coefficient.low <= 0 <= t.coefficient.high
        for t in result.leading
    )
    through_six = bch("AB" * 7 + "A", solution_a("~"), 6)
    assert (through_six.order, through_six.proved, through_six.leading) == (6, False, ())
    assert through_six.reason.startswith("the decimals are consistent with the conditions through degree 6")
    assert through_six.reason.endswith("no higher degree was examined")


def test_blanes_and_moans_six_stage_word_is_not_refuted_as_fourth_order() -> None:
    """Blanes and Moan 2002, table 2, S6 of order 4, as printed; a digit changed is seen."""
    a, b = (
        ("0.0792036964311957", "0.353172906049774", "-0.0420650803577195"),
        ("0.209515106613362", "-0.143851773179818"),
    )

    def shares(b1: str) -> list[str]:
        first = [f"~{a[0]}", f"~{b1}", f"~{a[1]}", f"~{b[1]}", f"~{a[2]}", f"1/2-(~{b1}+~{b[1]})"]
        return [*first, f"1-2*(~{a[0]}+~{a[1]}+~{a[2]})", *first[::-1]]

    result = bch("ABABABABABABA", shares(b[0]))
    assert (result.order, result.proved, result.symmetric) == (4, False, True)
    assert "order 5 is refuted" in result.reason
    assert bch("ABABABABABABA", shares("0.209515116613362")).order == 2


def test_the_same_decimals_read_exactly_have_order_two() -> None:
    result = bch("AB" * 7 + "A", solution_a(""))
    assert (result.order, result.proved) == (2, True)
    assert max(abs(float(t.coefficient)) for t in result.leading) < 1e-13


def test_a_wrong_digit_is_refuted() -> None:
    """Planted: 0.7845136... printed as 0.7845137...."""
    result = bch("AB" * 7 + "A", solution_a("~", "0.784513710477560"))
    assert (result.order, result.proved) == (2, False)
    assert "order 3 is refuted" in result.reason


def test_marking_all_decimals_is_marking_each() -> None:
    assert bch("ABA", "0.5,1,0.5", decimals="rounded") == bch("ABA", "~0.5,1,~0.5")
    assert bch("ABA", "0.5,1,0.5") == bch("ABA")


def test_decimals_whose_sums_cannot_be_one_are_inconsistent() -> None:
    result = bch("ABA", "~0.51,1,~0.51")
    assert (result.order, result.proved, result.consistent) == (0, True, False)
    assert "sum to 1.02 +/- 1.0e-02" in result.reason


def test_every_member_of_the_intervals_lies_in_the_enclosure() -> None:
    enclosed = {t.commutator: t.coefficient for t in bch("ABA", "~0.50,1,~0.50", 3).leading}
    for share in (Fraction(495, 1000), HALF, Fraction(5031, 10000)):
        series = bch_series("ABA", (share, 1, 1 - share), 3)
        for text, interval in enclosed.items():
            if share == HALF:
                assert interval.low <= series[3][text] <= interval.high
        # Where the order is 1 the first commutator lies in what was not refuted: at most 1 % of a share.
        assert abs(series[2].get("[A,B]", 0)) <= Fraction(1, 100)


def test_printed_decimals_have_no_generator() -> None:
    with pytest.raises(DefinitionError, match="printed decimals have no exact generator"):
        bch_series("ABA", "~0.5,1,~0.5")
    with pytest.raises(DefinitionError, match="printed decimals have no exact generator"):
        first_even_degree("ABA", "~0.5,1,~0.5")


@pytest.mark.parametrize(
    ("word", "name"), [("ABA", "yoshida4"), ("ABABABB", "yoshida4"), ("ABABABA", "suzuki4")]
)
def test_a_composition_of_another_word_is_refused(word: str, name: str) -> None:
    with pytest.raises(DefinitionError, match="copies of one palindrome"):
        bch(word, name)
