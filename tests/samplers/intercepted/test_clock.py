"""The clock: a step whose result depends on it is found, one that measures its own time is not blamed."""

from __future__ import annotations

import datetime
import time
from datetime import datetime as moment
from time import monotonic_ns as tick

import pytest
import torch

from sgverify import torch_step
from sgverify.checks.code.pure_step import check_pure_step
from sgverify.checks.question import Question
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.samplers.intercepted.other_sources import clock_fault
from sgverify.schemes import langevin
from sgverify.subject.binding import make_subject
from tests.tables import each_row

pytestmark = pytest.mark.usefixtures("short_runs")

STARTED = time.perf_counter()
ONE = torch.ones(2)


def after_an_hour():
    return (ONE * (2 if time.perf_counter() - STARTED > 3600 else 1),)


def slow():
    begun = time.monotonic()
    return (ONE * (2 if time.monotonic() - begun > 10 else 1),)


def by_nanoseconds():
    return (ONE * (1 + tick() % 2),)


def in_the_afternoon():
    return (ONE * (1 if time.localtime().tm_hour < 12 else 2),)


def on_weekends():
    return (ONE * (2 if datetime.date.today().weekday() > 4 else 1),)


def this_minute():
    return (ONE * moment.now().minute,)


@each_row(
    "take, said",
    [
        (after_an_hour, "time.perf_counter"),
        (slow, "time.monotonic"),
        (by_nanoseconds, "time.monotonic_ns"),
        (in_the_afternoon, "time.localtime"),
        (this_minute, "datetime.datetime.now"),
    ],
)
def test_a_result_that_depends_on_the_clock_is_found(take, said):
    before = time.time, time.perf_counter, datetime.datetime, tick
    fault, unread = clock_fault(take)
    assert said in fault and unread == ""
    assert before == (time.time, time.perf_counter, datetime.datetime, tick)


def test_a_clock_whose_reading_changes_nothing_is_not_blamed():
    def timed():
        begun = time.perf_counter()
        result = ONE * 2
        return (result if time.perf_counter() >= begun else result * 1,)

    assert clock_fault(timed) == ("", "")
    assert clock_fault(lambda: (ONE,)) == ("", "")


def test_a_clock_that_cannot_be_put_forward_leaves_it_open():
    def hidden(clock=[time.time]):  # noqa: B006 - where no name holds it
        return (ONE * (1 if clock[0]() < 1e12 else 2),)

    fault, unread = clock_fault(hidden)
    assert fault == "" and "reads the clock (time.time)" in unread


def annealed(theta, *, h, grad, T):
    temperature = T * (1 + 0 * STARTED) if time.perf_counter() - STARTED < 900 else T / 2
    return theta - h * grad(theta) + (2 * temperature * h) ** 0.5 * torch.randn_like(theta)


def test_a_step_that_cools_with_the_time_of_day_is_no_function_of_its_state(monkeypatch):
    # Clocks are put forward, so that the step must be before its switch however long the tests take.
    monkeypatch.setitem(annealed.__globals__, "STARTED", time.perf_counter())
    subject = make_subject(torch_step(langevin)(annealed), load_configuration(None))
    found = check_pure_step(Question(subject, find_claim("sgverify/pure-step"), "pure-step"))
    assert (
        found.verdict == "inconclusive"
        and "depends on the clock, which it reads by time.perf_counter" in found.reason
    )
