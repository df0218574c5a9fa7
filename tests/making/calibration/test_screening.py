"""Screen and confirm, counted: against the exact chances of a normal oracle, and with a rule that does not confirm."""

from __future__ import annotations

import pytest
from scipy.stats import norm

from reports.making.calibration import ERRORS, count, tally
from reports.making.calibration.screening import FOUND, ScreenSetting, screening_plan
from sgverify.testing.planting import edited_source
from tests.screening import CONFIRM, FACTOR, SCREEN


def test_the_plan_has_every_law_and_says_which_examples_are_faulty() -> None:
    described = [setting.described() for setting, _ in screening_plan().settings]
    assert {cell["errors"] for cell in described} == set(ERRORS)
    assert {cell["truth"] for cell in described} == {"keeps", "either", "breaks"}
    assert norm.sf(FOUND - SCREEN) < 1 / 8000


@pytest.mark.parametrize("shift", [0.0, 2.0, 6.0])
def test_counts_are_those_of_the_exact_chances(shift: float) -> None:
    runs = 400
    found = tally(setting := ScreenSetting(shift, "Gaussian"), count(setting, replications=runs, seed=1))
    expected = norm.sf(SCREEN - shift) * norm.sf(CONFIRM - FACTOR**0.5 * shift)
    assert abs(found.violates - runs * expected) <= 4 * (runs * expected * (1 - expected)) ** 0.5 + 1
    assert found.inconclusive == 0


def test_a_screen_that_is_not_confirmed_breaks_the_bar() -> None:
    edit = (('z(seed_of(example, "confirm"), FACTOR * budget)', "math.inf"),)
    setting = ScreenSetting(0.0, "Gaussian")
    assert count(setting, replications=1000, seed=1).violates == 0
    with edited_source("tests.screening:screen_and_confirm", edit):
        assert count(setting, replications=1000, seed=1).violates >= 3
