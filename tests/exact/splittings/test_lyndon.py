"""Lyndon words and bracketings against their definitions; elements that are no Lie elements are refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import divisors
from sympy.functions.combinatorial.numbers import mobius

from sgverify.errors import SgverifyError
from sgverify.exact.splittings.lyndon import (
    NotALieElementError,
    commutator,
    expand,
    is_lyndon,
    lyndon_coefficients,
    lyndon_words,
    standard_factorization,
)
from tests.tables import each_row

CASES = [("A", 4), ("AB", 8), ("ABC", 5), ("ABCD", 4)]
ALL_WORDS = [
    word for letters, highest in CASES for d in range(1, highest + 1) for word in lyndon_words(letters, d)
]


def bracket(left: dict[str, Fraction], right: dict[str, Fraction]) -> dict[str, Fraction]:
    """[left, right] in associative words, written without the package."""
    total: dict[str, Fraction] = {}
    for u, p in left.items():
        for v, q in right.items():
            total[u + v] = total.get(u + v, Fraction(0)) + p * q
            total[v + u] = total.get(v + u, Fraction(0)) - p * q
    return {word: value for word, value in total.items() if value}


@pytest.mark.parametrize(("letters", "highest"), CASES)
def test_lyndon_words_are_the_words_smaller_than_all_their_rotations(letters: str, highest: int) -> None:
    for degree in range(1, highest + 1):
        words = ["".join(word) for word in product(letters, repeat=degree)]
        smallest = [w for w in words if all(w < w[i:] + w[:i] for i in range(1, degree))]
        assert list(lyndon_words(letters, degree)) == smallest  # the order of the dictionary included
        assert [w for w in words if is_lyndon(w)] == smallest


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_number_of_lyndon_words_is_witts(size: int) -> None:
    for degree in range(1, 8):
        witt = Fraction(sum(int(mobius(d)) * size ** (degree // d) for d in divisors(degree)), degree)
        assert len(lyndon_words("ABCD"[:size], degree)) == witt


def test_letters_may_come_in_any_order_and_twice() -> None:
    assert lyndon_words("BAB", 3) == lyndon_words("AB", 3)


def test_there_are_no_lyndon_words_without_letters_or_degree() -> None:
    assert lyndon_words("", 3) == lyndon_words("AB", 0) == ()


@each_row("word", [word for word in ALL_WORDS if len(word) > 1])
def test_the_second_standard_factor_is_the_longest_proper_lyndon_suffix(word: str) -> None:
    longest = next(word[i:] for i in range(1, len(word)) if word[i:] in ALL_WORDS)
    assert standard_factorization(word) == (word.removesuffix(longest), longest)
    assert word.removesuffix(longest) in ALL_WORDS


@each_row("word", ["", "A", "BA", "AA", "ABAB"])
def test_only_lyndon_words_have_a_standard_factorization(word: str) -> None:
    with pytest.raises(SgverifyError, match="expected a Lyndon word"):
        standard_factorization(word)


@each_row(
    ("word", "text"),
    [("A", "A"), ("AAB", "[A,[A,B]]"), ("ABB", "[[A,B],B]"), ("ABC", "[A,[B,C]]"), ("ACB", "[[A,C],B]")],
)
def test_commutators_as_printed(word: str, text: str) -> None:
    assert commutator(word) == text


@each_row("word", ALL_WORDS)
def test_a_bracketing_expands_to_its_lyndon_word_plus_greater_ones(word: str) -> None:
    by_recursion = {word: Fraction(1)}
    if len(word) > 1:
        left, right = (expand({factor: Fraction(1)}) for factor in standard_factorization(word))
        by_recursion = bracket(left, right)
    expansion = expand({commutator(word): Fraction(1)})
    assert expansion == by_recursion
    assert min(expansion) == word
    assert expansion[word] == 1


fractions = st.fractions(min_value=-3, max_value=3, max_denominator=12)


@pytest.mark.power  # 0.5 s
@given(st.dictionaries(st.sampled_from(ALL_WORDS).map(commutator), fractions.filter(bool), max_size=8))
def test_coefficients_in_the_basis_survive_the_way_through_associative_words(
    found: dict[str, Fraction],
) -> None:
    assert lyndon_coefficients(expand(found)) == found


def test_jacobi() -> None:
    a, b, c = ({letter: Fraction(1)} for letter in "ABC")
    cyclic = [bracket(a, bracket(b, c)), bracket(b, bracket(c, a)), bracket(c, bracket(a, b))]
    total: dict[str, Fraction] = {}
    for term in cyclic:
        for commuted, value in lyndon_coefficients(term).items():
            total[commuted] = total.get(commuted, Fraction(0)) + value
    assert set(total.values()) == {0}


@each_row(
    "element",
    [
        {"AB": 1},
        {"AA": 1},
        {"BA": 1},
        {"AB": 1, "BA": 1},
        {"AAB": 1, "ABA": -2, "BAA": 1, "BBA": Fraction(1, 7)},
        {"": 1},
    ],
)
def test_an_element_that_is_no_lie_element_is_refused(element: dict[str, Fraction]) -> None:
    with pytest.raises(NotALieElementError, match="not a Lie element"):
        lyndon_coefficients({word: Fraction(value) for word, value in element.items()})


@each_row("text", ["[B,A]", "[A,[B,A]]", "BA", "[[A,A],B]", "", "[A,B"])
def test_a_commutator_outside_the_basis_is_refused(text: str) -> None:
    with pytest.raises(SgverifyError, match="not in the Lyndon basis"):
        expand({text: Fraction(1)})
