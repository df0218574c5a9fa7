"""Assumption 2 of chen2015 on the steps, by the sums of powers of l."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sgverify.checks import verify
from sgverify.checks.assumptions.target import judge_powers
from tests.tables import each_row

CLAIM = "chen2015/assumption-2"


@pytest.mark.parametrize(("alpha", "order"), [(None, 2), (0.2, 2), (0.9, 2), (0.5, 1)])
def test_powers_below_1_meet_it_and_the_points_are_the_sums(alpha: float | None, order: int) -> None:
    name = "sghmc-aboba" if order == 2 else "sgld-euler"
    schedule = {"kind": "power", "scale": 0.01, **({"alpha": alpha} if alpha else {})}
    (found,) = verify(name, checks=[CLAIM], schedule=schedule, target={"name": "gaussian"})
    assert found.verdict == "conforms"
    power = alpha or 1 / (order + 1)
    steps = 0.01 * np.arange(1, 10**4 + 1) ** -power
    for point in found.points[:2]:
        taken = steps[: point.length]
        assert point.value == pytest.approx((taken ** (order + 1)).sum() / taken.sum(), rel=1e-10)
        assert point.error_bound < 1e-10 * point.value
    assert [p.value for p in found.points] == sorted((p.value for p in found.points), reverse=True)


@each_row(
    ("alpha", "order", "verdict", "said"),
    [
        (Fraction(3, 2), 1, "violates", "is finite"),
        (Fraction(101, 100), 2, "violates", "is finite"),
        (Fraction(0), 1, "violates", "does not decrease"),
        (Fraction(-1, 2), 2, "violates", "does not decrease"),
        (Fraction(1), 1, "conforms", "like 1/log L"),
        (Fraction(1, 3), 2, "conforms", "like L^-2/3 log L"),
        (Fraction(1, 4), 2, "conforms", "like L^-1/2"),
    ],
)
def test_the_edges(alpha: Fraction, order: int, verdict: str, said: str) -> None:
    found = judge_powers(alpha, order)
    assert found.verdict == verdict and said in found.reason


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("cyclical", "violates"), ("fixed", "not-applicable"), ("horizon", "not-applicable")],
)
def test_other_schedules(kind: str, verdict: str) -> None:
    (found,) = verify("sgld-euler", checks=[CLAIM], schedule={"kind": kind}, target={"name": "gaussian"})
    assert found.verdict == verdict
