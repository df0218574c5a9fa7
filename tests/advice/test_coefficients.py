"""How large the bias is told to be, against chains that are computed or run beside it; see `python -m reports coefficients`."""

from __future__ import annotations

import numpy as np
import pytest

from reports.making.coefficients import BAR, CASES, Row, compared
from sgverify.advice.closure.gaussian_closure import GaussianClosure
from sgverify.advice.size.coupled import _read
from sgverify.advice.size.finding import how_large
from sgverify.advice.size.model import HowLarge
from sgverify.configuration import load_configuration
from sgverify.subject.binding import make_subject


@pytest.mark.by_default("0", "1", "8", "12")
@pytest.mark.parametrize("place", range(len(CASES)), ids=str)
def test_what_is_told_is_the_reference_to_one_per_cent(place: int) -> None:
    row = compared(CASES[place])
    assert isinstance(row, Row), row
    off = abs(row.told - row.reference) - 3 * row.error
    # An approximation may be off by more, and then says so.
    assert off <= max(BAR * abs(row.reference), row.stated)
    # Where it says nothing of itself it is exact, or from a grid.
    assert row.stated or off <= 0.002 * abs(row.reference)


def told(scheme: str, **given: object) -> HowLarge:
    answer = how_large(make_subject(scheme, load_configuration(how_large="run", **given)))
    assert answer is not None
    return answer


def test_a_coupled_run_tells_the_bias_of_euler_with_its_error() -> None:
    given = {
        "target.name": "gaussian",
        "target.precision": 4.0,
        "schedule.step": 0.05,
        "chains": 64,
        "steps": 2000,
    }
    answer = told("sgld-euler", **given)
    # theta' = (1 - hP) theta + sqrt(2Th) xi is wider by (1 - hP/2)^(-1/2).
    true = (1 - 0.05 * 4 / 2) ** -0.5 - 1
    assert answer.method == "run" and answer.worst == ("sd", 0)
    assert abs(answer.sd_bias[0] - true) <= answer.sd_error[0] <= 0.1 * true
    assert answer.sentence.startswith("h = 0.05: sd 5.") and " ± " in answer.sentence
    assert answer == told("sgld-euler", **given)


def test_a_run_tells_thermostats_too_and_is_no_guide_where_chains_remember_their_start() -> None:
    given = {"target.name": "gaussian", "schedule.step": 0.05, "chains": 64, "steps": 4000}
    answer = told("sgnht-euler", **given)
    assert answer.distrust is None and answer.momentum_temperature is not None and answer.independent_draw
    short = told("sgnht-euler", **{**given, "steps": 100})
    assert short.distrust is not None and "--set steps=" in short.distrust
    assert "this run is no guide" in short.sentence


def test_three_steps_leave_out_two_powers_of_h() -> None:
    random, steps = np.random.default_rng(0), 0.2 * 0.5 ** np.arange(3)
    sd = 1.5 + 0.3 * steps**2 - 0.4 * steps**3
    chains = 1e-6 * random.standard_normal((1, 1, 1000))
    first = np.zeros((1, 3, 1)) + chains
    second = (sd**2)[None, :, None] + chains
    found = _read(first, second, np.zeros((0, 1000)), 2, 100, 0.2)
    np.testing.assert_allclose(found.sd, sd[0] / 1.5 - 1, atol=1e-6)
    np.testing.assert_allclose(found.sd_constant, 0.3 / 1.5, rtol=1e-3)


@pytest.mark.parametrize("scheme", ["sgld-euler", "sghmc-aboba"])
def test_the_approximation_says_that_nothing_is_left_out_where_it_is_exact(scheme: str) -> None:
    given = {"target.name": "linear-regression", "target.size": 20, "target.dim": 2, "schedule.step": 0.01}
    mean, sd = GaussianClosure(make_subject(scheme, load_configuration(**given))).uncertainty(0.01)
    assert mean.max() < 1e-8 and sd.max() < 1e-8
