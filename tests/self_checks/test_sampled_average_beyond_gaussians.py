"""Agreement where no closed form exists: the running code against transfer operators, and planted bugs in what runs."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import tests.self_checks.sampled_average as agreement
from sgverify.exact.readings.formula import plant
from sgverify.samplers import Settings
from sgverify.schemes import find_scheme
from tests.self_checks import running_average_law
from tests.self_checks.finding import Finding
from tests.self_checks.registry import self_check

WELL = {
    "target": {"name": "double-well"},
    "temperature": 0.5,
    "friction": 3.0,
    "steps": 80,
    "test_function": "theta**4",
}
"""The average of theta^2 hardly depends on the temperature here; that of theta^4 does."""
LOGISTIC = {"target": {"name": "logistic-regression", "size": 6}, "temperature": 0.5, "steps": 80}


def evidence_of(name: str, **settings: object) -> Finding:
    found = self_check("agreement", find_scheme(name), **settings)  # type: ignore[arg-type]
    return found


@pytest.mark.by_default(
    "sgld-euler-settings0", "sghmc-aboba-settings2", "sgld-euler-settings4", "sghmc-euler-settings5"
)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("sgld-euler", WELL),
        ("sghmc-baoab", {**WELL, "steps": 30}),
        ("sghmc-aboba", {**LOGISTIC, "steps": 30}),
        ("sgld-euler", {**LOGISTIC, "gradient": {"kind": "iid", "batch": 2}, "steps": 20}),
        ("sgld-euler", {**LOGISTIC, "gradient": {"kind": "without-replacement", "batch": 1, "scale": 2.0}}),
        ("sghmc-euler", {**WELL, "test_function": "p**2", "start_momentum": "stationary", "steps": 10}),
    ],
)
def test_the_running_code_agrees_with_the_grids(name: str, settings: dict[str, object]) -> None:
    found = evidence_of(name, **settings)
    assert (found.verdict, found.method) == ("conforms", "monte-carlo"), found.reason
    law = found.certificate["transient"]
    assert 0 <= law["mean_error"] < 1e-4 * law["variance"] ** 0.5
    assert law["leaves_the_grid"] < running_average_law.ESCAPING


@pytest.mark.by_default(
    "sgld-euler-settings0-sqrt(2*T*h)-sqrt(T*h)",
    "sgld-euler-settings1-sqrt(2*T*h)-sqrt(2*h)*T",
    "sgld-euler-settings2-h*grad(theta)-h*grad(theta)/2",
    "sghmc-aboba-settings4-sqrt(2*D*T*h)-sqrt(D*T*h)",
)
@pytest.mark.parametrize(
    ("name", "settings", "was", "now"),
    [
        ("sgld-euler", WELL, "sqrt(2*T*h)", "sqrt(T*h)"),
        ("sgld-euler", WELL, "sqrt(2*T*h)", "sqrt(2*h)*T"),
        ("sgld-euler", LOGISTIC, "h*grad(theta)", "h*grad(theta)/2"),
        ("sghmc-baoab", WELL, "h/2*grad(theta)", "h/2*grad(theta)/2"),
        ("sghmc-aboba", {**LOGISTIC, "steps": 30}, "sqrt(2*D*T*h)", "sqrt(D*T*h)"),
    ],
)
def test_other_noise_drift_or_temperature_is_refuted(
    monkeypatch: pytest.MonkeyPatch, name: str, settings: dict[str, object], was: str, now: str
) -> None:
    plain, other = agreement.sample, plant(find_scheme(name), was, now)
    monkeypatch.setattr(agreement, "sample", lambda scheme, *rest, **more: plain(other, *rest, **more))
    assert evidence_of(name, **settings).verdict == "violates"


def test_a_wrong_temperature_of_the_run_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    def warm(configuration, **changes):
        return Settings(temperature=1.0, friction=3.0, **changes)

    monkeypatch.setattr(agreement, "Settings", type("Warm", (), {"of": staticmethod(warm)}))
    assert evidence_of("sghmc-baoab", **WELL).verdict == "violates"


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        ("sgnht-euler", WELL, r"no grid holds the state \(theta, p, xi\)"),
        (
            "sghmc-baoab",
            {**WELL, "target": {"name": "double-well", "dim": 2}, "test_function": "theta[0]"},
            "the target has dim=2",
        ),
        (
            "sgld-euler",
            {**LOGISTIC, "gradient": {"kind": "reshuffle", "batch": 2}},
            "gradient.kind='reshuffle'",
        ),
        ("sgld-euler", {**LOGISTIC, "gradient": {"kind": "iid", "batch": 4}}, "126 different minibatches"),
        ("sgld-euler", {**LOGISTIC, "gradient": {"clip": 1.0}}, "a clipped gradient is not smooth"),
        ("sgld-euler", {**WELL, "schedule": {"step": 0.3}}, "escape: at h=0.3"),
        ("sghmc-euler-explicit", {**LOGISTIC, "steps": 1}, "the grids know the"),
        # theta^3 of one tiny step from a point of symmetry: a variance so small that no grid resolves its fourth moment.
        (
            "sghmc-ubu",
            {
                "target": {"name": "double-well", "height": 3, "tilt": 0},
                "start": 0,
                "steps": 1,
                "test_function": "theta**3",
                "seed": 863730,
            },
            "the grids know the",
        ),
    ],
)
def test_what_is_out_of_reach_is_said(name: str, settings: dict[str, object], why: str) -> None:
    found = evidence_of(name, **settings)
    assert found.verdict == "inconclusive"
    assert re.search(why, found.reason), found.reason


def test_chains_that_may_escape_and_do_are_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*given: object) -> None:
        raise agreement.ChainsDiverged("at step 7")

    monkeypatch.setattr(agreement, "_averages", gone)
    assert evidence_of("sgld-euler", **WELL).verdict == "violates"
    plain = agreement.law_of_average
    monkeypatch.setattr(agreement, "law_of_average", lambda subject: replace(plain(subject), escaping=1e-7))
    found = evidence_of("sgld-euler", **WELL)
    assert found.verdict == "inconclusive" and found.reason.startswith("escape")


def test_a_landscape_of_many_modes_is_decided_with_as_many_chains_as_its_tails_ask_for() -> None:
    found = evidence_of("sgld-euler", target={"name": "rastrigin"}, steps=200)
    assert found.verdict == "conforms", found.reason
    assert found.certificate["looks"]["planned"][0] > 256
