"""The checks that are settled by proof: local order, and what symmetric words share."""

from __future__ import annotations

import pytest

from sgverify.checks import rate, verify
from sgverify.exact.readings.formula import plant
from sgverify.schemes import Alphabet, dot, find_scheme, kinetic, langevin, scheme, sqrt
from sgverify.schemes.catalogue import kinetic as of_two
from tests.zoo.schemes import WEAK, forgot, multiplicative, nose, unreadable


def local(scheme, **settings):
    return rate(scheme, quantity="local-order", **settings)


@pytest.mark.parametrize(
    ("name", "was", "now", "found"),
    [
        ("sgld-euler", "sqrt(2*T*h)", "sqrt(T*h)", 0),
        ("sgld-euler", "h*grad(theta)", "h/2*grad(theta)", 0),
        ("sghmc-euler", "sqrt(2*D*T*h)", "sqrt(2*D*h)", 0),
        ("sghmc-aboba", "sqrt(2*D*T*h)", "sqrt(D*T*h)", 0),
        ("sghmc-aboba", "h*grad(theta1)", "h*grad(theta)", 1),
        ("sghmc-baoab", "sqrt(-T*expm1(-2*D*h))", "sqrt(2*D*T*h)", 1),
    ],
)
def test_planted_bugs_violate_and_the_original_conforms(name: str, was: str, now: str, found: int) -> None:
    original = local(find_scheme(name))
    assert (original.verdict, original.method, original.sharp) == ("conforms", "proof", True)
    evidence = local(plant(find_scheme(name), was, now))
    assert evidence.found.exponent == found < original.found.exponent
    assert evidence.verdict == "violates"
    assert f"differ at h^{found + 1}" in evidence.reason
    assert evidence.certificate["given_minibatch"] == found and evidence.points == ()
    assert evidence.certificate["defect_given_minibatch"].startswith(f"h^{found + 1} ")


def test_a_stated_order_is_a_claim_and_an_unstated_one_is_not() -> None:
    euler = find_scheme("sgld-euler")
    too_much = plant(euler, "sqrt(2*T*h)", "sqrt(2*h*T)").named("mine", order=2)
    assert (local(too_much).verdict, local(too_much).predicted.exponent) == ("violates", 2)
    assert local(too_much.named("mine", order=1)).verdict == "conforms"
    bare = local(too_much.named("mine", order=None))
    assert (bare.verdict, bare.predicted.exponent, bare.found.exponent) == ("conforms", 1, 1)


def test_both_orders_are_reported() -> None:
    evidence = local(find_scheme("sghmc-aboba"), gradient={"kind": "iid"})
    assert (evidence.verdict, evidence.found.exponent) == ("conforms", 2)
    assert (evidence.certificate["given_minibatch"], evidence.certificate["averaged"]) == (2, 1)
    assert (
        "order 2 with the minibatch held fixed; order 1 averaged over random minibatches" in evidence.reason
    )
    assert "E[" in evidence.certificate["defect_averaged"]
    assert evidence.certificate["proved_in_dimension"] == 2


def test_a_word_is_a_proof_only_with_its_alphabet() -> None:
    good, bad = local(find_scheme("sghmc-aboba")), local(WEAK)
    assert good.certificate["bch"]["order"] == bad.certificate["bch"]["order"] == 2
    assert good.certificate["bch"]["is_a_proof"] and good.certificate["alphabet"]["proved"]
    assert not bad.certificate["bch"]["is_a_proof"]
    assert "sum to L plus" in bad.certificate["alphabet"]["faults"][0]
    assert bad.verdict == "violates"


@pytest.mark.parametrize(
    ("scheme", "order", "verdict"),
    [(nose, 1, "conforms"), (multiplicative, 1, "conforms"), (forgot, -1, "violates")],
)
def test_schemes_that_are_not_affine_have_a_local_order_too(scheme, order: int, verdict: str) -> None:
    evidence = local(scheme)
    assert (evidence.found.exponent, evidence.verdict) == (order, verdict)


def test_what_has_no_series_is_measured_by_quadrature() -> None:
    evidence = local(unreadable)
    assert (evidence.verdict, evidence.method) == ("violates", "quadrature")
    assert "not a polynomial" in evidence.certificate["no_proof"]


