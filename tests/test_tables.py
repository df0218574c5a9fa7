"""A table as one test: every row is tried, and what fails names its row."""

from __future__ import annotations

import pytest

from tests.tables import each_row


def test_every_row_is_tried_and_what_fails_is_named(tmp_path: object) -> None:
    met = []

    @each_row("x, y", [(1, 1), pytest.param(1, 2, id="wrong"), (3, 3), (4, 5)])
    def equal(x: int, y: int, given: str) -> None:
        met.append((x, given))
        assert x == y

    with pytest.raises(BaseExceptionGroup, match="2 of 4 rows") as told:
        equal(given="fixture")
    assert met == [(x, "fixture") for x in (1, 1, 3, 4)]
    notes = [error.__notes__ for error in told.value.exceptions]
    assert notes == [["in the row x=1, y=2"], ["in the row x=4, y=5"]]


def test_one_failure_is_raised_as_it_is_and_a_missing_error_is_one() -> None:
    @each_row("x", [0, 1])
    def refused(x: int) -> None:
        with pytest.raises(ZeroDivisionError):
            1 / x

    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE") as told:
        refused()
    assert told.value.__notes__ == ["in the row x=1"]


def test_no_row_and_a_marked_row_are_refused() -> None:
    for table in ([], [pytest.param(1, marks=pytest.mark.power)]):
        with pytest.raises(AssertionError, match=r"no row|test of its own"):
            each_row("x", table)
