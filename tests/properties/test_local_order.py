"""Local orders of generated words: the power series against BCH, operator for operator, and against lemma 8."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.configuration import Configuration
from sgverify.exact.series.letters import AlphabetProof
from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.operators import Operator, add_to, compose, difference
from sgverify.exact.splittings.bch import bch
from sgverify.exact.splittings.lyndon import expand
from sgverify.schemes import ALPHABETS, Scheme
from sgverify.schemes.catalogue.kinetic import CHEN, MOLECULAR
from sgverify.strategies import alphabets, words
from sgverify.subject.subject import Subject
from sgverify.testing import examples, note_replay
from tests.zoo.pool import EULER, judged, proof_of, subject_of

DYNAMICS = ("kinetic", "thermostat")


def generated_words(palindromic: bool | None = None) -> SearchStrategy[Scheme]:
    both = st.sampled_from(DYNAMICS).flatmap(lambda name: alphabets(dynamics=name))
    return both.flatmap(
        lambda one: words(alphabet=one, palindromic=palindromic, most=2 * len(one.letters) + 1)
    )


def leading_operator(scheme: Scheme, proof: AlphabetProof) -> tuple[int, Operator]:
    """(p, sum of c [..]) of BCH, each commutator a commutator of the letters' generators."""
    assert scheme.word is not None
    result = bch(scheme.word.text, scheme.word.shares)
    assert result.order is not None
    total: Operator = {}
    for text, weight in expand({term.commutator: term.coefficient for term in result.leading}).items():
        product = proof.operators[text[0]]
        for letter in text[1:]:
            product = compose(product, proof.operators[letter], proof.ring)
        for index, value in product.items():
            add_to(total, index, value * proof.ring.constant(weight))
    return result.order, difference(total, {}, proof.ring)


@pytest.mark.power  # 0.6 s
@settings(max_examples=examples(35))
@given(generated_words())
def test_the_power_series_and_bch_leave_the_same_leading_operator(scheme: Scheme) -> None:
    note_replay(scheme.reference, Configuration(), "sgverify/stated-order")
    proof = proof_of(scheme.word.alphabet, 1)
    assert proof.proved
    found = local_order(scheme, 1)
    order, leading = leading_operator(scheme, proof)
    if not leading:
        # A commutator may vanish for these generators: then the scheme is better than its word.
        assert found.order > order
        return
    assert found.given_minibatch is not None and found.order == order
    defect = found.given_minibatch.operator
    moved = {index: value.project_to_context(proof.ring.context) for index, value in defect.items()}
    assert difference(moved, leading, proof.ring) == {}


@settings(max_examples=examples(18))
@given(generated_words(palindromic=True))
def test_palindromes_have_even_order(scheme: Scheme) -> None:
    note_replay(scheme.reference, Configuration(), "chen2015/lemma-8")
    order = local_order(scheme, 1)
    assert order.order >= 2
    assert order.given_minibatch is None or order.order % 2 == 0
    # Fresh minibatches leave (h^2/2) E dV^2 whatever the scheme.
    assert order.averaged_order == 1


@settings(max_examples=examples(18))
@given(generated_words(palindromic=False))
def test_consistent_words_have_order_one_at_least(scheme: Scheme) -> None:
    note_replay(scheme.reference, Configuration(), "sgverify/stated-order")
    order = local_order(scheme, 1)
    assert order.order >= 1 and order.averaged_order == 1


def holds_lemma_8(subject: Subject) -> None:
    evidence = judged(subject, "chen2015/lemma-8", "local-order")
    assert evidence.verdict == "conforms" and evidence.method == "proof"
    assert evidence.found.exponent == subject.order.order >= 2
    assert evidence.sharp == (subject.order.order == 2)


@pytest.mark.power  # 2.3 s
@settings(max_examples=examples(10))
@given(st.sampled_from([CHEN, MOLECULAR]).flatmap(lambda one: words(alphabet=one, palindromic=True, most=9)))
def test_lemma_8_conforms_for_palindromes_of_both_alphabets(scheme: Scheme) -> None:
    holds_lemma_8(subject_of(scheme.reference, Configuration(), dim=1))


@pytest.mark.by_default("sghmc-ubu")
@pytest.mark.parametrize("prefix", ALPHABETS)
def test_lemma_8_conforms_for_the_shortest_palindromes_in_two_dimensions(prefix: str) -> None:
    for order in permutations(ALPHABETS[prefix].letters):
        holds_lemma_8(subject_of(f"{prefix}-{''.join((*order, *order[-2::-1])).lower()}", Configuration()))


@pytest.mark.power  # 1.7 s
@settings(max_examples=examples(35))
@given(st.sampled_from([CHEN, MOLECULAR]).flatmap(lambda one: words(alphabet=one, palindromic=False, most=4)))
def test_claims_of_order_two_fall_for_words_of_order_one(scheme: Scheme) -> None:
    subject = subject_of(scheme.reference, Configuration(), dim=1)
    proof = subject.alphabet
    assert proof is not None and proof.proved
    vars(subject)["scheme"] = scheme.named(scheme.name, order=2)
    evidence = judged(subject, "sgverify/stated-order", "local-order")
    assert evidence.verdict == ("conforms" if subject.order.order >= 2 else "violates")


def test_euler_schemes_have_order_one_by_lemma_12() -> None:
    for reference in EULER:
        evidence = judged(subject_of(reference, Configuration()), "chen2015/lemma-12", "local-order")
        assert (evidence.verdict, evidence.found.exponent) == ("conforms", Fraction(1))
