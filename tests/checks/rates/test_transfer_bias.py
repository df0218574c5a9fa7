"""The rung of transfer operators: exact verdicts beyond Gaussians, escape named, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sgverify.checks import rate, verify
from sgverify.checks.question import Question
from sgverify.checks.rates import transfer
from sgverify.checks.rates.leading_bias import BiasTerm, LeadingBias
from sgverify.errors import InstabilityError
from sgverify.evidence import Evidence
from sgverify.exact.transfer.line.bias import LineAnswers
from sgverify.exact.transfer.result import Escape, GridBias
from sgverify.report.wording import found_text, vanishes
from sgverify.schemes import Scheme
from tests.zoo.schemes import heun, planted_drift, weak_noise


def asked(
    scheme: Scheme | str, target: str | dict[str, Any], method: str | None = None, **given: Any
) -> Evidence:
    settings = {"name": target} if isinstance(target, str) else target
    return rate(scheme, quantity="stationary-bias", method=method, target=settings, **given)


def test_euler_on_a_double_well_is_settled_exactly_with_its_constant_and_its_escape() -> None:
    evidence = asked("sgld-euler", "double-well")
    assert (evidence.verdict, evidence.method, evidence.sharp) == ("conforms", "exact", True)
    assert (evidence.found.exponent, evidence.found.low, evidence.found.high) == (1, 1, 1)
    assert "escape" in evidence.reason
    assert "quasi-stationary" in evidence.reason
    assert evidence.claim == "sgverify/quasi-stationary"
    assert len(evidence.points) == 5
    for point in evidence.points:
        assert point.kind == "exact"
        assert point.value is not None
        assert 0 < point.error_bound < 1e-9 * abs(point.value)
        assert "escape" in point.note
    assert evidence.certificate["law"] == "quasi-stationary"
    assert evidence.certificate["stationary_bias"]["h^0"] == "0"
    assert set(evidence.certificate["escape"]) == set(evidence.certificate["grids"])


@pytest.mark.power  # 0.8 s
def test_a_scheme_of_order_two_is_sharp_on_a_mixture_without_escape() -> None:
    evidence = asked(heun, "mixture", sweep={"steps": [0.008, 0.004, 0.002]})
    assert (evidence.verdict, evidence.found.exponent, evidence.sharp) == ("conforms", 2, True)
    assert evidence.certificate["law"] == "stationary"
    assert "escape" not in evidence.reason
    assert all(point.note is None for point in evidence.points)


def test_noise_that_is_too_weak_violates_at_order_zero() -> None:
    evidence = asked(weak_noise, "mixture", sweep={"steps": [0.02]})
    assert (evidence.verdict, evidence.found.exponent, evidence.predicted.exponent) == ("violates", 0, 1)


def test_a_planted_weight_shows_as_order_one() -> None:
    evidence = asked(planted_drift, "mixture", sweep={"steps": [0.004]})
    assert (evidence.verdict, evidence.found.exponent) == ("conforms", 1)


@pytest.mark.power  # 0.7 s
def test_a_bias_that_vanishes_for_a_reason_that_no_algebra_sees_conforms_without_an_exponent() -> None:
    evidence = asked("sgld-euler", "quartic", test_function="theta**3", sweep={"steps": [0.01]})
    assert (evidence.verdict, evidence.found.exponent) == ("conforms", None)
    assert f"; order h^{evidence.found.low} at least, as predicted; " in evidence.reason
    # It may be zero and is not known to be.
    assert not vanishes(evidence) and found_text(evidence) == f"h^{evidence.found.low} or faster"


def test_what_is_not_told_from_zero_below_the_prediction_settles_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    doubtful = LeadingBias(
        (BiasTerm(Fraction(0), 1e-15, 1e-14), BiasTerm(Fraction(1), -0.682043395691047, 1e-14))
    )
    monkeypatch.setattr(transfer, "leading_bias", lambda *_: doubtful)
    evidence = asked("sgld-euler", "double-well", sweep={"steps": [0.001]})
    assert evidence.verdict == "inconclusive"
    assert "not told from 0" in evidence.reason


def test_grids_that_contradict_the_proof_settle_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bias at every step size, where the term of order 0 is proved to vanish."""
    true = LineAnswers.stationary_bias

    def planted(self: LineAnswers, step: float) -> GridBias:
        bias = true(self, step)
        assert bias.value is not None
        return replace(bias, value=bias.value + 1e-3)

    monkeypatch.setattr(LineAnswers, "stationary_bias", planted)
    evidence = asked("sgld-euler", "double-well")
    assert evidence.verdict == "inconclusive"
    assert "disagree" in evidence.reason


@pytest.mark.by_default("given0")
@pytest.mark.parametrize("given", [{"sweep": {"steps": [0.01, 2.0]}}, {"schedule": {"step": 2.0}}])
def test_a_chosen_step_at_which_the_chain_is_lost_is_refused_with_its_leak(given: dict[str, Any]) -> None:
    with pytest.raises(
        InstabilityError, match=r"h=2 is too large.* (of its mass per step|within a standard deviation)"
    ):
        asked("sgld-euler", "quartic", **given)


