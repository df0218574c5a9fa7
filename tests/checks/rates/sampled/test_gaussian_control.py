"""Chains beside a Gaussian control: the same expectation, less noise, wrong steps refuted, what is out of reach refused early."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sgverify.checks import rate
from sgverify.checks.rates.sampled import controlled_plan, gaussian_control, lengths, sweep
from sgverify.checks.rates.sampled.controlled_plan import moderate_step, plan_sweep
from sgverify.checks.rates.sampled.gaussian_control import GaussianControl
from sgverify.checks.rates.sampled.method import run_chains
from sgverify.checks.rates.sampled.plan import MODERATE, SweepPlan
from sgverify.checks.rates.sampled.sweep import looks_at
from sgverify.configuration import load_configuration
from sgverify.errors import Unreached
from sgverify.exact.readings.formula import plant
from sgverify.samplers import Fixed, Row
from sgverify.schemes import find_scheme
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject

LOGISTIC = {"name": "logistic-regression", "dim": 2, "size": 100, "data_seed": 3}
BENT = """
import sgverify

@sgverify.log_density(dim=2)
def bent(theta):
    x, y = theta.unbind(-1)
    return -x**2/2 - (y - 0.05*x**2)**2
"""

NOISY = {"kind": "iid", "batch": 25}
FEW = {"sweep": {"steps": [0.012, 0.009, 0.006, 0.003]}, "chains": 100, "steps": 30, "burn_in": 80}
"""Step sizes and lengths of a short run."""


def subject_of(**settings: Any) -> Subject:
    given = {"target": LOGISTIC, "gradient": NOISY, **settings}
    return make_subject("sgld-euler", load_configuration(given))


def planned(subject: Subject) -> tuple[SweepPlan, GaussianControl]:
    plan = plan_sweep(subject)
    assert plan.control is not None
    return plan, plan.control


@pytest.mark.power  # 0.7 s
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
    expected = 100**2 / 25 * np.cov(gradients.T, bias=True)
    noise = np.array([[float(v) for v in row] for row in control.subject.noise.covariance.tolist()])  # type: ignore[union-attr]
    np.testing.assert_allclose(noise, expected, rtol=1e-3)


@pytest.mark.power  # 1.6 s
def test_the_control_takes_noise_away_and_leaves_the_expectation() -> None:
    subject = subject_of(**FEW)
    plan, _ = planned(subject)
    (found,) = looks_at(subject, plan, "test")
    assert found.taken is not None and max(found.noise_left) < 0.1
    plain = found.errors + found.taken
    gap = plain.mean(-1) - found.errors.mean(-1)
    assert (np.abs(gap) < 4 * found.taken.std(-1) / 100**0.5).all()
    assert found.disagreement() == ""


@pytest.mark.power  # 1.1 s
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
def bent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    (tmp_path / "bent.py").write_text(BENT)
    # The name is part of the configuration, from which the seeds of chains come.
    monkeypatch.chdir(tmp_path)
    return {"target": {"name": "bent.py:bent"}, "chains": 512, "steps": 60, "schedule": {"step": 0.2}}


def test_a_right_step_conforms(bent: dict[str, Any]) -> None:
    right = rate("sgld-euler", quantity="stationary-bias", **bent)
    assert right.verdict == "conforms" and right.method == "monte-carlo", right.reason
    assert max(right.certificate["gaussian_control"]["variance_left"].values()) < 0.1


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("sqrt(2*T*h)", "sqrt(T*h)"),
        pytest.param("h*grad(theta)", "(h + h/2)*grad(theta)", marks=pytest.mark.power),
    ],
)
def test_wrong_steps_are_refuted(text: str, mistake: str, bent: dict[str, Any]) -> None:
    wrong = rate(plant(find_scheme("sgld-euler"), text, mistake), quantity="stationary-bias", **bent)
    assert wrong.verdict == "violates" and wrong.reason.startswith("h^0 carries"), wrong.reason


@pytest.mark.parametrize("kind", ["horizon", pytest.param("power", marks=pytest.mark.power)])
def test_rates_in_the_length_are_settled_beside_the_control(kind: str, bent: dict[str, Any]) -> None:
    """The control's averages are exact at every length, from the start that the chains have."""
    given: dict[str, Any] = {
        "target": bent["target"],
        "chains": 127 if kind == "horizon" else 255,
        "schedule": {"kind": kind, "alpha": 0.5, "scale": 3.0 if kind == "horizon" else 1.2},
        "sweep": {"lengths": [60, 180, 540, 1620] if kind == "horizon" else [400, 1600, 3200, 6400]},
    }
    right = rate("sgld-euler", quantity="bias", **given)
    assert right.verdict == "conforms", right.reason
    wrong = rate(plant(find_scheme("sgld-euler"), "sqrt(2*T*h)", "sqrt(1.7*T*h)"), quantity="bias", **given)
    assert wrong.verdict == "violates" and wrong.reason.startswith("a constant carries"), wrong.reason


@pytest.mark.power  # 0.5 s
def test_a_variance_that_would_be_timed_is_told_before_chains_run(
    bent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lengths, "run_chains", None)
    schedule = {"kind": "horizon", "alpha": 0.5, "scale": 0.5}
    found = rate("sgld-euler", quantity="mse", target=bent["target"], chains=200, schedule=schedule)
    assert found.verdict == "inconclusive" and "the variance would be timed" in found.reason, found.reason


