"""Rows of a sweep: their step sizes and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from sgverify.errors import ConfigurationError
from sgverify.samplers import Fixed, Power, fixed, horizon, power


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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fixed([], [10]), r"steps=\[\]"),
        (lambda: fixed([0.0], [10]), r"step=0.0: expected a positive, finite"),
        (lambda: fixed([float("nan")], [10]), r"step=nan"),
        (lambda: fixed([0.1], []), r"lengths=\[\]"),
        (lambda: fixed([0.1], [10, 10]), r"lengths=\[10, 10\]: expected whole numbers"),
        (lambda: fixed([0.1], [0]), r"lengths=\[0\]"),
        (lambda: fixed([0.1], [1.5]), r"lengths=\[1.5\]"),
        (lambda: horizon(0.1, -1.0, [10]), r"alpha=-1.0"),
        (lambda: power([float("inf")], 0.3, [10]), r"scale=inf"),
    ],
)
def test_impossible_rows_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()
