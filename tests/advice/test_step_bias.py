"""What is told of a step before draws are made, against the law that is known by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import sgverify
from sgverify.advice.step_bias import step_bias
from sgverify.advice.widths import SMALL
from sgverify.configuration import load_configuration
from sgverify.draws import Sampling
from sgverify.subject.binding import make_subject
from sgverify.targets import build_target
from tests.conftest import LogCapture

IID = {"gradient.kind": "iid"}


def euler_spread(step: float, size: int = 1000, batch: int = 10) -> tuple[float, float]:
    """(found, true): theta' = theta - h (grad + noise) + sqrt(2 h) xi has the variance (2h + h^2 V)/(1 - (1 - h P)^2)."""
    data = build_target(load_configuration(target={"size": size}).target).data
    assert data is not None
    precision, variance = size + 1, size**2 / batch * float(data.var())
    found = (2 * step + step**2 * variance) / (1 - (1 - step * precision) ** 2)
    return math.sqrt(found), precision**-0.5


def test_minibatches_at_the_default_step_are_known_to_widen_the_draws() -> None:
    subject = make_subject("sgld-euler", load_configuration(**IID))
    bias = step_bias(subject, subject.step)
    assert bias is not None and bias.matters and bias.better is not None
    assert (bias.found, bias.true) == pytest.approx(euler_spread(subject.step), rel=1e-9)
    assert bias.share > 8
    # The step that is named does what is said of it, and is not needlessly small.
    found, true = euler_spread(bias.better)
    assert 1 + SMALL / 4 < found / true <= 1 + SMALL


def test_an_unbiased_step_is_passed_without_a_word() -> None:
    sampling = Sampling.of("sghmc-baoab", load_configuration(schedule={"step": 0.01}))
    assert sampling.warnings == [] and sampling.note is None


def test_noise_on_a_double_well_heats_the_step() -> None:
    given = {"target.name": "double-well", "gradient.kind": "additive", "gradient.covariance": 300.0}
    x = np.linspace(-8, 8, 4001)
    energy = build_target(load_configuration(**given).target).energy_float64(x[:, None])

    def spread(temperature: float) -> float:
        weights = np.exp(-(energy - energy.min()) / temperature)
        return math.sqrt(float(weights @ x**2 / weights.sum() - (weights @ x / weights.sum()) ** 2))

    # BAOAB has two half kicks, each with noise of its own: half of the heat h v/(2 D) of one whole kick.
    for scheme, rate in (("sgld-euler", 1), ("sghmc-baoab", 4)):
        bias = step_bias(make_subject(scheme, load_configuration(**given)), 0.01)
        assert bias is not None and bias.distrust is None
        # A chain in two wells is no Gaussian: to first order the widths are those of exp(-U/T') with the heat of the noise in T'.
        assert bias.found / bias.true == pytest.approx(
            spread(1 + 0.01 * 300 / (2 * rate)) / spread(1.0), rel=0.01
        )


def test_a_funnel_is_not_told_anything() -> None:
    @sgverify.log_density(dim=2, names=["v", "x"])
    def funnel(theta):  # type: ignore[no-untyped-def]
        v, x = theta[..., 0], theta[..., 1]
        return -(v**2) / 18 - x**2 / 2 * torch.exp(-v) - v / 2

    noise = {"kind": "additive", "covariance": [[1.0, 0.0], [0.0, 2.0]]}
    sampling = Sampling.of(
        "sgld-euler", load_configuration(gradient=noise, schedule={"step": 0.01}, steps=50), target=funnel
    )
    assert sampling.warning is None
    assert sampling.note is not None and "not to be trusted here" in sampling.note
    assert "write theta[1] (x) as a mean plus a scale, both depending on theta[0] (v)" in sampling.note
    draws = sampling.draw()
    assert "step_bias" not in draws.attrs and "Gaussian" in draws.attrs["step_bias_unknown"]


def test_draws_hold_the_warning_that_was_given(caplog: LogCapture) -> None:
    given = {"schedule": {"step": 1 / 1001}}
    draws = sgverify.sample("sgld-euler", IID, chains=2, steps=5, **given)
    assert [record.getMessage() for record in caplog.records] == [draws.attrs["step_warning"]]
    assert "9.87 times as wide" in draws.attrs["step_warning"]
    assert draws.posterior.attrs["step_size"] == draws.attrs["step_size"] == pytest.approx(1 / 1001)
    assert draws.attrs["step_bias"] > 8
    assert draws.attrs["step_origin"] == "given" and "step_choice" not in draws.attrs


