"""One entry under one setting: what decides, what is refused, what takes too long and what dies."""

from __future__ import annotations

from typing import Any

import pytest

from sgverify.schemes import Scheme, TorchStep, langevin, scheme
from sgverify.schemes.definition.mathematics import sqrt
from tests.pools import running
from tests.pools.entries import Entry, entries
from tests.pools.running import SETTINGS, judge, settings_of


def entry_of(step: Scheme | TorchStep) -> Entry:
    return Entry("right", "nowhere", step.name, step)


@scheme(langevin, order=2)
def overstated(theta: Any, *, h: Any, grad: Any, noise: Any, T: Any) -> Any:
    """An order that is not there."""
    return theta - h * grad(theta) + sqrt(2 * T * h) * noise()


def test_what_violates_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgverify.checks.verify", only("local-order"))
    found = judge(entry_of(overstated), "default")
    assert (found.exit, found.outcome, found.check) == (1, "violates", "local-order")
    assert "order 1" in found.reason


def only(check: str) -> Any:
    from sgverify.checks import verify

    return lambda step, config: verify(step, config, checks=[check])


def test_a_crash_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("sgverify.checks.verify", broken)
    found = judge(entry_of(overstated), "default")
    assert (found.outcome, found.check) == ("crashed", "crash")
    assert "planted" in found.reason


def test_a_refused_configuration_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETTINGS, "wrong", {"temperature": -1.0})  # type: ignore[arg-type]
    assert judge(entry_of(overstated), "wrong").outcome == "refused"


def test_time_that_runs_out_leaves_it_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    from sgverify.checks.progress import Interrupted

    def late(*_: Any) -> Any:
        raise Interrupted([])

    monkeypatch.setattr("sgverify.checks.verify", late)
    assert judge(entry_of(overstated), "default").outcome == "undecided"


def test_a_right_entry_is_tried_under_more_than_the_default_settings() -> None:
    found = {name for entry in entries("right") for name in settings_of(entry)}
    assert "default" in found
    assert len(found) > 1


@pytest.mark.power
def test_a_process_that_ends_without_an_answer_is_a_crash() -> None:
    # Its reference leads nowhere, so that the process dies of an error.
    assert running.judge_apart(entry_of(overstated), "default").outcome == "crashed"


@pytest.mark.power
def test_a_process_that_takes_too_long_is_ended() -> None:
    found = running.judge_apart(entries("right")[0], "default", seconds=1)
    assert (found.outcome, found.check) == ("undecided", "time")
