"""BCH on words that need care, and on words and coefficients that are given in unusual or in wrong ways."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
import sympy

from sgverify.errors import ConfigurationError, DefinitionError
from sgverify.exact.splittings.bch import bch, bch_series
from tests.exact.splittings.words import as_operator_words
from tests.tables import each_row

# --- words that need care


@pytest.mark.parametrize("word", ["A", "AA", "ZZZZZ"])
def test_one_letter_is_exact(word: str) -> None:
    result = bch(word)
    assert (result.order, result.leading, result.degree) == (None, (), 8)
    assert not result.order_is_lower_bound
    assert "exact at every degree" in result.reason
    assert as_operator_words(result) == {}


def test_an_order_beyond_the_degree_is_a_lower_bound() -> None:
    result = bch("ABA", degree=2)
    assert (result.order, result.leading, result.degree) == (2, (), 2)
    assert result.order_is_lower_bound
    assert "at least 2" in result.reason
    assert not bch("ABA", degree=3).order_is_lower_bound


def test_neighbours_and_zeros_change_nothing() -> None:
    plain, spelt = bch("ABA"), bch("AABCBA", "1/4,1/4,1/3,0,2/3,1/2")
    assert spelt.order == 0  # C does not move at all
    spelt = bch("AABABA", "1/4,1/4,1/3,0,2/3,1/2")
    assert spelt.leading == plain.leading
    assert spelt.symmetric
    assert not bch("AABABA", "1/4,1/4,1/3,1/8,2/3,3/8").symmetric


def test_merging_reaches_factors_that_meet_late() -> None:
    assert bch("ABBA", "1/2,1,-1,1/2").symmetric
    assert bch_series("ABBA", "1/2,1,-1,1/2", 3) == {1: {"A": 1}, 2: {}, 3: {}}


def test_the_series_of_a_large_alphabet() -> None:
    result = bch("ABCDEFGH")
    assert {t.commutator: t.coefficient for t in result.leading} == {
        f"[{u},{v}]": Fraction(1, 2) for u in "ABCDEFGH" for v in "ABCDEFGH" if u < v
    }


def test_degree_eight_with_three_letters_is_complete() -> None:
    """A long word through degree 8: palindromic, so the even degrees are empty and the odd ones are not."""
    series = bch_series("ABCBACABCBACABCBACABCBA", degree=8)
    assert sorted(series) == list(range(1, 9))
    assert [d for d, part in series.items() if part] == [1, 3, 5, 7]
    assert series[1] == {"A": 1, "B": 1, "C": 1}


# --- coefficients as they are given


@each_row(
    "coefficients",
    [
        "1/2,1,1/2",
        "0.5, 1 ,.5",
        "5e-1,+1.,0.50",
        (0.5, 1, "1/2"),
        [Fraction(1, 2), "1", 0.5],
        (sympy.Rational(1, 2), 1, sympy.S.Half),
    ],
)
def test_ways_to_write_the_coefficients(coefficients: Sequence[Fraction] | str) -> None:
    assert bch("ABA", coefficients) == bch("ABA")


def test_decimals_are_read_exactly() -> None:
    assert bch("ABA", (0.1, 1, "0.9")).coefficients == (Fraction(1, 10), 1, Fraction(9, 10))
    assert bch("ABA", (0.1, 1, "0.9")).consistent


@each_row("word", ["", "aba", "A B", "AB1", "ÄB", "AB\n", "A,B", 7, None, b"AB"])
def test_a_malformed_word(word: str) -> None:
    with pytest.raises(DefinitionError, match=r"word=.* is malformed: expected .*; write it"):
        bch(word)
    with pytest.raises(DefinitionError):
        bch_series(word)


def test_too_many_letters() -> None:
    with pytest.raises(DefinitionError, match="9 distinct letters: expected at most 8"):
        bch("ABCDEFGHI")


@pytest.mark.parametrize(("coefficients", "count"), [((), 0), ("1/2,1", 2), ((1, 1, 1, 1), 4)])
def test_a_wrong_number_of_coefficients(coefficients: Sequence[Fraction] | str, count: int) -> None:
    with pytest.raises(DefinitionError, match=f"has {count} entries: expected 3, one for"):
        bch("ABA", coefficients)


@each_row(
    "value",
    [
        *("x", "", "1/0", "1 2", "(1", "nan", "inf", "1_0", "1e999999999", "2^2^9", "__import__('os')"),
        *(float("nan"), float("inf"), True, None, 1j, sympy.sqrt(2)),
        pytest.param("9" * 5000, id="more digits than Python reads"),
    ],
)
def test_a_coefficient_that_is_no_exact_number(value: Fraction) -> None:
    with pytest.raises(DefinitionError, match=r"is not an exact number: expected .*; write"):
        bch("ABA", ("1/2", value, "1/2"))


@pytest.mark.parametrize("coefficients", [1, 0.5, {"A": 1}, iter("11")])
def test_coefficients_that_are_no_sequence(coefficients: Sequence[Fraction]) -> None:
    with pytest.raises(DefinitionError, match=r"is not a sequence: expected .*; give"):
        bch("AB", coefficients)


@each_row("degree", [0, -1, 2.0, True, "3", 17, 10**9])
def test_a_degree_out_of_range(degree: int) -> None:
    with pytest.raises(ConfigurationError, match="expected an integer from 1 to 16 for a word"):
        bch("AB", degree=degree)
    with pytest.raises(ConfigurationError):
        bch_series("AB", degree=degree)


def test_the_default_degree_shrinks_with_the_alphabet() -> None:
    assert bch_series("AB").keys() == set(range(1, 9))
    assert max(bch_series("ABCDEFGH")) == 5
