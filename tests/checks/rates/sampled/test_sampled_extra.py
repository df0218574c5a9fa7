"""Chains of the largest step alone: few where differences decide, many where the level does, none where nothing can."""

from __future__ import annotations

import numpy as np
import pytest

from sgverify.checks.rates.sampled import plan as plans
from sgverify.checks.rates.sampled.plan import LEAST, MOST, extra_chains, shares_of
from sgverify.configuration import load_configuration
from sgverify.rates.decision import contrasts_of
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

STEPS = [2.0**-k for k in range(5)]


def subject_of(name: str) -> Subject:
    return make_subject(name, load_configuration({"target": {"name": "gaussian"}}))


def errors(correlation: float) -> np.ndarray:
    rng = np.random.default_rng(1)
    own = rng.standard_normal((5, 4000))
    return correlation**0.5 * rng.standard_normal(4000) + (1 - correlation) ** 0.5 * own


def test_the_first_order_asks_for_the_level_and_the_second_for_differences() -> None:
    """With K = 1 the constant is on trial, which only the level shows; with K = 2 mostly h^1, which differences show."""
    first, second = (
        extra_chains(subject_of(name), STEPS, errors(0.99)) for name in ("sgld-euler", "sghmc-aboba")
    )
    assert first == MOST and second < 3


@pytest.mark.parametrize("lost", [[0], [1, 2, 3]])
def test_rows_that_diverged_leave_nothing_to_settle(lost: list[int]) -> None:
    table = errors(0.9)
    table[lost] = np.nan
    assert extra_chains(subject_of("sgld-euler"), STEPS, table) == 0


def test_other_rows_that_diverged_are_left_out() -> None:
    table = errors(0.99)
    table[4] = np.nan
    assert extra_chains(subject_of("sgld-euler"), STEPS, table) == MOST


def test_copies_of_a_row_leave_it_at_the_most() -> None:
    assert extra_chains(subject_of("sgld-euler"), STEPS, np.zeros((5, 100))) == MOST


def test_independent_steps_share_the_work_to_the_benefit_of_the_decision() -> None:
    """The same work, no average shorter than a quarter, and the contrasts that decide at four fifths of the variance or less."""
    subject, steps = subject_of("sghmc-aboba"), [0.9, 0.6, 0.4, 0.25, 0.15]
    shares, cost = np.array(shares_of(subject, steps)), 1 / np.array(steps)
    assert shares @ cost <= cost.sum() and min(shares) >= LEAST
    variances = [
        max(c.variance(np.diag(given)) for c in contrasts_of(steps, 2)) for given in (shares, np.ones(5))
    ]
    assert variances[0] < 0.8 * variances[1]
    assert shares_of(subject, steps[:2]) == ()


def test_a_plan_of_independent_steps_takes_the_shares() -> None:
    steps = [0.9, 0.6, 0.4, 0.25, 0.15]
    settings = {"target": {"name": "gaussian"}, "sweep": {"steps": steps}}
    plan = plans.plan_by_pilot(make_subject("sghmc-aboba", load_configuration(settings)))
    assert not plan.coupled and plan.shares == shares_of(subject_of("sghmc-aboba"), steps)
    times = [(row.lengths[2] - row.lengths[0]) * step for row, step in zip(plan.rows(), steps, strict=True)]
    assert times == pytest.approx([plan.time * share for share in plan.shares], rel=0.05)
    fixed = plans.plan_by_pilot(make_subject("sghmc-aboba", load_configuration({**settings, "steps": 300})))
    assert fixed.shares == ()
