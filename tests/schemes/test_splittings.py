"""Words: shares, palindromes, errors, and that a word is the composition of its letters."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgverify import Alphabet, exp, sqrt
from sgverify.errors import DefinitionError, UnknownNameError
from sgverify.schemes import ALPHABETS, kinetic
from tests.tables import each_row

CHEN = ALPHABETS["sghmc-chen"]
WORDS = st.text("ABO", min_size=3, max_size=7).filter(lambda text: set(text) == set("ABO"))
SMALL = st.fractions(-3, 3, max_denominator=8)
POSITIVE = st.fractions(Fraction(1, 8), 3, max_denominator=8)


def first(theta, p, *, t):
    return theta + t * p, p


def second(theta, p, *, t, D):
    return theta, p - t * D * p


def third(theta, p, *, t, grad, noise, D, T):
    return theta, p - t * grad(theta) + D * T * t * noise()


# Letters without exponentials or roots: exact on fractions, and not flows, which is for others to find out.
POLYNOMIAL = Alphabet("polynomial", kinetic, A=first, B=second, O=third)
LETTERS = {"A": first, "B": second, "O": third}


def cubic(theta: Any) -> Any:
    return theta * theta * theta - 2 * theta


@st.composite
def words_with_shares(draw: Any) -> tuple[str, tuple[Fraction, ...]]:
    text = draw(WORDS)
    shares: dict[str, list[Fraction]] = {}
    for symbol, times in Counter(text).items():
        free = draw(st.lists(SMALL, min_size=times - 1, max_size=times - 1))
        shares[symbol] = [*free, 1 - sum(free, Fraction(0))]
    return text, tuple(shares[symbol].pop() for symbol in text)


@given(WORDS)
def test_default_shares_are_equal_and_sum_to_one(text: str) -> None:
    word = CHEN.word(text).word
    assert word is not None
    for symbol in "ABO":
        own = [share for letter, share in zip(text, word.shares, strict=True) if letter == symbol]
        assert sum(own) == 1
        assert len(set(own)) == 1
    assert word.palindromic == (text == text[::-1])


@pytest.mark.power  # 0.8 s
@given(
    words_with_shares(), SMALL, SMALL, POSITIVE, POSITIVE, POSITIVE, st.lists(SMALL, min_size=7, max_size=7)
)
def test_a_word_is_the_composition_of_its_letters(
    drawn: tuple[str, tuple[Fraction, ...]],
    theta: Fraction,
    p: Fraction,
    h: Fraction,
    D: Fraction,
    T: Fraction,
    noises: list[Fraction],
) -> None:
    text, shares = drawn
    found = POLYNOMIAL.word(text, coefficients=shares)
    everything = {"grad": cubic, "D": D, "T": T}
    state, queue = (theta, p), iter(noises)
    for symbol, share in zip(text, shares, strict=True):
        letter = POLYNOMIAL.letters[symbol]
        state = letter.flow(state, t=share * h, noise=lambda: next(queue), **everything)
    again = iter(noises)
    assert found.step((theta, p), h=h, noise=lambda: next(again), **everything) == state
    assert found.draws == found.gradients == text.count("O")
    assert found.minibatches == 1
    assert found.word.shares == shares
    assert [letter.function for letter, _ in found.word.flows(h)] == [LETTERS[symbol] for symbol in text]


@given(words_with_shares())
@settings(max_examples=30)
def test_a_palindrome_needs_palindromic_shares(drawn: tuple[str, tuple[Fraction, ...]]) -> None:
    text, shares = drawn
    mirrored = text + text[::-1]
    one, two = [share / 3 for share in shares], [2 * share / 3 for share in shares]
    half = [share / 2 for share in shares]
    assert POLYNOMIAL.word(mirrored, coefficients=half + half[::-1]).word.palindromic
    assert not POLYNOMIAL.word(mirrored, coefficients=one + two[::-1]).word.palindromic


def test_aboba_on_plain_floats() -> None:
    found = CHEN.word("ABOBA", order=2)
    theta, p = found.step((1.0, -2.0), h=0.5, grad=lambda x: 3 * x, noise=lambda: 0.25, D=2.0, T=1.0)
    middle = 1.0 + 0.25 * -2.0
    decayed = math.exp(-0.5) * -2.0
    kicked = decayed - 0.5 * 3 * middle + math.sqrt(2.0) * 0.25
    again = math.exp(-0.5) * kicked
    assert float(p) == pytest.approx(again, rel=1e-15)
    assert float(theta) == pytest.approx(middle + 0.25 * again, rel=1e-15)
    assert found.order == 2


def test_a_word_has_the_signature_of_its_letters() -> None:
    assert CHEN.word("ABO").declaration.ingredients == ("h", "grad", "noise", "D", "T")
    assert CHEN.word("OBA").declaration.ingredients == ("h", "grad", "noise", "D", "T")
    assert CHEN.word("ABOBA").name == "chen2015-aboba"
    assert CHEN.word("ABOBA", name="mine").name == "mine"


@pytest.mark.parametrize("shares", [["1/2", "1/2", 1, "1/2", "1/2"], [0.5, 0.5, 1, 0.5, 0.5]])
def test_shares_may_be_text_or_decimals(shares: list[Any]) -> None:
    assert CHEN.word("ABOBA", coefficients=shares).word == CHEN.word("ABOBA").word


def test_shares_of_floats_sum_to_one_up_to_their_rounding() -> None:
    a, half = math.cos(0.7) / 3, 1 / math.sqrt(2)
    # In exact decimals these sum to 1 + 1e-17.
    word = CHEN.word("ABOABOA", coefficients=[a, half, 0.25, 1 - 2 * a, 1 - half, 0.75, a]).word
    assert word is not None and word.shares[0] == word.shares[6]
    assert word.shares[0] + word.shares[3] + word.shares[6] == 1 == word.shares[1] + word.shares[4]
    assert word.shares[1] == sqrt(2) / 2
    with pytest.raises(DefinitionError, match="the shares of A sum to"):
        CHEN.word("ABOBA", coefficients=[a, 0.5, 1, 0.5, 1 - a + 1e-12])


def test_shares_may_be_irrational() -> None:
    shares = CHEN.word("ABOBA", coefficients=["sqrt(2)", "1/2", 1, "1/2", 1 - sqrt(2)]).word.shares
    assert shares[0] * shares[0] == 2 and sum((shares[0], shares[-1])) == 1
    assert [float(share) for share in shares] == pytest.approx([2**0.5, 0.5, 1.0, 0.5, 1 - 2**0.5], rel=1e-15)


@each_row(
    ("text", "coefficients", "message"),
    [
        ("", None, "word='': expected letters"),
        (3, None, "word=3: expected letters"),
        ("ABBA", None, "the letter O does not occur"),
        ("ABO", [1, 1], "2 coefficients for 3 letters"),
        ("ABO", "1,1", "has 2 entries: expected 3, one for each letter"),
        ("ABOBA", ["1/2", "1/2", 1, "1/2", "1/3"], "the shares of A sum to 5/6; expected 1"),
        ("ABO", [1, 1, "x"], "word='ABO': coefficient='x' is not an exact number"),
        ("ABO", [1, 1, "1/0"], "coefficient='1/0' is not an exact number"),
        ("ABO", [1, 1, float("nan")], "coefficient=nan is not an exact number"),
        ("ABO", [1, 1, float("inf")], "coefficient=inf is not an exact number"),
        ("ABO", [1, 1, None], "coefficient=None is not an exact number"),
        ("ABO", ["~1.0", 1, 1], "a coefficient is a printed decimal, marked ~"),
        ("ABOBO", [1, 1, "4/3", 0, "-1/3"], "the letter O draws noise and has the negative share -1/3"),
        ("ABOBABOBABOBA", "yoshida4", "the letter O draws noise and has the negative share"),
        ("ABOBA", "yoshida4", "expected 3 copies of one palindrome"),
    ],
)
def test_a_malformed_word_is_refused(text: Any, coefficients: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        CHEN.word(text, coefficients=coefficients)


def test_an_unknown_letter_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown letter \(in word='ABXBA'\) 'X'.*has A, B, O"):
        CHEN.word("ABXBA")


@pytest.mark.parametrize("symbol", ["a", "AB", "Ä1", "_"])
def test_a_letter_is_one_capital(symbol: str) -> None:
    with pytest.raises(DefinitionError, match="expected one capital"):
        Alphabet("mine", kinetic, **{symbol: first})


def test_a_letter_is_proved_well_formed() -> None:
    def half(theta, p, *, t):
        return theta + t * p

    with pytest.raises(DefinitionError, match=r"test_splittings.py:\d+: `half` returned 1 value; expected 2"):
        Alphabet("mine", kinetic, A=half)


def test_a_word_without_noise_is_refused() -> None:
    def kick(theta, p, *, t, grad):
        return theta, p - t * grad(theta)

    with pytest.raises(DefinitionError, match="draws no noise"):
        Alphabet("mine", kinetic, A=first, B=kick).word("ABA")


def own_drift(theta, p, *, t):
    return theta + t * p, p


def own_kick(theta, p, *, t, grad):
    return theta, p - t * grad(theta)


def refined_kick(theta, p, *, t, grad):
    return theta, p - t * grad(theta) + t**3 / 32 * grad.hessian(theta, grad(theta))


def thermostat(theta, p, *, t, noise, D, T):
    return theta, exp(-D * t) * p + sqrt(T * (1 - exp(-2 * D * t))) * noise()


REFINED = Alphabet("refined", kinetic, A=own_drift, K=own_kick, G=refined_kick, O=thermostat)


def test_shares_sum_over_the_letters_of_one_generator_and_unused_letters_are_no_error() -> None:
    word = REFINED.word("OKAGAKO", coefficients="1/2,1/6,1/2,2/3,1/2,1/6,1/2").word
    assert word is not None and word.merged == "OKAKAKO"
    plain = REFINED.word("KAOAK").word
    assert plain is not None and [*plain.used.letters] == ["K", "A", "O"] and plain.merged == "KAOAK"
    shared = REFINED.word("OKAGAKO").word
    assert shared is not None and shared.shares[1] == shared.shares[3] == Fraction(1, 3)
    with pytest.raises(
        DefinitionError, match=r"the shares of K and G sum to 2/3; .*as 1/4, 1/2, 1/4 for K, G, K"
    ):
        REFINED.word("OKAGAKO", coefficients="1/2,1/6,1/2,1/3,1/2,1/6,1/2")
    with pytest.raises(DefinitionError, match=r"the letter O does not occur; .*add it, as in 'KAKOKAK'"):
        REFINED.word("KAK")


def test_parts_of_one_generator_each_flow_for_the_whole_step() -> None:
    """Two halves of the kick are alike, and together with the others the dynamics: each has shares of its own."""

    def half_kick(theta, p, *, t, grad):
        return theta, p - t / 2 * grad(theta)

    halves = Alphabet("halves", kinetic, A=own_drift, K=half_kick, L=half_kick, O=thermostat)
    word = halves.word("KAOAL").word
    assert word is not None and word.merged == "KAOAL" and word.shares[0] == word.shares[4] == 1
    with pytest.raises(DefinitionError, match="the letter L does not occur"):
        halves.word("KAOAK")
