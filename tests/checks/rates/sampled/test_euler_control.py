"""Euler controls: their coefficients against a Lyapunov equation, and what a bias lost in the noise means beside one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

from sgverify.checks import rate
from sgverify.checks.rates.sampled import euler_control as controls
from sgverify.checks.rates.sampled import plan as plans
from sgverify.checks.rates.sampled.controlled_plan import plan_sweep
from sgverify.checks.rates.sampled.stationary import _settle
from sgverify.configuration import load_configuration
from sgverify.evidence import Evidence
from sgverify.exact.readings.formula import plant
from sgverify.rates import decide_length_bias
from sgverify.schemes import Scheme, find_scheme
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

STEPS = [0.5 / 2**k for k in range(5)]
QUICK = {"target": {"name": "gaussian"}, "sweep": {"steps": STEPS}, "chains": 1024, "steps": 200}


def subject_of(scheme: Scheme | str, **settings) -> Subject:
    return make_subject(scheme, load_configuration({**QUICK, **settings}))


def asked(scheme: Scheme | str, **settings) -> Evidence:
    return rate(scheme, quantity="stationary-bias", method="monte-carlo", **{**QUICK, **settings})


def variance_of_explicit_euler(h: float, friction: float) -> float:
    """E theta^2 of theta' = theta + h p, p' = p - h theta - h D p + sqrt(2 D h) z."""
    step = np.array([[1.0, h], [-h, 1 - h * friction]])
    return float(solve_discrete_lyapunov(step, np.diag([0.0, 2 * friction * h]))[0, 0])


@pytest.mark.parametrize("friction", [1.0, 2.0, 5.0])
def test_the_control_is_the_candidate_of_the_largest_first_order_coefficient(friction: float) -> None:
    """Extrapolated from a Lyapunov equation; the Euler of Algorithm 2 has an error of h^2 only and is passed over."""
    subject = subject_of("sghmc-baoab", friction=friction)
    assert {item.reference for item in controls.candidates(subject)} == {
        "sghmc-euler",
        "sghmc-euler-explicit",
        "sghmc-momentum",
        "sghmc-momentum-0.001",
    }
    control = controls.control_of(subject, 1e-4, sampled=False)
    h = 1e-4
    first, second = ((variance_of_explicit_euler(step, friction) - 1) / step for step in (h, h / 2))
    assert control is not None and control.scheme == "sghmc-euler-explicit"
    assert control.coefficient == pytest.approx(2 * second - first, rel=1e-5) == control.bound


@pytest.mark.power  # 0.8 s
def test_a_bias_that_is_zero_conforms_beside_the_control() -> None:
    evidence = asked("sghmc-baoab")
    assert evidence.verdict == "conforms" and "is within the sampling noise" in evidence.reason
    assert evidence.certificate["control"] == {
        "scheme": "sghmc-euler-explicit",
        "first_order_coefficient": 0.5,
        "standard_error": 0.0,
        "at_least": 0.5,
        "how": "expansion of the exact law at h = 0",
        "level": 0.0,
    }


def test_too_few_chains_for_the_control_stay_inconclusive() -> None:
    """Noise of 0.02 at the largest step, where 15 % of the control's error are 0.04, leaves no room for the interval."""
    evidence = asked("sghmc-baoab", chains=32, steps=100)
    assert evidence.verdict == "inconclusive" and "control" in evidence.certificate


@pytest.mark.by_default("2")
@pytest.mark.parametrize("share", [5, 2])
def test_a_small_error_of_first_order_does_not_pass_beside_the_control(share: int) -> None:
    """A stronger kick by the factor 1 + h/share: a bias of -h/(2 share), 20 % and 50 % of the control's at T = 1."""
    wrong = plant(
        find_scheme("sghmc-baoab"),
        "p3 = p2 - h/2*grad(theta2)",
        f"p3 = p2 - (h/2+h*h/{share}/2)*grad(theta2)",
    )
    subject = subject_of(wrong)
    exact = controls._computed(subject)
    assert exact is not None and exact.coefficient == pytest.approx(-1 / (2 * share))
    _, decision = _settle(subject, plan_sweep(subject), 2)
    assert decision.verdict in ("violates", "inconclusive"), decision.reason