def test_a_step_that_is_not_given_is_the_proposed_one(caplog: LogCapture) -> None:
    draws = sgverify.sample("sgld-euler", IID, chains=2, steps=5)
    assert [record.getMessage() for record in caplog.records] == [draws.attrs["step_choice"]]
    assert draws.attrs["step_origin"] == "proposed" and "step_warning" not in draws.attrs
    found, true = euler_spread(draws.attrs["step_size"])
    # Bias and one standard error together are within 5 %: the bias takes about a third of it.
    assert 1 + SMALL / 4 < found / true <= 1 + SMALL
    assert draws.attrs["step_bias"] == pytest.approx(found / true - 1, rel=1e-9)
    (plan,) = sgverify.advise("gaussian-mean", ["sgld-euler"], gradient__kind="iid", gradient__batch=10).plans
    assert draws.attrs["step_size"] == plan.step
    # One step multiplies an offset by 1 - 1001 h, which takes 2 sd to a tenth of the error in log(2/0.005) times as many.
    slow = math.ceil(math.log(2 / 0.005) / (1001 * plan.step))
    assert plan.burn_in == pytest.approx(slow, abs=1)
    assert f"in about {plan.burn_in:,} steps, and steps=5 are fewer" in draws.attrs["step_choice"]
    # The command that is recorded gives the step, and the draws are the same.
    assert f"schedule.step={draws.attrs['step_size']}" in draws.attrs["command"]
    again = sgverify.sample("sgld-euler", IID, chains=2, steps=5, schedule={"step": draws.attrs["step_size"]})
    np.testing.assert_array_equal(again.posterior.theta, draws.posterior.theta)


@pytest.mark.power  # 0.9 s
def test_a_step_is_proposed_where_the_chain_has_no_law_at_the_default() -> None:
    """BAOAB resonates with the minibatches of a logistic regression at its default step; smaller ones contract."""
    given = load_configuration(
        **IID, target={"name": "logistic-regression", "dim": 2, "size": 1000}, gradient__batch=1
    )
    subject = make_subject("sghmc-baoab", given)
    at_default = step_bias(subject, subject.step)
    assert at_default is not None and at_default.unstable is not None
    choice = Sampling.of("sghmc-baoab", given).choice
    assert choice is not None and choice.origin == "proposed" and choice.step < subject.step / 4
    found = step_bias(subject, choice.step)
    assert found is not None and found.distrust is None and abs(found.share) <= SMALL


@pytest.mark.parametrize(
    ("scheme", "given"), [("sgnht-euler", {}), ("sgld-euler", {"target.name": "double-well"})]
)
def test_where_nothing_is_proposed_the_default_is_taken_and_said(scheme: str, given: dict[str, str]) -> None:
    sampling = Sampling.of(scheme, load_configuration(given, steps=20, chains=2))
    assert sampling.choice is not None and sampling.choice.origin == "default"
    (line,) = sampling.warnings
    assert "is the default, and none is proposed" in line
    draws = sampling.draw()
    assert draws.attrs["step_size"] == sampling.subject.usual_step
    assert draws.attrs["step_choice"] == line


def test_where_weights_adapt_nothing_is_told_of_a_given_step_and_that_is_said() -> None:
    given = load_configuration(schedule={"step": 1e-3}, target={"name": "double-well"})
    sampling = Sampling.of("csgld", given)
    assert sampling.warnings == []
    assert sampling.note is not None
    assert "is not told: the weights of csgld adapt" in sampling.note
    assert "schedule.step=0.001 and 0.00025" in sampling.note
    # With full gradients as with minibatches: two wells are no Gaussian, and that is said.
    told = Sampling.of("sgld-euler", given).note
    assert told is not None and "is not to be trusted here" in told


def test_a_posterior_wider_than_its_mode_tells_is_planned_for_where_weighted_draws_confirm_it() -> None:
    """Student's t of 22 degrees of freedom in three dimensions is 12 % wider than the Gaussian at its mode."""

    @sgverify.log_density(dim=3)
    def student(theta):  # type: ignore[no-untyped-def]
        return -12.5 * torch.log1p((theta**2).sum(-1) / 22)

    advice = sgverify.advise(student, ["sghmc-baoab"])
    assert any("weighted draws" in line for line in advice.assumed)
    (plan,) = advice.plans
    told = sgverify.width(student, "sghmc-baoab", step=plan.step, friction=plan.friction)
    assert told.distrust is None and told.sd == pytest.approx([math.sqrt(22 / 20)] * 3, rel=0.03)
    assert told.document()["factors"] == told.factors and max(told.factors) < 1.05

    @sgverify.log_density(dim=2)
    def skewed(theta):  # type: ignore[no-untyped-def]
        return (3 * theta - torch.exp(theta)).sum(-1)

    refused = sgverify.width(skewed, "sghmc-baoab", step=0.01).distrust
    assert (
        refused is not None
        and "1.15 times as wide" in refused
        and "2 sd below the mode: a heavy tail" in refused
    )


def test_a_small_step_is_told_no_bias_of_the_approximation_itself() -> None:
    subject = make_subject(
        "sghmc-baoab", load_configuration(target={"name": "logistic-regression", "dim": 2, "size": 16})
    )
    bias = step_bias(subject, 0.01)
    assert bias is not None and bias.distrust is None
    assert max(abs(math.log(factor)) for factor in bias.factors) < 1e-4
    assert max(map(abs, bias.shifts)) < 1e-4


def test_a_slab_under_a_spike_is_seen_from_the_mode() -> None:
    @sgverify.log_density(dim=2)
    def spike(theta):  # type: ignore[no-untyped-def]
        squares = (theta**2).sum(-1)
        return torch.logaddexp(-squares / 0.02 + math.log(100), -squares / 18 - math.log(9))

    told = sgverify.width(spike, "sghmc-baoab", step=0.01)
    assert told.distrust is not None and "of its second moment along theta[0] lies beyond" in told.distrust
