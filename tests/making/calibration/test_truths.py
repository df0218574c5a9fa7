"""Truths: what they add up to, and which keep a claim."""

from __future__ import annotations

import numpy as np
import pytest

from reports.making.calibration import ERRORS, Truth, truths_of
from reports.making.calibration.truths import COUPLING, draw_chains, masked_truths, other_truths

KINDS = {
    "order 1": "breaks",
    "order 2": "keeps",
    "order 4": "keeps",
    "orders 2 and 4": "keeps",
    "orders 2, 3 and 4": "keeps",
    "5% of order 1 in order 2": "keeps",
    "15% of order 1 in order 2": "either",
    "20% of order 1 in order 2": "breaks",
    "50% of order 1 in order 2": "breaks",
    "20% of a constant in order 2": "breaks",
    "zero": "keeps",
}


def test_which_truths_keep_the_claim() -> None:
    assert {truth.name: truth.kind(2) for truth in truths_of(2)} == KINDS


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_error_at_the_first_point_is_the_unit(order: int) -> None:
    for truth in (*truths_of(order), *masked_truths(order, 0.0), *masked_truths(order, 0.5)):
        assert sum(c for _, c in truth.terms) == pytest.approx(1 if truth.terms else 0)
        x = np.array([1.0, 0.5])
        assert truth.at(x)[1] == pytest.approx(sum(c * 0.5**e for e, c in truth.terms))
    for truth in other_truths(order):
        assert truth.at(np.ones(1))[0] == pytest.approx(1)
    few = truths_of(order, few=True)
    assert set(few) < set(truths_of(order))
    assert {truth.kind(order) for truth in few} == {"keeps", "breaks"}
    names = [truth.name for truth in truths_of(order)]
    assert len(set(names)) == len(names)


def test_the_boundary_belongs_to_neither_side() -> None:
    def kind(share: float) -> str:
        return Truth("mixed", ((1.0, share), (2.0, 1 - share))).kind(2)

    assert [kind(share) for share in (0.1499, 0.15, 0.1501, -0.1501)] == [
        "keeps",
        "either",
        "breaks",
        "breaks",
    ]


def test_a_logarithm_is_slower_than_its_power() -> None:
    kinds = {t.name: (t.kind(1), t.kind(2)) for order in (1, 2) for t in other_truths(order)}
    assert kinds == {
        "order 0.5": ("breaks", "breaks"),
        "order 1.5": ("keeps", "breaks"),
        "order 2.5": ("keeps", "keeps"),
        "h log h": ("breaks", "breaks"),
        "h^2 log h": ("keeps", "breaks"),
    }


@pytest.mark.parametrize("errors", ERRORS)
@pytest.mark.parametrize("coupled", [False, True])
def test_chains_have_mean_zero_variance_one_and_the_stated_correlation(errors: str, coupled: bool) -> None:
    chains = draw_chains(np.random.default_rng(1), errors, 2, 40_000, coupled)
    assert np.abs(chains.mean(axis=1)).max() < 5 / 200
    assert chains.var(axis=1) == pytest.approx(1, abs=5 * 9**0.5 / 200)
    expected = COUPLING if coupled else 0
    assert np.corrcoef(chains)[0, 1] == pytest.approx(expected, abs=5 / 200)
