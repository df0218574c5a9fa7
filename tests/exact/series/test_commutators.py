"""The leading commutators of words, as differential operators, are the defects of their steps: exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from sgverify.errors import DefinitionError
from sgverify.exact.series.local_order import local_order
from sgverify.exact.splittings.bch import LeadingTerm, bch
from sgverify.schemes import Alphabet, Scheme, find_scheme, kinetic, sqrt
from sgverify.schemes.catalogue.kinetic import CHEN
from tests.zoo.commutators import compare_with_commutators

WORDS = {
    "sghmc-aboba": find_scheme("sghmc-aboba"),
    "sghmc-baoab": find_scheme("sghmc-baoab"),
    "sghmc-obabo": find_scheme("sghmc-obabo"),
    "ABO": CHEN.word("ABO"),
    "OBA": CHEN.word("OBA"),
    "ABAO": CHEN.word("ABAO", coefficients=("1/3", 1, "2/3", 1)),
}


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("name", sorted(WORDS))
def test_commutators_are_the_defect(name: str, dim: int) -> None:
    scheme = WORDS[name]
    found = compare_with_commutators(scheme, dim)
    assert found.agree and found.defect and found.commutators
    order = local_order(scheme, dim)
    assert order.given_minibatch is not None and order.given_minibatch.power == found.power


def test_the_thermostat_too() -> None:
    assert compare_with_commutators(find_scheme("sgnht-chen-aboba"), 2).agree


def test_a_wrong_coefficient_of_any_commutator_is_seen() -> None:
    """Planted: each Lyndon coefficient of ABOBA in its turn, a thousandth off.

    Two commutators are 0 as operators and say nothing: by hand, with A = p d_theta, B = -D p d_p and
    O = -U' d_p + D T d_p^2, [A,B] = D A and so [A,[A,B]] = 0; [B,O] has coefficients free of p and so [[B,O],O] = 0.
    """
    scheme = WORDS["sghmc-aboba"]
    assert scheme.word is not None
    right = bch(scheme.word.text, scheme.word.shares)
    unseen = []
    for term in right.leading:
        wrong = LeadingTerm(term.commutator, term.coefficient + Fraction(1, 1000))
        leading = tuple(wrong if other is term else other for other in right.leading)
        if compare_with_commutators(scheme, 1, replace(right, leading=leading)).agree:
            unseen.append(term.commutator)
    assert len(right.leading) == 8 and unseen == ["[A,[A,B]]", "[[B,O],O]"]


@pytest.mark.parametrize("other", ["OBA", "BAO", "BOA", "AOB", "OAB"])
def test_another_order_of_the_letters_is_seen(other: str) -> None:
    assert not compare_with_commutators(WORDS["ABO"], 1, bch(other)).agree


def test_a_letter_that_is_no_flow_is_seen() -> None:
    """The commutators know the generators only; a friction that is right to first order differs at h^2."""

    def drift(theta, p, *, t):  # type: ignore[no-untyped-def]
        return theta + t * p, p

    def friction(theta, p, *, t, D):  # type: ignore[no-untyped-def]
        return theta, p - D * t * p

    def kick(theta, p, *, t, grad, noise, D, T):  # type: ignore[no-untyped-def]
        return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * noise()

    wrong = Alphabet("wrong", kinetic, A=drift, B=friction, O=kick).word("ABO")
    assert not compare_with_commutators(wrong, 1).agree


def test_what_has_no_commutators_is_refused() -> None:
    with pytest.raises(DefinitionError, match="not a word"):
        compare_with_commutators(find_scheme("sghmc-euler"))
    scheme: Scheme = WORDS["sghmc-aboba"]
    with pytest.raises(DefinitionError, match="no leading commutators"):
        compare_with_commutators(scheme, 1, bch("ABOBA", degree=2))
