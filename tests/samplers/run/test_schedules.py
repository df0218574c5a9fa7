"""Rows of a sweep: their step sizes and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sgverify.configuration import TargetTable
from sgverify.errors import ConfigurationError
from sgverify.samplers import Fixed, Power, Settings, cyclical, fixed, horizon, power, sample
from sgverify.schemes import find_scheme
from sgverify.targets import build_target
from tests.self_checks.run_transcript import BLOCK, transcribe
from tests.tables import each_row


def test_rows_of_each_kind() -> None:
    assert [(row.schedule, row.lengths) for row in fixed([0.1, 0.2], [10, 20])] == [
        (Fixed(0.1), (10, 20)), (Fixed(0.2), (10, 20)),
    ]  # fmt: skip
    assert [(row.schedule.at(5), row.lengths) for row in horizon(0.5, 0.5, [4, 16])] == [
        (0.25, (4,)),
        (0.125, (16,)),
    ]
    (row,) = power([0.5], 0.5, [4, 16])
    assert row.schedule == Power(0.5, 0.5)
    assert [row.schedule.at(number) for number in (1, 4, 16)] == [0.5, 0.25, 0.125]
    assert row.schedule.weighted
    assert not Fixed(0.1).weighted


def test_a_key_is_made_of_the_bits_of_the_schedule() -> None:
    schedules = [Fixed(0.1), Fixed(0.1 + 2**-56), Power(0.1, 0.3), Power(0.3, 0.1), Power(0.1, 0.1)]
    assert len({schedule.key for schedule in schedules}) == len(schedules)
    assert horizon(0.5, 0.5, [4])[0].schedule.key == Fixed(0.25).key


def test_cycles_fall_along_half_a_cosine_or_a_line_and_jump_back() -> None:
    (row,) = cyclical([0.5], [10], cycles=3, threshold=0.5)
    # ceil(10/3) = 4 steps in a cycle: r = 0, 1/4, 1/2, 3/4.
    falling = [0.25 * (math.cos(math.pi * r / 4) + 1) for r in (0, 1, 2, 3)]
    assert [row.schedule.at(l) for l in range(1, 11)] == pytest.approx((falling * 3)[:10], rel=1e-15)
    assert [row.schedule.samples(l) for l in range(1, 11)] == ([False, False, True, True] * 3)[:10]
    (line,) = cyclical([0.5], [8], cycles=2, low=0.1, shape="linear")
    assert [line.schedule.at(l) for l in range(1, 9)] == pytest.approx([0.5, 0.4, 0.3, 0.2] * 2, rel=1e-15)
    assert all(line.schedule.samples(l) for l in range(1, 9))


def test_a_threshold_is_the_decimal_that_was_written() -> None:
    for period in (10, 30, 100, 1000):
        (row,) = cyclical([0.1], [period], cycles=1, threshold=0.7)
        first = next(l for l in range(1, period + 1) if row.schedule.samples(l))
        assert first - 1 == 7 * period // 10


def test_averages_over_cycles_are_weighted_means_of_the_sampling_stages() -> None:
    scheme, target = find_scheme("sgld-euler"), build_target(TargetTable(size=20))
    rows = cyclical([1e-4, 2e-4], [7, 20], cycles=3, low=1e-5, threshold=0.4)
    settings = Settings(chains=2, seed=3)
    found = sample(
        scheme, target, rows, observables=[lambda theta: theta[..., 0] ** 2], settings=settings, block=BLOCK
    )
    states = transcribe(scheme, target, rows, settings).states["theta"][1:, ..., 0]
    for place, row in enumerate(rows):
        steps = np.array([row.schedule.at(l) for l in range(1, 21)])
        # Of 7 steps 0, 1, 2 explore: 2/7 < 0.4 <= 3/7.
        weights = np.where((np.arange(20) % 7) >= 3, steps, 0.0)
        for k, length in enumerate((7, 20)):
            expected = (weights[:length, None] * states[:length, place] ** 2).sum(0) / weights[:length].sum()
            assert found.values[0, place, k] == pytest.approx(expected, rel=1e-13)


@each_row(
    ("make", "message"),
    [
        (lambda: fixed([0.1], [10, 10]), r"lengths=\[10, 10\]: expected whole numbers"),
        (lambda: fixed([0.1], [0]), r"lengths=\[0\]"),
        (lambda: fixed([0.1], [1.5]), r"lengths=\[1.5\]"),
        (lambda: cyclical([0.1], [10], cycles=11), r"schedule.cycles=11: expected 1 to 10"),
        (
            lambda: cyclical([0.1], [10], cycles=2, threshold=0.9),
            r"schedule.threshold=0.9: no step of a cycle of 5",
        ),
        (lambda: cyclical([0.1], [10], low=0.2), r"schedule.low=0.2: expected 0 <= low <= scale=0.1"),
    ],
)
def test_impossible_rows_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()