def test_a_variance_that_would_be_timed_is_told_by_the_shortest_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """bias^2/variance of every length is about that of the first, whose chains take a hundredth of the steps of all."""
    monkeypatch.setattr(lengths, "run_chains", None)
    schedule = {"kind": "horizon", "alpha": 0.4, "scale": 0.5}
    found = rate(
        "sgld-euler",
        quantity="mse",
        method="monte-carlo",
        target={"name": "gaussian"},
        chains=300,
        schedule=schedule,
    )
    assert found.verdict == "inconclusive" and found.reason.startswith("the variance outweighs"), found.reason
    assert len(found.points) == 1 and found.certificate["bias^2/variance_at_most"] < 1


@pytest.mark.power  # 1.1 s
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
        Unreached,
        match=r"the noise hides the bias; .* has the noise .* a decision takes at least .* steps in all",
    ):
        plan_sweep(subject)
    assert len(work) == 2 and sum(work) < 1e5


def test_a_bias_that_does_not_vanish_ends_the_search_for_a_step() -> None:
    wrong = plant(find_scheme("sgld-euler"), "sqrt(2*T*h)", "sqrt(8*T*h)")
    subject = make_subject(wrong, load_configuration(target=LOGISTIC, gradient=NOISY))
    control = gaussian_control.gaussian_control(subject)
    assert control is not None
    step = moderate_step(subject, control)
    assert step > subject.step / 2**6
    assert control.bias(step / 2).value > 0.75 * control.bias(step).value > 0.75 * MODERATE * control.spread


@pytest.mark.power  # 0.7 s
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


def test_no_control_where_the_target_relaxes_more_slowly(tmp_path: Path) -> None:
    """Between two wells the Gaussian's burn-in leaves half of the start, and a right step was refuted by it."""
    for energy, found in (("3*(x**2 - 1)**2/2 + 0.3*x", False), ("x**2/2", True)):
        path = tmp_path / f"own_{found}.py"
        path.write_text(BENT.replace("-x**2/2 - (y - 0.05*x**2)**2", f"-({energy}) - y**2/2"))
        subject = make_subject("sgld-euler", load_configuration(target={"name": f"{path}:bent"}))
        assert (gaussian_control.gaussian_control(subject) is not None) == found


@pytest.mark.power  # 0.6 s
def test_chains_that_start_far_from_the_mean_have_a_longer_burn_in(tmp_path: Path) -> None:
    burn_ins = []
    for place in ("", ", location=[2.0, 0.0]"):
        path = tmp_path / f"own_{len(place)}.py"
        path.write_text(BENT.replace("dim=2", f"dim=2{place}"))
        given = {"target": {"name": f"{path}:bent"}, "chains": 64, "steps": 60, "schedule": {"step": 0.1}}
        plan, control = planned(make_subject("sgld-euler", load_configuration(given)))
        assert control.distance == pytest.approx(2 if place else 0, abs=0.1)
        burn_ins.append(plan.burn_in / plan.pilot.time)
    assert burn_ins[1] - burn_ins[0] == pytest.approx(np.log(4), abs=0.05)


def test_the_same_minibatches_reach_both_targets() -> None:
    """Without them the noise of both chains would add up."""
    subject = subject_of()
    control = gaussian_control.gaussian_control(subject)
    assert control is not None
    rows = [Row(Fixed(0.02), (100, 400))]
    one, two = (
        run_chains(item, rows, seed=3, first=0, count=64, start=0.0)[0].values[0, 1]
        for item in (subject, control.subject)
    )
    other = run_chains(replace(control.subject), rows, seed=4, first=0, count=64, start=0.0)[0].values[0, 1]
    assert np.corrcoef(one, two)[0, 1] > 0.95 > 0.5 > abs(np.corrcoef(one, other)[0, 1])


WRONG = {
    "temperature halved": ("sqrt(2*T*h)", "sqrt(T*h)"),
    "temperature 1.6 times": ("sqrt(2*T*h)", "sqrt(3.2*T*h)"),
    "drift twice": ("h*grad(theta)", "2*h*grad(theta)"),
}
"""Steps whose stationary bias has a term in h^0."""


@pytest.mark.power  # half a minute of chains each
@pytest.mark.parametrize(
    ("seed", "wrong", "refuted"),
    [(seed, wrong, seed < 3) for seed, wrong in enumerate([*WRONG, "drift twice"])],
)
def test_wrong_steps_on_logistic_data_are_refuted(seed: int, wrong: str, refuted: bool) -> None:
    """Logistic regressions with minibatches: other dimensions, sizes, batches, temperatures and test functions.

    The last one's h^0 carries about the 15 % that are allowed at its moderate step, as the minibatches' part is so large there: it
    does not conform.
    """
    random = np.random.default_rng(seed)
    dim, size = int(random.integers(2, 5)), int(random.integers(200, 600))
    settings: dict[str, Any] = {
        "target": {"name": "logistic-regression", "dim": dim, "size": size, "data_seed": seed},
        "gradient": {"kind": str(random.choice(["iid", "without-replacement"])), "batch": int(size // 8)},
        "temperature": float(random.choice([0.5, 1.0, 2.0])),
        "test_function": str(random.choice(["theta[0]**2", "theta[1]**2 - theta[0]"])),
    }
    right = rate("sgld-euler", quantity="stationary-bias", **settings)
    assert right.verdict in ("conforms", "inconclusive"), right.reason
    found = rate(plant(find_scheme("sgld-euler"), *WRONG[wrong]), quantity="stationary-bias", **settings)
    assert found.verdict == ("violates" if refuted else "inconclusive"), found.reason
    assert found.reason.startswith("h^0 carries")
