"""BCH on compositions of Strang steps, where the leading errors are known identities in rational numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sgverify.exact.splittings.bch import bch
from tests.exact.splittings.words import as_operator_words
from tests.tables import each_row


def compose(scales: Sequence[Fraction]) -> tuple[str, tuple[Fraction, ...]]:
    """Strang steps ABA of the given lengths, one after the other."""
    half = Fraction(1, 2)
    return "ABA" * len(scales), tuple(c * scale for scale in scales for c in (half, Fraction(1), half))


@each_row(("outer", "count"), [("1/3", 1), ("4/3", 1), ("-2/5", 1), ("2/5", 2), ("1/7", 2)])
def test_a_symmetric_composition_scales_the_cubic_error(outer: str, count: int) -> None:
    """The triple jump and Suzuki's fractal at rational lengths w: the error is sum w^3 times Strang's.

    Yoshida 1990, Physics Letters A 150, 262-268; before the lengths are solved for.
    """
    length = Fraction(outer)
    scales = [length] * count + [1 - 2 * count * length] + [length] * count
    cubes = sum(scale**3 for scale in scales)
    result = bch(*compose(scales))
    assert result.order == 2
    assert [(t.commutator, t.coefficient) for t in result.leading] == [
        (t.commutator, cubes * t.coefficient) for t in bch("ABA").leading
    ]


# 3^3 + 4^3 + 5^3 = 6^3 and 3 + 4 + 5 - 6 = 6: lengths (3, 4, 5, -6)/6 sum to 1, and so do no cubes of them.
CUBES = [Fraction(n, 6) for n in (3, 4, 5, -6)]


def test_a_rational_composition_of_order_three() -> None:
    """The cubic error cancels; sum over i < j of (w_i w_j^3 - w_i^3 w_j)/2 [S, E] is left, E as Strang's."""
    result = bch(*compose(CUBES))
    assert (result.order, result.symmetric) == (3, False)
    pairs = [(u, v) for i, u in enumerate(CUBES) for v in CUBES[i + 1 :]]
    factor = sum((u * v**3 - u**3 * v) / 2 for u, v in pairs)
    error = as_operator_words(bch("ABA"))
    expected: dict[str, Fraction] = {}
    for letter in "AB":
        for word, value in error.items():
            expected[letter + word] = expected.get(letter + word, Fraction(0)) + factor * value
            expected[word + letter] = expected.get(word + letter, Fraction(0)) - factor * value
    assert as_operator_words(result) == {word: value for word, value in expected.items() if value}


def test_a_rational_composition_of_order_four() -> None:
    result = bch(*compose([c / 2 for c in CUBES + CUBES[::-1]]))
    assert (result.order, result.degree, result.symmetric) == (4, 5, True)
