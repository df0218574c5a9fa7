"""Averages are those of the states that the chains passed through, and every slip in taking them is refuted."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sgverify.configuration import load_configuration
from sgverify.samplers.run import schedules
from sgverify.schemes import find_scheme
from sgverify.subject.subject import Subject
from tests.mutants.planting import planted
from tests.mutants.registry import mutants
from tests.self_checks.averaging import AveragingRule, average, check_averaging
from tests.self_checks.finding import Finding

PLANE = {"name": "gaussian", "precision": [[2.0, 0.5], [0.5, 1.0]]}


def ask(scheme: str, **settings: Any) -> Finding:
    return check_averaging(Subject(find_scheme(scheme), load_configuration({"seed": 1, **settings}), scheme))


@pytest.mark.by_default(
    "sgnht-euler-settings1", "sgld-euler-settings2", "sgld-euler-settings3", "sgld-euler-settings4"
)
@pytest.mark.parametrize(
    ("scheme", "settings"),
    [
        ("sghmc-aboba", {"target": PLANE, "test_function": "theta[0]**2*p[1] - theta[1]/3 + 7"}),
        ("sgnht-euler", {"dtype": "float32", "gradient": {"kind": "iid"}}),
        ("sgld-euler", {"target": {"name": "double-well"}, "test_function": "theta**4 - 1/10"}),
        ("sgld-euler", {"burn_in": 500, "thinning": 7, "schedule": {"kind": "power"}}),
        ("sgld-euler", {"schedule": {"kind": "cyclical", "threshold": 0.7}}),
    ],
)  # fmt: skip
def test_correct_code_conforms(scheme: str, settings: dict[str, Any]) -> None:
    evidence = ask(scheme, **settings)
    assert evidence.verdict == "conforms" and evidence.method == "exact"
    # The bound is no looser than it has to be: rounding takes up a part of it.
    assert 0.005 < evidence.certificate["largest_error_in_units_of_its_bound"] < 1


SLIPS = {
    "uniform-weights-with-decreasing-steps": "it is the average with uniform weights",
    "weights-summed-as-counts": "rounding allows",
    "float32-sums": "rounding allows",
    "burn-in-one-short": "it is the average with the last state of the burn-in counted first",
    "thinning-counts-from-the-first-state": "it is the average with the first state after the burn-in counted first",
    "burn-in-of-a-row-ignored": "it is the average with the burn-in of the settings",
    "cyclical-explores-into-the-average": "it is the average over the exploring stages too",
}


def test_every_bug_of_the_averages_is_asked_for_here() -> None:
    families = ("averages", "schedules")
    assert {name for name, bug in mutants().items() if bug.family in families} >= set(SLIPS)


@pytest.mark.parametrize(("name", "told"), SLIPS.items(), ids=SLIPS)
def test_a_planted_slip_is_refuted_and_named(name: str, told: str) -> None:
    with planted(mutants()[name]) as subject:
        evidence = check_averaging(subject)
    assert evidence.verdict == "violates" and told in evidence.reason, evidence.reason


def test_steps_that_are_not_the_schedule_s_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    at = schedules.Power.at
    monkeypatch.setattr(schedules.Power, "at", lambda self, number: at(self, number + 1))
    evidence = ask("sgld-euler")
    assert (
        evidence.verdict == "violates"
        and "step 1 has the size 0.000793, expected 0.000999; with scale=" in evidence.reason
    )


def test_the_exact_average_is_that_of_numpy_and_its_bound_holds_for_a_sum_in_any_order() -> None:
    generator = np.random.default_rng(2)
    values = generator.standard_normal(50) * 10.0 ** generator.integers(-6, 6, 50)
    weights = generator.random(50)
    rule = AveragingRule(lambda l: l > 7 and l % 2 == 0, lambda l: Fraction(float(weights[l - 1])))
    pairs = [(Fraction(x), abs(Fraction(x))) for x in values.tolist()]
    exact, bound = average(pairs, rule, 50, 0)
    kept = [l - 1 for l in range(1, 51) if l > 7 and l % 2 == 0]
    assert float(exact) == pytest.approx(np.average(values[kept], weights=weights[kept]), rel=1e-12)
    for _ in range(20):
        generator.shuffle(kept)
        total = size = 0.0
        for k in kept:
            total, size = total + weights[k] * values[k], size + weights[k]
        assert abs(Fraction(float(total / size)) - exact) <= bound
    single = np.float32(0)
    for k in kept:
        single += np.float32(weights[k] * values[k])
    assert abs(Fraction(float(single / weights[kept].sum())) - exact) > 1e4 * bound
