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