@pytest.mark.parametrize(
    ("scheme", "target", "given", "why"),
    [
        ("sgld-euler", {"name": "quartic", "dim": 2}, {"test_function": "theta[0]**2"}, "dim=2"),
        ("sgld-euler", "logistic-regression", {"gradient": {"kind": "iid", "batch": 2}}, "full gradients"),
        ("sgld-euler", "logistic-regression", {"gradient": {"clip": 1.0}}, "not smooth"),
        ("sgld-euler", "logistic-regression", {"gradient": {"scale": 2.0}}, "unbiased"),
    ],
)
def test_what_the_grids_do_not_reach_is_refused_by_name(
    scheme: str, target: str | dict[str, Any], given: dict[str, Any], why: str
) -> None:
    evidence = asked(scheme, target, "exact", **given)
    assert evidence.verdict == "inconclusive"
    assert "not quadratic" in evidence.reason
    assert why in evidence.reason


def test_samples_stay_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def recorded(question: Question, why: str = "") -> Evidence:
        seen.append((question.quantity, why))
        return replace(exact, method="monte-carlo")

    exact = asked("sgld-euler", "quartic", sweep={"steps": [0.01]})
    monkeypatch.setattr(Question, "by_chains", recorded)
    assert asked("sgld-euler", "quartic", "monte-carlo").method == "monte-carlo"
    assert seen == [("stationary-bias", "")]


@pytest.mark.power  # 1.3 s
def test_a_kinetic_scheme_has_its_grids_in_the_plane_and_what_is_passed_over_is_said() -> None:
    """Algorithm 2 is of order 2 in theta; that its first coefficient is 0 is computed here, and not proved."""
    evidence = asked("sghmc-euler", "double-well", sweep={"steps": [0.04, 0.02, 0.01]})
    assert (evidence.verdict, evidence.method) == ("conforms", "exact")
    found = evidence.found
    assert (found.exponent, found.high) == (2, 2)
    if "not told from 0" in evidence.reason:
        assert found.low == 1


def test_verify_takes_the_rung_too() -> None:
    found = verify(
        "sgld-euler", target={"name": "quartic"}, sweep={"steps": [0.01]}, checks=["stationary-bias"]
    )
    evidence = next(item for item in found if item.check == "stationary-bias")
    assert (evidence.method, evidence.verdict, evidence.refuted) == ("exact", "conforms", False)


@pytest.mark.by_default("sghmc-euler-quartic-1-2")
@pytest.mark.parametrize(
    ("scheme", "target", "predicted", "found"),
    [("sghmc-aboba", "quartic", 2, 2), ("sghmc-euler", "quartic", 1, 2)],
)
def test_kinetic_schemes_are_settled_exactly_in_the_plane(
    scheme: str, target: str, predicted: int, found: int
) -> None:
    # Algorithm 2 has local order 1, and its bias in theta is of order 2 all the same.
    evidence = asked(scheme, target, sweep={"steps": [0.16 / k for k in range(1, 6)]})
    assert (evidence.verdict, evidence.method) == ("conforms", "exact")
    assert (evidence.predicted.exponent, evidence.found.exponent) == (predicted, found)
    assert evidence.certificate["law"] == "quasi-stationary"


def test_a_thermostat_has_no_grid() -> None:
    evidence = asked("sgnht-euler", "quartic", "exact")
    assert evidence.verdict == "inconclusive"
    assert "none for the state (theta, p, xi)" in evidence.reason


def no_grid(_: LineAnswers, step: float) -> GridBias:
    return GridBias(step=step, value=None, error_bound=0.0, note="no law was found")


def test_what_holds_as_h_goes_to_0_is_no_answer_where_no_configured_step_has_a_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = LeadingBias(
        (BiasTerm(Fraction(0), 0.0, 0.0, proved_zero=True), BiasTerm(Fraction(1), -0.68, 1e-14))
    )
    monkeypatch.setattr(transfer, "leading_bias", lambda *_: known)
    monkeypatch.setattr(LineAnswers, "stationary_bias", no_grid)
    evidence = asked("sgld-euler", "double-well")
    assert evidence.verdict == "inconclusive" and not evidence.sharp
    assert (
        "the configured steps, of which nothing is known: " in evidence.reason
        and "no law was found" in evidence.reason
    )


def test_coefficients_that_were_not_computed_are_no_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    short = LeadingBias((BiasTerm(Fraction(0), 0.0, 0.0, proved_zero=True),))
    monkeypatch.setattr(transfer, "leading_bias", lambda *_: short)
    monkeypatch.setattr(LineAnswers, "stationary_bias", no_grid)
    evidence = asked(heun, "mixture")
    assert evidence.verdict == "inconclusive"
    assert "required h^2; of the stationary bias of theta**2 not all coefficients" in evidence.reason


@pytest.mark.power  # 0.8 s
def test_a_claim_about_ergodic_chains_does_not_conform_by_the_law_of_a_transient_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed = LineAnswers.stationary_bias

    def escaping(answers: LineAnswers, step: float) -> GridBias:
        return replace(computed(answers, step), escape=Escape((-9.0, 9.0), 0.0, "escape"))

    monkeypatch.setattr(LineAnswers, "stationary_bias", escaping)
    evidence = asked(heun, "mixture", sweep={"steps": [0.008, 0.004, 0.002]})
    assert evidence.claim.endswith("/theorem-4")
    assert (evidence.verdict, evidence.sharp, evidence.found.exponent) == ("inconclusive", False, 2)
    assert "assumes an ergodic chain; the law is that before escape" in evidence.reason
