"""Orders of errors at falling step sizes: what is slow, what jumps, and what is neither."""

from __future__ import annotations

import numpy as np
import pytest

from sgverify.rates.powers import judge_errors, undecided_end
from tests.tables import each_row

TIMES = 0.2 * 2.0 ** -np.arange(7.0)
BOUNDS = np.full(7, 1e-13)


def judged(errors, q=1, bounds=BOUNDS):
    return judge_errors(TIMES, np.asarray(errors, dtype=float)[:, None], bounds, q)


@each_row(
    "errors, q",
    [
        (TIMES / (2 - TIMES), 1),
        (TIMES**2 * (1 + 3 * TIMES), 2),
        (TIMES * (1 - TIMES / 0.02), 1),
        (TIMES**1.5, 1),
        (40 * TIMES, 1),
        (np.zeros(7), 2),
        (np.full(7, 1e-14), 2),
    ],
)
def test_what_falls_as_predicted_or_faster_is_fine(errors, q):
    assert judged(errors, q).verdict == "fine"


@each_row(
    "errors, q, slope",
    [
        (0.3 + TIMES, 1, 0),
        (TIMES / (2 - TIMES), 2, 1),
        (TIMES**1.5, 2, 1.5),
        (-1e-3 + TIMES / 2, 1, 0),
        (1e-4 * TIMES + TIMES**2, 2, 1),
    ],
)
def test_what_falls_slower_is_slow_even_below_the_errors_that_are_due(errors, q, slope):
    found = judged(errors, q)
    assert found.verdict == "slow" and found.slope == pytest.approx(slope, abs=0.3)


def test_errors_that_smaller_steps_do_not_announce_are_a_jump():
    errors = np.where(TIMES > 0.02, 1.0, TIMES / 2)
    found = judged(errors)
    assert (found.verdict, found.index) == ("jump", 3)


def test_a_high_power_is_no_jump_and_what_an_exact_step_does_far_up_is_one():
    up = np.concatenate([0.2 * 2.0 ** np.arange(4, 0, -1.0), TIMES])
    bounds = np.full(len(up), 1e-13)

    def far_up(errors):
        return judge_errors(up, errors[:, None], bounds, 2, large=4)

    assert far_up(up**7).verdict == far_up(1 - np.exp(-(up**2))).verdict == "fine"
    found = far_up(np.where(up > 0.7, 0.36, 1e-5 * up**2))
    assert (found.verdict, found.index) == ("jump", 2)


def test_bounds_that_hide_the_errors_leave_it_open():
    assert judged(np.zeros(7), 2, np.full(7, 1e-2)).verdict == "open"


def test_the_end_is_unsettled_where_errors_are_large_or_stand_still():
    def open_end(errors):
        return undecided_end(TIMES, np.asarray(errors)[:, None], BOUNDS, 1)

    assert open_end(100 * TIMES) and open_end(0.001 + TIMES * 0)
    assert open_end(np.where(TIMES > TIMES[-1], 1.0, 0.0))
    assert not open_end(TIMES) and not open_end(TIMES**2)
