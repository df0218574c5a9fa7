from __future__ import annotations

from itertools import product

import pytest

from sgverify.claims import claim_for, claims, claims_for, find_claim, loading
from sgverify.errors import DefinitionError, UnknownNameError


def test_a_misspelt_claim_names_the_nearest():
    with pytest.raises(UnknownNameError, match="chen2015/theorem-4"):
        find_claim("chen2015/theorm-4")


def test_corrected_cards_stand_after_the_printed_ones():
    order = list(claims())
    for id, claim in claims().items():
        if claim.corrected:
            assert order[order.index(id) + 1] == claim.corrected


def test_a_link_that_is_not_returned_is_refused():
    known = dict(claims())
    del known["corrected/theorem-4"]
    with pytest.raises(DefinitionError, match="corrected/theorem-4"):
        loading._check_links(known)


CARD = """
title = "t"
place = 1
statement = "s"

[source]
paper = "p"
section = "s"
equation = "e"
"""


def test_a_claim_that_is_left_out_says_why_and_predicts_nothing():
    found = loading.read_card("p/x", 'left_out = "an assumption"\n' + CARD, "card")
    assert (found.left_out, found.predictions, found.quantities) == ("an assumption", (), ())
    with pytest.raises(DefinitionError, match="left_out"):
        loading.read_card("p/x", CARD, "card")
    rule = '[[prediction]]\nquantity = "bias"\nexponent = "1"\n'
    with pytest.raises(DefinitionError, match="predicts nothing"):
        loading.read_card("p/x", 'left_out = "an assumption"\n' + CARD + rule, "card")
    assert loading.read_card("p/x", "vacuous = true\n" + CARD + rule, "card").vacuous


def test_what_is_left_out_is_never_judged():
    assert not [claim.id for claim in claims().values() if claim.left_out and claim.predictions]
    assert all(claim.left_out or claim.predictions for claim in claims().values())


RATE = '[[prediction]]\nquantity = "bias"\nexponent = "1"\n'


def test_each_rate_is_held_against_one_printed_claim_of_a_schedule():
    held = {
        (quantity, schedule): claim_for(quantity, schedule).id
        for quantity, schedule in [
            *(("stationary-bias", "fixed"), ("covariance", "fixed"), ("wasserstein-2", "fixed")),
            *product(("bias", "mse"), ("horizon", "power")),
        ]
    }
    assert held == {
        ("stationary-bias", "fixed"): "chen2015/theorem-4",
        ("covariance", "fixed"): "chen2015/theorem-4",
        ("wasserstein-2", "fixed"): "chen2015/theorem-4",
        ("bias", "horizon"): "chen2015/theorem-2",
        ("mse", "horizon"): "chen2015/theorem-3",
        ("bias", "power"): "chen2015/theorem-5",
        ("mse", "power"): "chen2015/theorem-5",
    }
    assert [claim.id for claim in claims_for("local-order")] == ["chen2015/lemma-8", "chen2015/lemma-12"]
    with pytest.raises(DefinitionError, match="'bias' in `rate_of` with schedule = 'fixed'"):
        claim_for("bias", "fixed")


def test_a_second_claim_for_a_rate_is_refused_by_name_and_claims_on_no_schedule_share_it():
    def card(id, keys):
        return {id: loading.read_card(id, f"{keys}\n{CARD}{RATE}", id)}

    power = 'schedule = "power"\nrate_of = ["bias"]'
    one = card("p/one", power)
    with pytest.raises(DefinitionError, match=r"card q/two: 'bias' on the schedule 'power' .* p/one already"):
        loading._check_rates({**one, **card("q/two", power)})
    loading._check_rates({**one, **card("q/two", power.replace("power", "horizon"))})
    shared = 'rate_of = ["bias"]'
    loading._check_rates({**card("p/one", shared), **card("q/two", shared)})
    with pytest.raises(DefinitionError, match="card corrected/one: rate_of is for printed claims"):
        loading._check_rates(card("corrected/one", f'corrects = "p/one"\n{shared}'))
    with pytest.raises(DefinitionError, match="rate_of has 'mse', of which the card predicts nothing"):
        card("p/one", 'rate_of = ["mse"]')
