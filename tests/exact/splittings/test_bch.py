"""BCH against the published series, brute force in sympy, nilpotent matrices and the theory of splittings."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import factorial

import flint
import pytest
import sympy
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sgverify.exact.splittings.bch import bch, bch_series
from sgverify.exact.splittings.lyndon import expand
from tests.exact.splittings.words import as_operator_words
from tests.tables import each_row

weights = st.fractions(min_value=-3, max_value=3, max_denominator=12)
# Exact arithmetic on a busy machine has no fair time limit for one example.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def splittings(
    draw: st.DrawFn, palindromic: bool = False, consistent: bool = True
) -> tuple[str, tuple[Fraction, ...]]:
    """Words of 1 to 4 letters with rational coefficients, negative ones included."""
    half = draw(st.text("ABCD", min_size=1, max_size=4 if palindromic else 7))
    shares = draw(st.lists(weights, min_size=len(half), max_size=len(half)))
    if palindromic:
        odd = draw(st.booleans())
        half, shares = half + half[::-1][odd:], shares + shares[::-1][odd:]
    totals = {
        letter: sum(s for x, s in zip(half, shares, strict=True) if x == letter) for letter in set(half)
    }
    if consistent:
        assume(all(totals.values()))
        shares = [share / totals[letter] for letter, share in zip(half, shares, strict=True)]
    return half, tuple(shares)


def nested(text: str) -> dict[str, int]:
    """The right-nested commutator [x1,[x2,[...,xn]]] in associative words, without the package."""
    if len(text) == 1:
        return {text: 1}
    inner = nested(text[1:])
    total: dict[str, int] = {}
    for word, value in inner.items():
        total[text[0] + word] = total.get(text[0] + word, 0) + value
        total[word + text[0]] = total.get(word + text[0], 0) - value
    return total


def without_zeros(element: dict[str, Fraction]) -> dict[str, Fraction]:
    return {word: value for word, value in element.items() if value}


# --- published series

# log(exp(A) exp(B)) through degree 5 in right-nested commutators, as textbooks print it: "AAB" is [A,[A,B]].
PUBLISHED = {
    1: {"A": "1", "B": "1"},
    2: {"AB": "1/2"},
    3: {"AAB": "1/12", "BBA": "1/12"},
    4: {"BAAB": "-1/24"},
    5: {
        **{"BBBBA": "-1/720", "AAAAB": "-1/720", "ABBBA": "1/360", "BAAAB": "1/360"},
        **{"BABAB": "1/120", "ABABA": "1/120"},
    },
}


@each_row("degree", sorted(PUBLISHED))
def test_the_classical_series(degree: int) -> None:
    published: dict[str, Fraction] = {}
    for text, coefficient in PUBLISHED[degree].items():
        for word, value in nested(text).items():
            published[word] = published.get(word, Fraction(0)) + Fraction(coefficient) * value
    assert expand(bch_series("AB", degree=5)[degree]) == without_zeros(published)


def test_strang() -> None:
    result = bch("ABA")
    terms = {term.commutator: term.coefficient for term in result.leading}
    assert terms == {"[A,[A,B]]": Fraction(-1, 24), "[[A,B],B]": Fraction(1, 12)}
    assert (result.order, result.degree, result.symmetric, result.consistent) == (2, 3, True, True)
    assert result.coefficients == (Fraction(1, 2), 1, Fraction(1, 2))


def test_lie_trotter() -> None:
    result = bch("AB")
    assert [(term.commutator, term.coefficient) for term in result.leading] == [("[A,B]", Fraction(1, 2))]
    assert (result.order, result.symmetric, result.letters) == (1, False, ("A", "B"))
    assert as_operator_words(result) == {"AB": Fraction(1, 2), "BA": Fraction(-1, 2)}


# --- brute force in sympy


def by_sympy(word: str, coefficients: Sequence[Fraction], degree: int) -> dict[int, dict[str, Fraction]]:
    """log of the product in noncommuting sympy symbols, truncated by the degree of each monomial."""
    symbols = {letter: sympy.Symbol(letter, commutative=False) for letter in word}

    def terms(expression: sympy.Expr) -> dict[str, sympy.Rational]:
        found: dict[str, sympy.Rational] = {}
        for term in sympy.Add.make_args(sympy.expand(expression)):
            scalar, factors = term.args_cnc()
            text = "".join(str(f.as_base_exp()[0]) * int(f.as_base_exp()[1]) for f in factors)
            if len(text) <= degree:
                found[text] = found.get(text, sympy.Integer(0)) + sympy.Mul(*scalar)
        return found

    def truncated(expression: sympy.Expr) -> sympy.Expr:
        parts = (value * sympy.Mul(*(symbols[x] for x in text)) for text, value in terms(expression).items())
        return sympy.Add(*parts)

    result: sympy.Expr = sympy.Integer(1)
    for letter, c in zip(word, coefficients, strict=True):
        x = sympy.Rational(c.numerator, c.denominator) * symbols[letter]
        result = truncated(result * sympy.Add(*(x**n / sympy.factorial(n) for n in range(degree + 1))))
    logarithm, power = sympy.Integer(0), sympy.Integer(1)
    for n in range(1, degree + 1):
        power = truncated(power * (result - 1))
        logarithm += sympy.Rational((-1) ** (n + 1), n) * power
    by_degree: dict[int, dict[str, Fraction]] = {d: {} for d in range(degree + 1)}
    for text, value in terms(logarithm).items():
        if value:
            by_degree[len(text)][text] = Fraction(int(value.p), int(value.q))
    return by_degree


@pytest.mark.by_default("BABB-1/2,1,1/4,1/4-3", "ABC-1,1,1-3")
@pytest.mark.parametrize(
    ("word", "coefficients", "degree"),
    [
        ("AB", "1,1", 5),
        ("ABA", "1/3,-2/7,5", 4),
        ("BABB", "1/2,1,1/4,1/4", 3),
        ("ABC", "1,1,1", 3),
        ("CABA", "1,-1/2,0.25,3/2", 3),
        ("ADCB", "1,1,1,1", 3),
    ],
)
def test_brute_force(word: str, coefficients: str, degree: int) -> None:
    exact = [Fraction(c) for c in coefficients.split(",")]
    brute = by_sympy(word, exact, degree)
    for d, part in bch_series(word, coefficients, degree).items():
        assert expand(part) == brute[d]


# --- matrices


def evaluate(text: str, matrices: dict[str, flint.fmpq_mat]) -> flint.fmpq_mat:
    """The commutator written as `text`, of matrices."""
    if len(text) == 1:
        return matrices[text]
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 1:
            left, right = evaluate(text[1:i], matrices), evaluate(text[i + 1 : -1], matrices)
            return left * right - right * left
    raise AssertionError(text)


def rational(value: Fraction) -> flint.fmpq:
    return flint.fmpq(value.numerator, value.denominator)


@unhurried
@given(splittings(consistent=False), st.data())
def test_nilpotent_matrices(splitting: tuple[str, tuple[Fraction, ...]], data: st.DataObject) -> None:
    """Strictly upper triangular 5 x 5 matrices: products of 5 vanish, so exp, log and Z end at degree 4."""
    word, coefficients = splitting
    size, entries = 5, st.lists(st.integers(-3, 3), min_size=10, max_size=10)
    matrices = {}
    for letter in sorted(set(word)):
        numbers = iter(data.draw(entries))
        rows = [[next(numbers) if j > i else 0 for j in range(size)] for i in range(size)]
        matrices[letter] = flint.fmpq_mat(flint.fmpz_mat(rows))
    one = flint.fmpq_mat(flint.fmpz_mat([[int(i == j) for j in range(size)] for i in range(size)]))
    step = one
    for letter, c in zip(word, coefficients, strict=True):
        flow, power = one, one
        for n in range(1, size):
            power = power * (matrices[letter] * rational(c))
            flow = flow + power * flint.fmpq(1, factorial(n))
        step = step * flow
    logarithm, power = one - one, one
    for n in range(1, size):
        power = power * (step - one)
        logarithm = logarithm + power * flint.fmpq((-1) ** (n + 1), n)
    total = one - one
    for part in bch_series(word, coefficients, degree=size - 1).values():
        for text, coefficient in part.items():
            total = total + evaluate(text, matrices) * rational(coefficient)
    assert total == logarithm


# --- properties of every word


@unhurried
@given(st.one_of(splittings(), splittings(palindromic=True), splittings(consistent=False)))
def test_the_short_cut_is_the_logarithm(splitting: tuple[str, tuple[Fraction, ...]]) -> None:
    word, coefficients = splitting
    result = bch(word, coefficients)
    degree = min(result.degree, 5)
    series = bch_series(word, coefficients, degree)
    for letter in result.letters:  # Z - S
        series[1][letter] = series[1].get(letter, Fraction(0)) - 1
    errors = {d: without_zeros(part) for d, part in series.items()}
    first = next((d for d, part in errors.items() if part), None)
    if first is None:
        assert result.order is None or result.order >= degree
    else:
        assert (result.order, result.degree) == (first - 1, first)
        assert {term.commutator: term.coefficient for term in result.leading} == errors[first]


@unhurried
@given(splittings(palindromic=True))
def test_a_palindrome_has_even_order(splitting: tuple[str, tuple[Fraction, ...]]) -> None:
    result = bch(*splitting)
    assert result.symmetric
    assert result.order is None or (result.order >= 2 and result.order % 2 == 0)


@unhurried
@given(splittings())
def test_a_consistent_word_has_order_one_or_more(splitting: tuple[str, tuple[Fraction, ...]]) -> None:
    result = bch(*splitting)
    assert result.consistent
    assert result.order is None or result.order >= 1
    assert (result.order is None) == (len(result.letters) == 1)


@unhurried
@given(splittings(consistent=False))
def test_an_inconsistent_word_has_order_zero_and_shows_what_is_missing(
    splitting: tuple[str, tuple[Fraction, ...]],
) -> None:
    word, coefficients = splitting
    sums = {x: sum(c for y, c in zip(word, coefficients, strict=True) if x == y) for x in sorted(set(word))}
    assume(any(total != 1 for total in sums.values()))
    result = bch(word, coefficients)
    assert (result.order, result.degree, result.consistent) == (0, 1, False)
    assert {term.commutator: term.coefficient + 1 for term in result.leading} == {
        letter: total for letter, total in sums.items() if total != 1
    }
    assert "inconsistent" in result.reason
    assert all(f"{letter} sum to {total}" in result.reason for letter, total in sums.items() if total != 1)


@unhurried
@given(splittings(consistent=False))
def test_a_word_and_its_inverse_cancel(splitting: tuple[str, tuple[Fraction, ...]]) -> None:
    word, coefficients = splitting
    back = tuple(-c for c in reversed(coefficients))
    assert not any(bch_series(word + word[::-1], coefficients + back, degree=4).values())


@unhurried
@given(splittings(consistent=False))
def test_the_adjoint_word_is_the_inverse_at_minus_h(splitting: tuple[str, tuple[Fraction, ...]]) -> None:
    word, coefficients = splitting
    there, back = bch_series(word, coefficients, 4), bch_series(word[::-1], coefficients[::-1], 4)
    for degree, part in there.items():
        assert back[degree] == {text: (-1) ** (degree + 1) * value for text, value in part.items()}
