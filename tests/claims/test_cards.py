"""The cards themselves: complete, consistent with one another and free of outcomes."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from sgverify.claims import FACTS, claims, find_claim
from sgverify.claims.loading import _check_links
from sgverify.errors import DefinitionError
from tests.tables import each_row

PRINTED = (
    "stationarity", "assumption-1",
    "theorem-2", "theorem-2-biased", "theorem-3", "theorem-4", "assumption-2", "theorem-5", "corollary-6", "remark-7", "lemma-8",
    "remark-9", "remark-10", "symmetric-words", "definition-11", "assumption-3", "lemma-12", "theorem-14",
)  # fmt: skip
ABOBA = {
    "scheme.follows": True, "scheme.invariant_order": None,
    "scheme.name": "sghmc-aboba", "scheme.word": True, "scheme.palindromic": True, "scheme.consistent": True,
    "scheme.alphabet": "chen2015", "scheme.alphabet_proved": True, "scheme.positive_shares": True,
    "scheme.dynamics": "kinetic", "scheme.ergodic": True, "scheme.escapes": False, "scheme.order": 2, "K": 2,
    "gradient.kind": "full", "gradient.unbiased": True, "gradient.noisy": False, "law.moments": True,
    "composite.kind": "none", "composite.cumulates": False,
}  # fmt: skip
SGLD = {
    **ABOBA, "scheme.name": "sgld-euler", "scheme.word": False, "scheme.palindromic": False, "scheme.alphabet": None,
    "scheme.alphabet_proved": False, "scheme.dynamics": "langevin", "scheme.order": 1, "K": 1,
}  # fmt: skip
IID = {"gradient.kind": "iid", "gradient.noisy": True}
RESHUFFLE = {"gradient.kind": "reshuffle"}


def test_every_claim_of_the_paper_has_a_card_in_the_papers_order():
    assert tuple(id.partition("/")[2] for id in claims() if id.startswith("chen2015/")) == PRINTED


PAPERS = {
    id: claim for id, claim in claims().items() if claim.source.paper.startswith("Chen, Ding, Carin 2015")
}


@each_row("claim", PAPERS.values())
def test_each_card_is_complete(claim):
    assert claim.title and len(claim.statement) > 40
    assert claim.source.paper.startswith("Chen, Ding, Carin 2015") and claim.source.section
    assert re.search(r"\(\d+\)", claim.source.equation) or "Theorem" in claim.source.equation
    assert claim.predictions


@each_row("claim", PAPERS.values())
def test_each_card_states_no_outcome(claim):
    told = f"{claim.title} {claim.statement} {' '.join(claim.assumes)}".lower()
    assert not re.search(r"refut|violat|conform|verdict|fails|wrong|incorrect", told)


@each_row("claim", PAPERS.values())
def test_each_card_asks_for_known_facts(claim):
    assert claim.needs <= set(FACTS)


@each_row("claim", PAPERS.values())
def test_each_card_is_linked_both_ways(claim):
    if claim.id.startswith("corrected/"):
        assert claim.corrects is not None and find_claim(claim.corrects).corrected == claim.id
        assert set(claim.quantities) <= set(find_claim(claim.corrects).quantities)
        assert claim.needs == find_claim(claim.corrects).needs
    else:
        assert claim.corrects is None


@each_row("order", [1, 2, 3, 4])
@each_row("claim", PAPERS.values())
def test_each_card_predicts_wherever_it_applies(claim, order):
    for gradient in ({}, IID, RESHUFFLE):
        facts = {**ABOBA, **gradient, "K": order, "scheme.order": order}
        if not claim.applies(facts)[0]:
            continue
        for quantity in claim.quantities:
            prediction = claim.predict(quantity, facts)
            in_steps = claim.schedule in (None, "fixed")
            if quantity == "stationarity" or claim.on_request:
                # A residual is zero or not, an assumption holds or not: no rate.
                assert prediction.exponent == 0
                assert (prediction.alpha is None) is (quantity != "step-conditions")
                continue
            assert prediction.exponent > 0 if in_steps else prediction.exponent <= 0
            assert (prediction.alpha is None) == in_steps


def rates(id, facts, **more):
    claim = find_claim(id)
    given = {**facts, **more}
    assert claim.applies(given)[0], claim.applies(given)[1]
    return {quantity: claim.predict(quantity, given).exponent for quantity in claim.quantities}


@each_row("order", [1, 2, 3, 4])
@each_row(
    "id, quantity, rate, alpha",
    [
        ("theorem-2", "bias", "-K/(K+1)", "1/(K+1)"),
        ("theorem-3", "mse", "-2*K/(2*K+1)", "1/(2*K+1)"),
        ("theorem-5", "bias", "-K/(K+1)", "1/(K+1)"),
        ("theorem-5", "mse", "-2*K/(2*K+1)", "1/(2*K+1)"),
        ("remark-7", "bias", "-K/(K+1)", "1/(K+1)"),
        ("remark-7", "mse", "-2*K/(2*K+1)", "1/(2*K+1)"),
    ],
)
def test_at_the_best_alpha_the_cards_give_the_rates_that_the_abstract_prints(
    order, id, quantity, rate, alpha
):
    facts = {**ABOBA, "K": order, "scheme.order": order}
    prediction = find_claim(f"chen2015/{id}").predict(quantity, facts)
    names = {"K": Fraction(order)}
    assert prediction.exponent == eval(rate, names)
    assert prediction.alpha == eval(alpha, names) == find_claim(f"chen2015/{id}").best_alpha(quantity, facts)
    # The two terms of the bound balance there and nowhere else.
    for other in (prediction.alpha * Fraction(9, 10), prediction.alpha * Fraction(11, 10)):
        moved = find_claim(f"chen2015/{id}").predict(quantity, {**facts, "schedule.alpha": other})
        assert moved.exponent > prediction.exponent


@pytest.mark.parametrize("alpha", ["1/10", "1/5", "33/100", "7/10"])
def test_away_from_the_best_alpha_the_contract_s_formula_holds(alpha):
    alpha = Fraction(alpha)
    for claim in ("theorem-2", "theorem-3", "theorem-5", "remark-7", "remark-9", "remark-10"):
        for quantity, rate in rates(f"chen2015/{claim}", ABOBA, **{"schedule.alpha": alpha}).items():
            assert rate == -min(1 - alpha, (2 if quantity == "bias" else 4) * alpha)


def test_the_remarks_are_the_theorems_at_two_and_one():
    assert rates("chen2015/remark-9", ABOBA) == rates("chen2015/remark-10", ABOBA)
    for word, theorem, quantity in (("remark-9", "theorem-2", "bias"), ("remark-9", "theorem-3", "mse")):
        for facts in (ABOBA, SGLD):
            assert rates(f"chen2015/{word}", facts)[quantity] == rates(f"chen2015/{theorem}", facts)[quantity]
    assert not find_claim("chen2015/remark-9").applies({**ABOBA, "scheme.palindromic": False})[0]


def test_printed_claims_do_not_look_at_the_noise_of_the_gradient():
    for id, claim in PAPERS.items():
        if claim.corrects is None and claim.applies(ABOBA)[0]:
            assert rates(id, ABOBA) == rates(id, {**ABOBA, **IID}) == rates(id, {**ABOBA, **RESHUFFLE})


def test_corrected_claims_agree_with_printed_ones_without_noise():
    for id, claim in PAPERS.items():
        if claim.corrects is not None and claim.applies(ABOBA)[0]:
            for quantity, rate in rates(id, ABOBA).items():
                assert rate == rates(claim.corrects, ABOBA)[quantity]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_with_noise_the_corrected_bias_of_the_invariant_law_adds_a_term_in_h(order):
    """O(h^K + h tr V), and everything on a schedule follows with min(K, 1) for K."""
    facts = {**ABOBA, **IID, "K": order, "scheme.order": order}
    smaller = {**ABOBA, "K": min(order, 1), "scheme.order": min(order, 1)}
    assert rates("corrected/theorem-4", facts)["stationary-bias"] == min(order, 1)
    for theorem in ("theorem-2", "theorem-3", "theorem-5", "remark-7"):
        for alpha in (None, Fraction(1, 5), Fraction(1, 3)):
            assert rates(f"corrected/{theorem}", facts, **{"schedule.alpha": alpha}) == rates(
                f"chen2015/{theorem}", smaller, **{"schedule.alpha": alpha}
            )


def test_reshuffling_keeps_orders_up_to_two():
    for order, kind in product((1, 2, 3), ("reshuffle", "symmetric", "svrg")):
        facts = {**ABOBA, "gradient.kind": kind, "K": order, "scheme.order": order}
        assert rates("corrected/theorem-4", facts)["stationary-bias"] == min(order, 2)


@pytest.mark.parametrize("noise, best", [({}, Fraction(1, 3)), (IID, Fraction(1, 2))])
def test_the_logarithm_stands_where_the_sum_of_steps_is_one(noise, best):
    facts = {**ABOBA, **noise}
    corrected, printed = find_claim("corrected/remark-7"), find_claim("chen2015/remark-7")
    assert corrected.predict("bias", facts).alpha == best
    assert corrected.predict("bias", facts).logarithm == 1
    assert corrected.predict("bias", {**facts, "schedule.alpha": 0.4}).logarithm == 0
    assert corrected.predict("mse", facts).logarithm == 0
    assert printed.predict("bias", facts).logarithm == 0


def test_consistency_asks_for_a_negative_exponent():
    claim = find_claim("chen2015/corollary-6")
    prediction = claim.predict("consistency", ABOBA)
    assert prediction.exponent == 0 and prediction.strict
    for alpha in (0, 1, 1.5, -0.1):
        assert not claim.applies({**ABOBA, "schedule.alpha": alpha})[0]
    for alpha in (0.01, 0.99):
        assert claim.applies({**ABOBA, "schedule.alpha": alpha})[0]


def test_the_lemma_on_symmetric_splittings_speaks_of_proved_palindromes_only():
    claim = find_claim("chen2015/lemma-8")
    assert claim.applies(ABOBA)[0]
    for fact in ("scheme.word", "scheme.palindromic", "scheme.consistent", "scheme.alphabet_proved"):
        applies, reason = claim.applies({**ABOBA, fact: False})
        assert not applies and fact in reason
    assert claim.predict("local-order", {**ABOBA, "scheme.positive_shares": False}).kind == "upper"


def test_the_lemma_on_euler_speaks_of_the_papers_euler_schemes():
    claim = find_claim("chen2015/lemma-12")
    assert claim.applies(SGLD)[0] and claim.predict("local-order", SGLD).kind == "sharp"
    assert not claim.applies(ABOBA)[0]


def test_biased_gradients_are_outside_every_rate():
    for id, claim in claims().items():
        if "gradient.unbiased" in claim.needs and id != "chen2015/theorem-2-biased":
            assert not claim.applies({**ABOBA, "gradient.unbiased": False})[0], id
    needing = [id for id, claim in claims().items() if "gradient.unbiased" in claim.needs]
    assert len(needing) == 18


@pytest.mark.parametrize("id", ["chen2015/theorem-2", "corrected/theorem-2"])
def test_theorem_2_speaks_of_biased_gradients_and_lets_the_bias_stay(id):
    for gradient in ({}, IID, RESHUFFLE):
        facts = {**ABOBA, **gradient, "gradient.unbiased": False}
        assert rates(id, facts) == {"bias": 0}
        assert find_claim(id).best_alpha("bias", facts) == Fraction(1, 3)


def test_what_a_biased_gradient_leaves_is_asked_of_biased_gradients_alone():
    claim = find_claim("chen2015/theorem-2-biased")
    assert not claim.applies(ABOBA)[0]
    assert rates(claim.id, {**ABOBA, "gradient.unbiased": False}) == {"gradient-bias": 1}


def test_a_claim_with_a_corrected_card_says_what_its_failing_weighs_and_no_other_does():
    words = ("an error of consequence", "a slip", "a gap", "a misprint", "misprints", "ambiguous")
    for claim in claims().values():
        assert bool(claim.weighs) is (claim.corrected is not None), claim.id
        assert not claim.weighs or claim.weighs.startswith(words), claim.id
    known = {
        id: replace(claim, weighs="") if id == "chen2015/theorem-4" else claim
        for id, claim in claims().items()
    }
    with pytest.raises(DefinitionError, match="card chen2015/theorem-4: say in `weighs`"):
        _check_links(known)
