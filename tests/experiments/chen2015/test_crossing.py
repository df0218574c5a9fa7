from __future__ import annotations

import pytest

from reports.experiments.chen2015.experiment import RATIO, Crossing, crossing


def test_a_crossing_is_found_by_bisection() -> None:
    found = crossing(lambda n: 1 / n, lambda n: 0.001, 10, 10**6)
    assert found.until is None and found.since is not None
    assert 1000 < found.since <= 1000 * RATIO + 1


def test_signs_do_not_count_and_a_diverged_error_is_larger_than_all() -> None:
    assert crossing(lambda n: -1 / n, lambda n: 2 / n, 10, 1000) == Crossing(10, None)
    assert crossing(lambda n: -2 / n, lambda n: 1 / n, 10, 1000) == Crossing(None, None)
    assert crossing(lambda n: 1 / n, lambda n: None, 10, 1000) == Crossing(10, None)
    assert crossing(lambda n: None, lambda n: None, 10, 1000) == Crossing(None, None)


def test_an_error_that_is_overtaken_again_says_until_when() -> None:
    found = crossing(lambda n: n**-0.2, lambda n: 2 * n**-0.4, 10, 10**6)
    assert found.since == 10 and found.until is not None
    assert found.until == pytest.approx(32, rel=0.05)


def test_never_is_never() -> None:
    found = crossing(lambda n: 2 / n, lambda n: 1 / n, 10, 10**6)
    assert found == Crossing(None, None)
