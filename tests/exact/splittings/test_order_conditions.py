"""Order conditions against the textbook's, against the verdict of `bch`, and against Witt's count."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from sgverify.errors import ConfigurationError, DefinitionError
from sgverify.exact.splittings.bch import bch
from sgverify.exact.splittings.order_conditions import order_conditions

unhurried = settings(deadline=None, max_examples=30)


def test_the_conditions_of_a_general_two_flow_word_through_degree_three() -> None:
    """By hand: the coefficient of a word in a product of exponentials sums over the ways to read it off."""
    a1, b1, a2, b2, a3 = sympy.symbols("a1 b1 a2 b2 a3")
    expected = {
        "A": a1 + a2 + a3 - 1,
        "B": b1 + b2 - 1,
        "AB": a1 * (b1 + b2) + a2 * b2 - sympy.Rational(1, 2),
        "AAB": a1**2 / 2 * (b1 + b2) + a1 * a2 * b2 + a2**2 / 2 * b2 - sympy.Rational(1, 6),
        "ABB": a1 * (b1 + b2) ** 2 / 2 + a2 * b2**2 / 2 - sympy.Rational(1, 6),
    }
    found = order_conditions("ABABA")
    assert [c.word for c in found] == list(expected)
    for condition in found:
        ours = condition.residual(a1, b1, a2, b2, a3)
        assert sympy.expand(ours - expected[condition.word]) == 0
        left, right = str(condition).split("=")
        assert sympy.expand(sympy.sympify(left) - sympy.Rational(right) - expected[condition.word]) == 0


@unhurried
@given(
    st.text("AB", min_size=2, max_size=6).filter(lambda text: len(set(text)) == 2),
    st.data(),
)
def test_conditions_hold_exactly_through_the_order(word: str, data: st.DataObject) -> None:
    shares = data.draw(
        st.lists(st.fractions(-2, 2, max_denominator=6), min_size=len(word), max_size=len(word))
    )
    if data.draw(st.booleans()):
        for letter in "AB":  # consistent ones, so that higher degrees come into play
            others = [i for i, x in enumerate(word) if x == letter]
            shares[others[0]] = 1 - sum(shares[i] for i in others[1:])
    order = bch(word, shares, 4).order
    assert order is not None
    residuals = [(c.degree, c.residual(*shares)) for c in order_conditions(word, 4)]
    assert all(not value for degree, value in residuals if degree <= order)
    assert order == 4 or any(value for degree, value in residuals if degree == order + 1)


def test_yoshidas_numbers_solve_the_symmetric_conditions_and_fail_the_next() -> None:
    shares = bch("ABABABA", "yoshida4").coefficients
    found = order_conditions("ABABABA", 5, symmetric=True)
    assert found[0].unknowns == ("a1", "b1", "a2", "b2")
    residuals = {c.word: c.residual(*shares[:4]) for c in found}
    assert {len(word) for word, value in residuals.items() if value} == {5}
    assert set(residuals) == {
        *("A", "B", "AAB", "ABB"),
        *("AAAAB", "AAABB", "AABAB", "AABBB", "ABABB", "ABBBB"),
    }
    # Planted: the conditions see a coefficient that is a millionth off.
    wrong = [shares[0] + Fraction(1, 10**6), *shares[1:4]]
    assert any(c.residual(*wrong) for c in found if c.degree == 1)


def test_there_are_as_many_conditions_as_lyndon_words() -> None:
    counts = [sum(c.degree == d for c in order_conditions("ABCBA", 4)) for d in range(1, 5)]
    assert counts == [3, 3, 8, 18]


def test_what_has_no_conditions() -> None:
    with pytest.raises(DefinitionError, match="is no palindrome"):
        order_conditions("ABAB", symmetric=True)
    with pytest.raises(ConfigurationError, match="expected at most 20000; lower the degree"):
        order_conditions("AB" * 20, 6)
    with pytest.raises(DefinitionError, match="2 numbers for 3 unknowns"):
        order_conditions("ABA")[0].residual(1, 1)