@pytest.mark.power  # 0.5 s
def test_a_control_without_a_first_order_settles_nothing_and_says_so() -> None:
    evidence = asked("sghmc-baoab", test_function="theta", chains=300)
    assert evidence.verdict == "inconclusive"
    assert "the first-order coefficient of its control sghmc-euler is 0;" in evidence.reason


def test_overdamped_euler_has_no_control_but_itself() -> None:
    assert controls.control_of(subject_of("sgld-euler"), 1e-4, sampled=True) is None


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "FIRST_WORK", 1e6)
    monkeypatch.setattr(plans, "FIRST_LOOK", (256, 512))
    monkeypatch.setattr(plans, "LOOKS", 2)
    monkeypatch.setattr(controls, "exact_answers", _unreached)
    monkeypatch.setattr(controls, "transfer_answers", _unreached)


def _unreached(subject: Subject) -> None:
    raise controls.Unreached("switched off")


@pytest.mark.usefixtures("cheap")
def test_a_sampled_control_has_the_exact_coefficient_and_a_bound_below_it() -> None:
    item = next(
        c for c in controls.candidates(subject_of("sghmc-baoab")) if c.reference == "sghmc-euler-explicit"
    )
    control = controls._sampled(item, 1e-3)
    assert abs(control.coefficient - 0.5) < 4 * control.standard_error
    assert 0 <= control.bound < 0.5 and control.how == "chains" and control.level == 1e-3
    assert bool(control.bound) != bool(control.why)
    assert math.isfinite(control.standard_error) and control.certificate["chains"] >= 256


@pytest.mark.power  # 0.6 s
@pytest.mark.usefixtures("cheap")
def test_a_sampled_control_that_is_not_told_from_zero_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains of Algorithm 2, whose error is h^2: no first order to find."""
    monkeypatch.setattr(controls, "_likeliest", lambda some: some[0])
    subject = subject_of("sghmc-baoab")
    control = controls.control_of(subject, 1e-3, sampled=True)
    assert control is not None and control.scheme == "sghmc-euler" and control.bound == 0
    assert "not told from 0 either" in control.why
    # What h^4 and higher powers leak into three terms on these steps, 0.01, is not taken for a first order.
    assert abs(control.coefficient) < 0.02


@pytest.mark.parametrize("kind", ["horizon", "power"])
def test_the_error_of_a_control_along_a_schedule(kind: str) -> None:
    steps = [0.7 * n**-0.4 for n in range(1, 51)]
    expected = steps[-1] if kind == "horizon" else sum(h * h for h in steps) / sum(steps)
    assert controls.first_order_error(kind, 0.4, 0.7, 50) == pytest.approx(expected)


def test_a_bias_along_a_schedule_that_is_lost_names_its_control() -> None:
    """Powers of L are harder to tell apart than powers of h: chains that one can pay for leave it open."""
    asked_of = {"target": {"name": "gaussian"}, "start": 1.0, "chains": 512}
    lengths = {"lengths": [100, 200, 400, 800]}
    evidence = rate("sghmc-baoab", quantity="bias", method="monte-carlo", sweep=lengths, **asked_of)
    assert evidence.certificate["control"]["scheme"] == "sghmc-euler-explicit"
    assert evidence.verdict == "inconclusive" and "is within the sampling noise" in evidence.reason


@pytest.mark.parametrize(("control", "verdict"), [(1.0, "conforms"), (1e-3, "inconclusive")])
def test_a_control_settles_a_bias_in_the_length(control: float, verdict: str) -> None:
    noise = np.array([1.0, -0.5, 0.3, 0.8, -0.2]) * 1e-4
    found = decide_length_bias(
        [100, 400, 1600, 6400, 25600],
        noise,
        standard_errors=np.full(5, 1e-4),
        order=2,
        alpha=Fraction(1, 3),
        level=1e-3,
        chains=1000,
        control=control,
    )
    assert found.lost and found.verdict == verdict, found.reason
