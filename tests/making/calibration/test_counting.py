"""Counts: the same however they are divided, and other numbers for another seed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reports.making.calibration import (
    CHUNK,
    Counts,
    LengthSetting,
    NullSetting,
    Truth,
    Verdict,
    count,
    count_chunk,
    plans,
    tally,
)
from reports.making.calibration.counting import chunks_of
from sgverify.errors import UserError


class Coin:
    """A setting that answers by a coin."""

    def __init__(self, name: str = "coin") -> None:
        self.name = name

    def replicate(self, rng: np.random.Generator) -> Verdict:
        return Verdict("conforms" if rng.random() < 0.5 else "violates")

    def described(self) -> dict[str, object]:
        return {}

    def __repr__(self) -> str:
        return self.name


def test_chunks_add_up_in_any_order() -> None:
    runs = 2 * CHUNK + 7
    assert chunks_of(runs) == [(0, CHUNK), (1, CHUNK), (2, 7)]
    whole = count(Coin(), replications=runs, seed=3)
    parts = [count_chunk(Coin(), 3, *chunk) for chunk in reversed(chunks_of(runs))]
    assert sum(parts, Counts()) == whole
    assert whole.replications == runs == whole.conforms + whole.violates
    assert len({part.conforms / part.replications for part in parts}) == 3  # each has a stream of its own
    assert whole.habit is None and whole.covered is None


def test_another_seed_or_setting_is_another_stream() -> None:
    found = [
        count(coin, replications=100, seed=seed).conforms
        for coin, seed in ((Coin(), 1), (Coin(), 1), (Coin(), 2), (Coin("other"), 1))
    ]
    assert found[0] == found[1]
    assert len(set(found)) == 3


def test_the_null_is_rejected_as_often_as_it_says_and_no_more() -> None:
    keeps = tally(found := NullSetting("as it should be", 0.0, 1.0), count(found, replications=100, seed=2))
    assert keeps.truth == "keeps" and keeps.violates <= 4
    breaks = tally(found := NullSetting("twice", 0.0, 2.0), count(found, replications=20, seed=2))
    assert (breaks.truth, breaks.violates, breaks.wrong) == ("breaks", 20, 0)


@pytest.mark.parametrize(("quantity", "alpha"), [("bias", Fraction(1, 3)), ("mse", Fraction(1, 5))])
def test_rates_in_the_length_are_told_apart(quantity: str, alpha: Fraction) -> None:
    a = float(alpha)
    right = LengthSetting(Truth("as claimed", ((2 * a, 1.0),)), quantity, 2, alpha, 0.003)
    wrong = LengthSetting(Truth("order 1", ((a, 1.0),)), quantity, 2, alpha, 0.003)
    assert tally(right, count(right, replications=4, seed=1)).conforms == 4
    found = tally(wrong, count(wrong, replications=4, seed=1))
    assert (found.truth, found.violates) == ("breaks", 4)


def test_the_plans_name_every_cell_once() -> None:
    for orders in ((2, 1, 4), (1,), (3,)):
        made = plans(orders)
        assert len({plan.name for plan in made}) == len(made)
        for plan in made:
            described = [tuple(setting.described().values()) for setting, _ in plan.settings]
            assert len(set(described)) == len(described)
            assert min(plan.replications(1)) == 1
    quick = [plan.name for plan in plans((4,), quick=True)]
    assert quick[:2] == ["order-4-independent", "order-4-coupled"]
    assert all(name.startswith("masked") for name in quick[2:])


@pytest.mark.parametrize("order", [0, 9])
def test_orders_out_of_range_are_refused(order: int) -> None:
    with pytest.raises(UserError, match=f"order={order}"):
        plans((order,))
