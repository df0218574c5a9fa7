"""Chains beside a Gaussian control: the same expectation, less noise, wrong steps refuted, what is out of reach refused early."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sgverify.checks import make_subject, rate
from sgverify.checks.rates.sampled import controlled_plan, gaussian_control, sweep
from sgverify.checks.rates.sampled.controlled_plan import plan_sweep
from sgverify.checks.rates.sampled.gaussian_control import GaussianControl
from sgverify.checks.rates.sampled.method import run_chains
from sgverify.checks.rates.sampled.plan import NoSweep, SweepPlan
from sgverify.checks.rates.sampled.sweep import looks_at
from sgverify.checks.subject.subject import Subject
from sgverify.configuration import load_configuration
from sgverify.exact.readings.formula import plant
from sgverify.samplers import Fixed, Row
from sgverify.schemes import find_scheme

LOGISTIC = {"name": "logistic-regression", "dim": 2, "size": 400, "data_seed": 3}
BENT = """
import sgverify

@sgverify.log_density(dim=2)
def bent(theta):
    x, y = theta.unbind(-1)
    return -x**2/2 - (y - 0.05*x**2)**2
"""

NOISY = {"kind": "iid", "batch": 100}
FEW = {"sweep": {"steps": [0.004, 0.003, 0.002, 0.001]}, "chains": 100, "steps": 30, "burn_in": 80}
"""Step sizes and lengths of a short run."""


def subject_of(**settings: Any) -> Subject:
    given = {"target": LOGISTIC, "gradient": NOISY, **settings}
    return make_subject("sgld-euler", load_configuration(given))


def planned(subject: Subject) -> tuple[SweepPlan, GaussianControl]:
    plan = plan_sweep(subject)
    assert plan.control is not None
    return plan, plan.control


def test_the_gaussian_has_the_mean_covariance_and_gradients_of_the_target() -> None:
    subject = subject_of()
    control = gaussian_control.gaussian_control(subject)
    assert control is not None
    found, target = control.subject.target, subject.target
    grid = np.linspace(-8, 8, 161)
    points = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
    points = target.location_float64(1.0) + points * target.spread_float64(1.0)
    energies = target.energy_float64(points)
    weights = np.exp(energies.min() - energies)
    weights /= weights.sum()
    mean = weights @ points
    covariance = (points - mean).T @ (weights[:, None] * (points - mean))
    # The weighted draws are 8192 at least, and a covariance has no control variates.
    np.testing.assert_allclose(found.mean_float64(), mean, atol=0.02 * np.sqrt(covariance.max()))
    np.testing.assert_allclose(found.covariance_float64(), covariance, rtol=0.05)
    # The noise of a minibatch is that at the mean: N^2/n times the covariance of the data's gradients.
    x, y = target.data[:, :-1], target.data[:, -1]  # type: ignore[index]
    gradients = x * (1 / (1 + np.exp(-x @ found.mean_float64())) - y)[:, None]
    expected = 400**2 / 100 * np.cov(gradients.T, bias=True)
    noise = np.array([[float(v) for v in row] for row in control.subject.noise.covariance.tolist()])  # type: ignore[union-attr]
    np.testing.assert_allclose(noise, expected, rtol=1e-3)


def test_the_control_takes_noise_away_and_leaves_the_expectation() -> None:
    subject = subject_of(**FEW)
    plan, _ = planned(subject)
    (found,) = looks_at(subject, plan, "test")
    assert found.taken is not None and max(found.noise_left) < 0.1
    plain = found.errors + found.taken
    gap = plain.mean(-1) - found.errors.mean(-1)
    assert (np.abs(gap) < 4 * found.taken.std(-1) / 100**0.5).all()
    assert found.disagreement() == ""


def test_another_gaussian_changes_the_noise_and_not_the_expectation(monkeypatch: pytest.MonkeyPatch) -> None:
    near = subject_of(**FEW)
    (one,) = looks_at(near, plan_sweep(near), "test")
    original = gaussian_control._target

    def far(subject: Subject, mean: np.ndarray, covariance: np.ndarray, data: bool) -> Any:
        return original(subject, mean + 0.3 * np.sqrt(np.diag(covariance)), 1.3 * covariance, data)

    monkeypatch.setattr(gaussian_control, "_target", far)
    other = subject_of(**FEW)
    (two,) = looks_at(other, plan_sweep(other), "test")
    assert min(np.array(two.noise_left) / one.noise_left) > 1.2
    gaps = two.errors - one.errors
    assert (np.abs(gaps.mean(-1)) < 4 * gaps.std(-1) / 100**0.5).all()


@pytest.fixture
def bent(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "bent.py"
    path.write_text(BENT)
    return {"target": {"name": f"{path}:bent"}, "chains": 512, "steps": 60, "schedule": {"step": 0.5}}


def test_a_right_step_conforms_and_wrong_ones_are_refuted(bent: dict[str, Any]) -> None:
    right = rate("sgld-euler", quantity="stationary-bias", **bent)
    assert right.verdict == "conforms" and right.method == "monte-carlo", right.reason
    assert max(right.certificate["gaussian_control"]["variance_left"].values()) < 0.1
    for text, mistake in (("sqrt(2*T*h)", "sqrt(1.7*T*h)"), ("h*grad(theta)", "(h + h/4)*grad(theta)")):
        wrong = rate(plant(find_scheme("sgld-euler"), text, mistake), quantity="stationary-bias", **bent)
        assert wrong.verdict == "violates" and wrong.reason.startswith("h^0 carries"), wrong.reason


def test_a_control_that_its_exact_law_does_not_describe_settles_nothing(
    bent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    average = GaussianControl.average

    def shifted(self: GaussianControl, step: float) -> tuple[float, float]:
        value, error = average(self, step)
        return value + 0.3 * self.spread, error

    monkeypatch.setattr(GaussianControl, "average", shifted)
    found = rate("sgld-euler", quantity="stationary-bias", **bent)
    assert found.verdict == "inconclusive" and "the control is none" in found.reason, found.reason


def test_what_chains_cannot_decide_is_refused_after_a_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    """BAOAB has hardly a bias with full gradients: the reason names bias, noise and the steps that a decision takes."""
    work = []

    def counted(subject: Subject, rows: list[Row], **given: Any) -> Any:
        work.append(given["count"] * sum(row.lengths[-1] for row in rows))
        return run_chains(subject, rows, **given)

    monkeypatch.setattr(controlled_plan, "run_chains", counted)
    monkeypatch.setattr(sweep, "run_chains", counted)
    subject = make_subject("sghmc-baoab", load_configuration(target=LOGISTIC))
    with pytest.raises(
        NoSweep,
        match=r"the noise hides the bias; .* has the noise .* a decision takes at least .* steps in all",
    ):
        plan_sweep(subject)
    assert len(work) == 2 and sum(work) < 1e5


def test_no_control_where_the_chain_is_no_affine_one() -> None:
    for scheme, settings in (
        ("sgnht-euler", {}),
        ("sgld-euler", {"gradient": {**NOISY, "clip": 5.0}}),
        ("sgld-euler", {"test_function": "theta[0]**3"}),
        ("sgld-euler", {"target": {"name": "gaussian-mean", "dim": 2}}),
    ):
        subject = make_subject(
            scheme, load_configuration({"target": LOGISTIC, "gradient": NOISY, **settings})
        )
        assert gaussian_control.gaussian_control(subject) is None


def test_the_same_minibatches_reach_both_targets() -> None:
    """Without them the noise of both chains would add up."""
    subject = subject_of()
    control = gaussian_control.gaussian_control(subject)
    assert control is not None
    rows = [Row(Fixed(0.01), (500, 1500))]
    one, two = (
        run_chains(item, rows, seed=3, first=0, count=64, start=0.0)[0].values[0, 1]
        for item in (subject, control.subject)
    )
    other = run_chains(replace(control.subject), rows, seed=4, first=0, count=64, start=0.0)[0].values[0, 1]
    assert np.corrcoef(one, two)[0, 1] > 0.95 > 0.5 > abs(np.corrcoef(one, other)[0, 1])
