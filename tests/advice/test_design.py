"""Words and shares that are searched: the known ones are found, what is printed is proved, and a mistake is seen."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import sgverify
from sgverify.advice.design import designing
from sgverify.advice.design.model import Design
from sgverify.advice.design.searching import candidates, gradients_per_step
from sgverify.advice.design.target_class import members_of
from sgverify.exact.series.letters import prove_alphabet
from sgverify.schemes.catalogue import ALPHABETS
from tests.tables import each_row

MOLECULAR = ALPHABETS["sghmc-md"]


@pytest.fixture(scope="module")
def found() -> Design:
    return sgverify.design("kinetic", letters="ABO", gradients=1, order=2, show=4)


def defined(text: str) -> Any:
    """The scheme `best` of a definition that is pasted."""
    space: dict[str, Any] = {}
    exec(text, space)
    return space["best"]


def test_baoab_has_no_error_on_gaussians_and_comes_first(found: Design) -> None:
    """Leimkuhler and Matthews 2013: configurational averages are exact on Gaussians, and so are those of ABOBA."""
    first, second, *others = found.words
    assert (first.word, first.step_order, first.invariant_order, first.gradients) == ("BAOAB", 2, 2, 1)
    assert first.exact_on_gaussians and second.exact_on_gaussians and first.error < second.error
    # Position Verlet with an exact O has the variance (1 - h^2/4) T/k.
    assert [(word.word, word.gaussian) for word in others] == [("ABAO", 0.25), ("OABAO", 0.25)]


def test_what_is_printed_is_proved_and_a_wrong_share_is_refuted(found: Design) -> None:
    text = found.words[2].definition
    assert sgverify.verify(defined(text), checks=["local-order", "invariant-order"]).passed
    wrong = text.replace('"1/2"', '"1/3"', 1).replace('"1/2"', '"2/3"', 1)
    assert not sgverify.verify(defined(wrong), checks=["invariant-order"]).passed


def test_a_word_on_which_series_and_chain_differ_is_left_out() -> None:
    proof = prove_alphabet(MOLECULAR, 1, 2)
    members = members_of(proof, MOLECULAR.dynamics)
    errors = [member.errors(3) for member in members]
    (word,) = (one for one in candidates(MOLECULAR, proof, 1, 5, 2) if one.word == "OABAO")
    halves = (Fraction(1, 2), Fraction(1, 2), Fraction(1))
    asked = ("sghmc-md", MOLECULAR, word)
    right = designing.proved_word(*asked, halves, 2, members, errors)
    assert not isinstance(right, str) and right.gaussian == 0.25
    doubled = [([[2 * value for value in row] for row in one[0]], one[1]) for one in errors]
    wrong = designing.proved_word(*asked, halves, 2, members, doubled)
    assert wrong == "OABAO: on N(0, 1) with D = 1/2 the exact law is off by -1/4, and not by -1/2"
    low = designing.proved_word(*asked, halves, 3, members, [member.errors(4) for member in members])
    assert low == "OABAO: the order of its invariant law is 2"


@each_row(
    ("word", "expected"),
    [("BAOAB", 1), ("OBABO", 1), ("ABOBA", 1), ("BABAOABAB", 3), ("ABAOABA", 2), ("AOBOA", 1)],
)
def test_a_gradient_that_the_next_step_needs_again_counts_once(word: str, expected: int) -> None:
    assert gradients_per_step(word, MOLECULAR, prove_alphabet(MOLECULAR, 1, 2)) == expected


@pytest.mark.power  # 9 s
def test_a_fourth_order_is_found_with_three_gradients_and_its_shares_are_roots() -> None:
    """Forest and Ruth 1990: 1/(2 - 2^(1/3)) for the steps of three leapfrogs, found and not written."""
    best = sgverify.design("kinetic", gradients=3, order=4, show=2).words
    assert {word.word for word in best} == {"BABABABO", "ABABABAO"}
    scheme = defined(best[0].definition)
    assert abs(float(scheme.word.shares[1]) - 1 / (2 - 2 ** (1 / 3))) < 1e-15
    assert sgverify.verify(scheme, checks=["invariant-order"]).passed
