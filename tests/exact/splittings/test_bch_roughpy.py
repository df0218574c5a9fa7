"""BCH against RoughPy's rational free Lie algebra (a Hall basis and its own Campbell-Baker-Hausdorff product)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from sgverify.exact.splittings.bch import bch, bch_series
from sgverify.exact.splittings.lyndon import expand
from tests.exact.splittings.words import as_operator_words
from tests.tables import each_row

roughpy = pytest.importorskip("roughpy", reason="RoughPy 0.3 has wheels for CPython 3.11 to 3.14 only")


def by_roughpy(word: str, coefficients: Sequence[Fraction], degree: int) -> dict[str, Fraction]:
    """log(exp(c1 X1) exp(c2 X2) ...) in associative words."""
    letters = sorted(set(word))
    context = roughpy.get_context(len(letters), degree, roughpy.Rational)
    factors = []
    for letter, c in zip(word, coefficients, strict=True):
        unit = roughpy.Lie([int(x == letter) for x in letters], ctx=context)
        factors.append(unit * c.numerator / c.denominator)
    logarithm = context.cbh(factors, roughpy.VectorType.DenseVector)
    found = {}
    for item in context.lie_to_tensor(logarithm):
        value = Fraction(str(item.value()))
        if value:
            digits = str(item.key()).strip("()").split(",")
            found["".join(letters[int(digit) - 1] for digit in digits)] = value
    return found


WORDS = [
    ("AB", "1,1", 8),
    ("ABA", "1/2,1,1/2", 8),
    ("ABABA", "1/6,1/2,2/3,1/2,1/6", 7),
    ("BABB", "-2/7,1,3,1/4", 6),
    ("ABC", "1,1,1", 5),
    ("ABCBA", "1/2,1/2,1,1/2,1/2", 5),
    ("CABCA", "2/3,1/2,1,1/3,1/2", 4),
    ("ADCBA", "1/3,1,1,1,2/3", 4),
]


@pytest.mark.parametrize(("word", "coefficients", "degree"), WORDS)
def test_the_whole_series_is_roughpys(word: str, coefficients: str, degree: int) -> None:
    theirs = by_roughpy(word, [Fraction(c) for c in coefficients.split(",")], degree)
    ours = {w: c for part in bch_series(word, coefficients, degree).values() for w, c in expand(part).items()}
    assert ours == theirs


@each_row(("word", "coefficients", "degree"), WORDS)
def test_the_leading_error_is_roughpys(word: str, coefficients: str, degree: int) -> None:
    exact = [Fraction(c) for c in coefficients.split(",")]
    result = bch(word, exact)
    theirs = by_roughpy(word, exact, result.degree)
    for letter in result.letters:
        theirs[letter] -= 1
    assert as_operator_words(result) == {w: c for w, c in theirs.items() if c}


@pytest.mark.parametrize(
    "wrong", [("BA", "1,1"), ("AB", "1,-1"), ("AB", "1,1000001/1000000"), ("ABB", "1,1/2,1/3")]
)
def test_a_planted_error_is_seen(wrong: tuple[str, str]) -> None:
    """Letters in another order, a wrong sign, a share that is a millionth or a sixth off."""
    theirs = by_roughpy("AB", [Fraction(1), Fraction(1)], 4)
    ours = {w: c for part in bch_series(*wrong, 4).values() for w, c in expand(part).items()}
    assert ours != theirs
