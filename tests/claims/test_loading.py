from __future__ import annotations

import pytest

from sgverify.claims import claims, find_claim, loading
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
