"""Bars: met, missed or undecided, as exact intervals have it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from scipy.stats import binomtest

from reports.making.calibration import bars_of
from reports.making.calibration.bars import rate_between
from reports.making.calibration.document import Bar, Counted, Tally


def cells(violates: Sequence[int], replications: int = 4000, covered: int | None = None) -> list[Bar]:
    """The bars of a table of correct methods with so many false violations."""
    made = tuple(
        Tally(
            name=f"order {2 + number}",
            truth="keeps",
            claim="order 2",
            sampling="independent",
            errors="Gaussian",
            looks=1,
            noise=0.003,
            replications=replications,
            conforms=replications - count,
            violates=count,
            inconclusive=0,
            covered=covered,
        )
        for number, count in enumerate(violates)
    )
    return list(bars_of([Counted("order-2-independent", "t", "n", 0.01, made)]))


def named(bars: Sequence[Bar], start: str) -> Bar:
    (found,) = [bar for bar in bars if bar.statement.startswith(start)]
    return found


@pytest.mark.parametrize("count", [0, 1, 40, 3999, 4000])
def test_the_interval_is_clopper_and_pearsons(count: int) -> None:
    oracle = binomtest(count, 4000).proportion_ci(0.95, method="exact")
    assert rate_between(count, 4000, 0.95) == pytest.approx((oracle.low, oracle.high))


@pytest.mark.parametrize(
    ("violates", "outcome"),
    [
        ([0, 20], "met"),
        ([0, 40], "undecided"),
        ([0, 52], "undecided"),
        ([0, 90], "missed"),
        ([90, 90], "missed"),
    ],
)
def test_false_verdicts_meet_miss_or_leave_the_bar_open(violates: list[int], outcome: str) -> None:
    bar = named(cells(violates), "false violates")
    assert (bar.outcome, bar.cells, bar.count, bar.high) == (outcome, 2, max(violates), 0.01)
    assert bar.worst.startswith("order 3" if violates[1] > violates[0] else "order 2")


def test_too_few_replications_decide_nothing() -> None:
    assert named(cells([0], 100), "false violates").outcome == "undecided"


def test_one_cell_among_many_may_look_bad_by_chance() -> None:
    """58 of 4000 is outside for one cell, and not for the worst of a hundred."""
    assert rate_between(58, 4000, 0.95)[0] > 0.01
    assert named(cells([58]), "false violates").outcome == "missed"
    assert named(cells([0] * 99 + [58]), "false violates").outcome == "undecided"


@pytest.mark.parametrize(
    ("covered", "outcome"), [(3800, "met"), (3650, "missed"), (3740, "undecided"), (3950, "missed")]
)
def test_coverage_has_two_sides(covered: int, outcome: str) -> None:
    assert named(cells([0], covered=covered), "the interval").outcome == outcome


def test_the_power_is_that_of_the_claimed_order_alone() -> None:
    bar = named(cells([1000, 4000]), "order 2 conforms")
    assert (bar.outcome, bar.cells, bar.count) == ("missed", 1, 3000)


def test_no_bar_without_cells() -> None:
    assert {bar.statement.split(" at ")[0] for bar in cells([0])} == {"false violates", "order 2 conforms"}
