"""The level of a call: its parts add up to it, by count of what a call can ask."""

from __future__ import annotations

import pytest

from sgverify.checks.registry import CHECKS
from sgverify.claims import claims
from sgverify.errors import UserError
from sgverify.rates.sample import CALL, POINT_NULLS, RATES, LevelShare, chance_of_any


def pairs(quantities: set[str]) -> int:
    """The most questions that one call can ask: a corrected card judges in place of its printed one or after it."""
    return sum(quantity in quantities for claim in claims().values() for quantity in claim.quantities)


def test_the_parts_add_up_to_no_more_than_the_level_of_the_call() -> None:
    share = LevelShare(CALL)
    sampled = {name for name, check in CHECKS.items() if check.sampled}
    # A call that samples is one `rate`, of a printed card and those that correct it; a verdict draws no chains.
    decided = max(
        1 + sum(other.corrects == claim.id and quantity in other.quantities for other in claims().values())
        for claim in claims().values()
        for quantity in sampled & set(claim.quantities)
    )
    others = pairs(set(CHECKS) - sampled)
    assert decided <= RATES and others <= POINT_NULLS
    assert RATES * share.rate + POINT_NULLS * share.point_null <= CALL * (1 + 1e-12)


def test_the_default_keeps_what_each_verdict_had() -> None:
    """1e-3 for a rate and 1e-6 for a point null, or less."""
    share = LevelShare(CALL)
    assert share.rate <= 1e-3 and share.point_null == pytest.approx(1e-6)


def test_levels_add_up() -> None:
    assert chance_of_any([1e-3, 2e-3, 1e-6]) == pytest.approx(3.001e-3)
    assert chance_of_any([0.6, 0.7]) == 1.0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: LevelShare(0.5), "level=0.5"),
    ],
)
def test_mistakes_are_named(call, said: str) -> None:
    with pytest.raises(UserError, match=said):
        call()
