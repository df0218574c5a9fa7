"""Settings that change along a run: no question about one invariant law is answered, by `verify`, `rate` or the bias of draws."""

from __future__ import annotations

from typing import Any

import pytest

import sgverify
from sgverify.advice.size.finding import how_large
from sgverify.advice.step_bias import step_bias
from sgverify.configuration import load_configuration
from sgverify.subject.binding import make_subject

CHANGING: dict[str, dict[str, Any]] = {
    "annealing.cooling": {"annealing": {"cooling": 1.02, "epoch": 10}},
    "resample_momentum": {"resample_momentum": 5},
    "schedule.kind": {"schedule": {"kind": "annealed", "decay": 0.984}, "annealing": {"epoch": 10}},
}


@pytest.mark.parametrize("name", CHANGING)
def test_no_law_is_told_of_a_run_along_which_it_changes(name: str) -> None:
    given = {**CHANGING[name], "target": {"size": 20}}
    found = sgverify.rate("sghmc-euler", quantity="stationary-bias", config=given)
    assert found.verdict == "not-applicable" and found.reason.startswith(name)
    assert sgverify.rate("sghmc-euler", quantity="local-order", config=given).verdict == "conforms"
    asked = sgverify.verify("sghmc-euler", given, checks=["chen2015/theorem-4"])
    assert asked and {item.verdict for item in asked} == {"not-applicable"}
    subject = make_subject("sghmc-euler", load_configuration(given))
    assert step_bias(subject, subject.step) is None and how_large(subject) is None
    assert step_bias(make_subject("sghmc-euler", load_configuration({"target": {"size": 20}})), subject.step)
