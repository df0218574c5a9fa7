"""The level of a call: its parts add up to it, by count of what a call can ask; and Holm's procedure over many verdicts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sgverify.checks.fallback import SAMPLED
from sgverify.checks.registry import CHECKS
from sgverify.claims import claims
from sgverify.errors import UserError
from sgverify.rates import Share, chance_of_any, level_of_calls, stand_together
from sgverify.rates.level import CALL, POINT_NULLS, RATES


def pairs(quantities: set[str]) -> int:
    """The most questions that one call can ask: a corrected card judges in place of its printed one or after it."""
    return sum(quantity in quantities for claim in claims().values() for quantity in claim.quantities)


def test_the_parts_add_up_to_no_more_than_the_level_of_the_call() -> None:
    share = Share(CALL)
    # Consistency is asked of samples and never decided by them.
    decided = pairs(set(SAMPLED) - {"consistency"})
    others = pairs(set(CHECKS) - set(SAMPLED))
    assert decided <= RATES and others <= POINT_NULLS
    assert RATES * share.rate + POINT_NULLS * share.point_null <= CALL * (1 + 1e-12)


def test_the_default_keeps_what_each_verdict_had() -> None:
    """1e-3 for a rate and 1e-6 for a point null, or less."""
    share = Share(CALL)
    assert share.rate <= 1e-3 and share.point_null == pytest.approx(1e-6)


def test_calls_share_the_level_of_a_suite() -> None:
    assert 40 * level_of_calls(0.05, 40) == pytest.approx(0.05)
    assert chance_of_any([1e-3, 2e-3, 1e-6]) == pytest.approx(3.001e-3)
    assert chance_of_any([0.6, 0.7]) == 1.0


def test_holm_by_hand() -> None:
    """p(1) <= a/4, p(2) <= a/3 stand, p(3) > a/2 stops: p(4), though below a, falls with it."""
    assert stand_together([0.024, 0.01, 0.0030, 0.026], 0.04) == [False, True, True, False]
    assert stand_together([0.024, 0.01, 0.0030, 0.019], 0.04) == [True, True, True, True]
    assert stand_together([], 0.04) == []


def test_holm_is_the_closure_of_bonferronis_test() -> None:
    """Marcus, Peritz and Gabriel 1976: a verdict stands where every set that holds it has a p-value below level / size."""
    level = 0.3
    some = np.random.default_rng(2).uniform(size=(3, 5)) ** 3
    for chances in some:
        sets = [index for size in range(1, 6) for index in combinations(range(5), size)]
        rejected = {index: chances[list(index)].min() * len(index) <= level for index in sets}
        closed = [all(rejected[index] for index in sets if i in index) for i in range(5)]
        assert stand_together(chances.tolist(), level) == closed
        assert 0 < sum(closed) < 5


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Share(0.5), "level=0.5"),
        (lambda: level_of_calls(0.01, 0), "calls=0"),
        (lambda: stand_together([1.2], 0.01), "between 0 and 1"),
    ],
)
def test_mistakes_are_named(call, said: str) -> None:
    with pytest.raises(UserError, match=said):
        call()