def test_symmetric_words_share_their_order_and_not_their_constants() -> None:
    found = {e.check: e for e in verify(find_scheme("sghmc-aboba"), checks=["chen2015/symmetric-words"])}
    same, constants = found["order-equivalence"], found["constant-equivalence"]
    assert (same.verdict, same.sharp, same.refuted) == ("conforms", True, False)
    assert (constants.verdict, constants.refuted) == ("violates", True)
    assert set(same.certificate["orders"]) == {"ABOBA", "AOBOA", "BAOAB", "BOAOB", "OABAO", "OBABO"}
    assert {str(order) for order in same.certificate["orders"].values()} == {"2"}
    assert len(set(constants.certificate["leading_defects"].values())) == 6
    for word in ("AOBOA", "BAOAB"):
        assert word in constants.reason


def test_words_without_a_proved_alphabet_or_palindrome_are_not_spoken_of() -> None:
    for wrong in (WEAK, find_scheme("sghmc-chen-abo"), find_scheme("sgld-euler")):
        for evidence in verify(wrong, checks=["chen2015/symmetric-words", "chen2015/lemma-8"]):
            assert evidence.verdict == "not-applicable"
            assert not evidence.refuted and evidence.reason


def test_a_stated_order_counts_where_the_papers_claim_asks_for_less() -> None:
    """Lemma 8 asks a palindrome for order 2; whoever states 3 is held to 3."""
    stated = find_scheme("sghmc-aboba").named("mine", order=3)
    found = {e.claim: e for e in verify(stated, checks=["local-order"])}
    assert found["chen2015/lemma-8"].verdict == "conforms"
    assert (found["sgverify/stated-order"].verdict, found["sgverify/stated-order"].predicted.exponent) == (
        "violates",
        3,
    )
    assert "sgverify/stated-order" not in {e.claim for e in verify("sghmc-aboba", checks=["local-order"])}


def test_two_memories_are_followed_for_three_steps() -> None:
    """(m1 - m2)/10 is theta two steps old minus theta three steps old: 0 until the third step."""

    def begin(theta):
        return theta

    @scheme(langevin, order=1, memory={"m1": begin, "m2": begin})
    def lagging(theta, m1, m2, *, h, grad, noise, T):
        return theta - h * grad(theta) + sqrt(2 * T * h) * noise() + (m1 - m2) / 10, theta, m1

    evidence = local(lagging)
    assert evidence.verdict == "violates" and evidence.certificate["kind"] == "weak-finite-time"


def test_a_number_for_the_dimension_is_right_in_one_dimension_only() -> None:
    """/2 for /dim passes in dimension 2, no /dim in dimension 1: both are looked at."""
    halved = plant(find_scheme("sgnht-euler"), "dot(p1, p1)/dim", "dot(p1, p1)/2")
    assert local(halved).verdict == "violates"
    assert local(halved, proof_dim=1).verdict == "violates"
    assert local(find_scheme("sgnht-euler")).verdict == "conforms"


def test_the_reason_names_the_dimensions_that_were_proved() -> None:
    right = local(find_scheme("sgnht-euler"), target={"name": "gaussian", "dim": 100})
    assert right.verdict == "conforms" and right.reason.endswith("proved in every dimension")
    euler = local(find_scheme("sgld-euler"), target={"name": "gaussian", "dim": 7})
    assert euler.verdict == "conforms" and euler.reason.endswith("proved in every dimension")
    text = "dot(p1, p1)/dim", "dot(p1, p1)/(dim + (dim - 1)*(dim - 2)*(dim - 3))"
    wrong = local(plant(find_scheme("sgnht-euler"), *text))
    assert wrong.verdict == "violates" and "in dimension 4, and not in dimension 2" in wrong.reason


def test_what_holds_in_the_dimensions_tried_says_which_and_no_more() -> None:
    @scheme(langevin, order=1)
    def sized(theta, *, h, grad, noise, dim, T):
        z = noise()
        return theta - h * grad(theta) * (dot(z, z) / dim) + sqrt(2 * T * h) * noise()

    found = local(sized)
    assert "proved in dimensions 1 to 10, 12, 15 and 20, as with a symbol for dim it differs" in found.reason
    assert found.scope.dimensions.covers([20]) and not found.scope.dimensions.covers([21])


@pytest.mark.power  # 0.8 s
def test_a_letter_without_a_series_proves_nothing_and_breaks_nothing() -> None:
    def quotient(theta, p, *, t, grad, noise, D, T):
        return theta, p - t * grad(theta) + 2 * D * T * t / sqrt(1 + dot(p, p)) * noise()

    letters = {"A": of_two.drift, "B": of_two.friction, "O": quotient}
    evidence = local(Alphabet("odd", kinetic, **letters).word("ABOBA"))
    assert (evidence.verdict, evidence.method) == ("violates", "quadrature")
    assert "no power series" in evidence.certificate["no_proof"]
